-- SPDX-License-Identifier: MIT
-- Shows ZCRP in Wireshark and tshark, over UDP and over AAL5: docs/wireshark.md.
--
--     udp.port, heuristic ---------------> bundle --> datagram     one, or several that GSO joined
--     mpls.label --> packet --> pieces --> PDU ----> datagram     RFC 4717, AAL5 PDU frame mode
--     atm.reassembled.vpi_vci, atm.aal5.type -----> datagram      PDUs of capture files (ERF)
--
-- Written from docs/protocol.md. What depends on earlier frames (pieces, repeats) is found once, in
-- the first pass, and kept by frame number, because Wireshark shows frames again in any order.
--
-- What is sealed is opened with a key log (zcrp_keys.lua beside this file), and then shown as if it
-- had crossed so.

local zcrp = Proto("zcrp", "Zero-Copying Reliable Protocol")
local aal5 = Proto("zcrp_aal5", "AAL5 over MPLS")
local folder = debug.getinfo(1, "S").source:match("^@(.*[/\\])") or ""
local has_keys_file, keys_file = pcall(dofile, folder .. "zcrp_keys.lua")

local GRAIN, UNIT_DATA_MAX, WORD, HALF = 32, 65504, 2 ^ 32, 2 ^ 31
local VERSION, TRAILER, TAIL = 2, 32, 10
local UNIT, ACK, ACK_NEGATIVE, REQUEST, HELLO, PROBE, PROBE_ANSWER, COOKIE = 1, 2, 3, 4, 5, 6, 7, 8
local HANDSHAKE, OFFER, CHALLENGE, CHALLENGE_ANSWER, VERSION_ANSWER = 9, 10, 11, 12, 15
local HAS_NEXT, IS_LAST, VOID, ANSWER, CLOSING, ECN, EPOCH = 1, 2, 4, 8, 16, 32, 64
local SECOND, ANSWERS, REFUSES = 1, 2, 4 -- flags of handshake bytes
local EPOCH_NUMBERS = 2 ^ 22 -- that are sealed with one key
local TAG, NUMBER = 16, 8 -- bytes of what is sealed: its authentication tag, and its number
local FRAGMENT, STREAM_MAX = 1024, 12288
local TOO_LARGE, MESSAGE_MAX = 1, UInt64(0, 32) -- a void unit's reason; 2^37 bytes
local INFO_ENTRIES = 8 -- intervals and runs in the info column

local kinds = {"Unit", "Block acknowledgement, first interval positive",
    "Block acknowledgement, first interval negative", "Request to send", "Hello", "Path probe",
    "Path answer", "Cookie", [HANDSHAKE] = "Handshake bytes", [OFFER] = "Offer",
    [CHALLENGE] = "Challenge", [CHALLENGE_ANSWER] = "Challenge answer", [VERSION_ANSWER] = "Version answer"}
local flag_names = {[HAS_NEXT] = "has next", [IS_LAST] = "last", [VOID] = "void",
    [ANSWER] = "answer", [CLOSING] = "closing", [ECN] = "ecn"}
local flags_of = {HAS_NEXT + IS_LAST + VOID + ANSWER, CLOSING + ECN, CLOSING + ECN, ANSWER, CLOSING + VOID,
    0, 0, 0, [HANDSHAKE] = SECOND + ANSWERS + REFUSES, [OFFER] = 0,
    [CHALLENGE] = 0, [CHALLENGE_ANSWER] = 0}
local void_reasons = {"larger than the buffer posted for it", "cancelled by the sender",
    "the sender cannot read its memory"}

-- The fields of each type's trailer: offset, bytes, and the name under which they are read and shown.
local ack_layout = {{0, 4, "newest"}, {4, 4, "delay"}, {8, 4, "capacity"}, {12, 2, "length"},
    {14, 2, "marks"}, {16, 6, "reserved"}}
local layouts = {
    [UNIT] = {{0, 4, "message"}, {4, 4, "unit"}, {8, 4, "seq"}, {12, 4, "next_unit"},
        {16, 2, "length"}, {18, 2, "next_length"}, {20, 2, "next_step"}},
    [ACK] = ack_layout,
    [ACK_NEGATIVE] = ack_layout,
    [REQUEST] = {{0, 8, "nonce"}, {8, 4, "capacity"}, {12, 2, "length"}, {14, 8, "reserved"}},
    [HELLO] = {{0, 8, "nonce"}, {8, 8, "cookie"}, {16, 4, "requested"}, {20, 2, "reserved"}},
    [PROBE] = {{0, 4, "probe"}, {4, 4, "reserved"}, {8, 4, "reserved"}, {12, 2, "length"},
        {14, 8, "reserved"}},
    [PROBE_ANSWER] = {{0, 4, "probe"}, {4, 4, "probe_size"}, {8, 4, "reserved"}, {12, 2, "reserved"},
        {14, 8, "reserved"}},
    [COOKIE] = {{0, 8, "nonce"}, {8, 8, "cookie"}, {16, 6, "reserved"}},
    [HANDSHAKE] = {{0, 8, "nonce"}, {8, 8, "cookie"}, {16, 2, "place"}, {18, 2, "have_first"},
        {20, 2, "have_second"}},
    [OFFER] = {{0, 8, "size"}, {8, 4, "message"}, {12, 10, "reserved"}},
    [CHALLENGE] = {{0, 8, "challenge"}, {8, 4, "moves"}, {12, 10, "reserved"}},
    [CHALLENGE_ANSWER] = {{0, 8, "challenge"}, {8, 14, "reserved"}},
}

-- ---- fields

local f = {
    unit_data = ProtoField.bytes("zcrp.data", "Data"),
    message = ProtoField.uint32("zcrp.message", "Message number"),
    unit = ProtoField.uint32("zcrp.unit", "Unit number", base.DEC, nil, nil, "in grains of 32 bytes"),
    offset = ProtoField.uint64("zcrp.offset", "Offset in message", base.DEC),
    reason = ProtoField.uint32("zcrp.void_reason", "Reason", base.DEC, void_reasons),
    size = ProtoField.uint64("zcrp.size", "Bytes of the message", base.DEC),
    seq = ProtoField.uint32("zcrp.seq", "Sequence number"),
    next_step = ProtoField.int16("zcrp.next_step", "Next message step"),
    next_message = ProtoField.uint32("zcrp.next_message", "Next message number"),
    next_unit = ProtoField.uint32("zcrp.next_unit", "Next unit number"),
    length = ProtoField.uint16("zcrp.length", "Length"),
    next_length = ProtoField.uint16("zcrp.next_length", "Next length"),
    newest = ProtoField.uint32("zcrp.newest", "Newest"),
    delay = ProtoField.uint32("zcrp.delay", "Delay in microseconds"),
    nonce = ProtoField.uint64("zcrp.nonce", "Nonce", base.HEX),
    cookie = ProtoField.uint64("zcrp.cookie", "Cookie", base.HEX),
    requested = ProtoField.uint32("zcrp.requested", "Requested: all messages below"),
    challenge = ProtoField.uint64("zcrp.challenge", "Challenge", base.HEX),
    moves = ProtoField.uint32("zcrp.moves", "Moves to another address"),
    probe = ProtoField.uint32("zcrp.probe", "Probe"),
    probe_size = ProtoField.uint32("zcrp.probe.size", "Bytes of the probe"),
    place = ProtoField.uint16("zcrp.place", "Place of the first byte"),
    have_first = ProtoField.uint16("zcrp.have_first", "Has of the first level"),
    have_second = ProtoField.uint16("zcrp.have_second", "Has of the second level"),
    handshake = ProtoField.bytes("zcrp.handshake", "Bytes of TLS 1.3 handshake messages"),
    sealed = ProtoField.bytes("zcrp.sealed", "Sealed"),
    auth = ProtoField.bytes("zcrp.sealed.tag", "Authentication tag"),
    number = ProtoField.uint64("zcrp.number", "Number", base.DEC),
    padding = ProtoField.bytes("zcrp.padding", "Padding"),
    reserved = ProtoField.bytes("zcrp.reserved", "Reserved"),
    capacity = ProtoField.uint32("zcrp.capacity", "Capacity in bytes"),
    marks = ProtoField.uint16("zcrp.marks", "Marked by congestion"),
    intervals = ProtoField.string("zcrp.intervals", "Intervals"),
    interval = ProtoField.string("zcrp.interval", "Interval"),
    bound = ProtoField.uint32("zcrp.bound", "Bound"),
    arrived = ProtoField.uint32("zcrp.arrived", "Arrived transmissions"),
    missing = ProtoField.uint32("zcrp.missing", "Missing transmissions"),
    run = ProtoField.string("zcrp.run", "Run"),
    run_first = ProtoField.uint32("zcrp.run.first", "First message"),
    run_count = ProtoField.uint32("zcrp.run.count", "Messages"),
    run_size = ProtoField.uint64("zcrp.run.size", "Buffer size", base.DEC),
    run_withdrawn = ProtoField.bool("zcrp.run.withdrawn", "Withdrawn"),
    session = ProtoField.uint32("zcrp.session", "Session", base.HEX),
    tag = ProtoField.uint32("zcrp.tag", "Tag", base.HEX),
    flags = ProtoField.uint8("zcrp.flags", "Flags", base.HEX),
    has_next = ProtoField.bool("zcrp.flags.has_next", "Has next", 8, nil, HAS_NEXT),
    is_last = ProtoField.bool("zcrp.flags.is_last", "Is last", 8, nil, IS_LAST),
    void = ProtoField.bool("zcrp.flags.void", "Void", 8, nil, VOID),
    answer = ProtoField.bool("zcrp.flags.answer", "Answer", 8, nil, ANSWER),
    closing = ProtoField.bool("zcrp.flags.closing", "Closing", 8, nil, CLOSING),
    ecn = ProtoField.bool("zcrp.flags.ecn", "ECN arrives", 8, nil, ECN),
    epoch = ProtoField.uint8("zcrp.flags.epoch", "Epoch of the key, modulo 4", base.DEC, nil, 0xc0),
    second = ProtoField.bool("zcrp.flags.second", "Second level", 8, nil, SECOND),
    answers = ProtoField.bool("zcrp.flags.answers", "Answers", 8, nil, ANSWERS),
    refuses = ProtoField.bool("zcrp.flags.refuses", "Refuses", 8, nil, REFUSES),
    version = ProtoField.uint8("zcrp.version", "Version", base.DEC, nil, 0xf0),
    kind = ProtoField.uint8("zcrp.type", "Type", base.DEC, kinds, 0x0f),
    verdict = ProtoField.string("zcrp.verdict", "Verdict"),
    first_frame = ProtoField.framenum("zcrp.repeat_of", "First sent in frame", base.NONE,
        frametype.RETRANS_PREV),
    copy_frame = ProtoField.framenum("zcrp.copy_of", "Same datagram in frame"),
}
zcrp.fields = f

local function expert_of(name, text, group, severity)
    return ProtoExpert.new("zcrp" .. name, text, expert.group[group], expert.severity[severity])
end

local e = {
    short = expert_of(".short", "Fewer bytes than it says", "MALFORMED", "ERROR"),
    version = expert_of(".bad_version", "Another version of ZCRP", "PROTOCOL", "WARN"),
    type = expert_of(".bad_type", "No type of ZCRP", "PROTOCOL", "WARN"),
    malformed = expert_of(".malformed", "Malformed", "MALFORMED", "ERROR"),
    cut = expert_of(".cut", "Cut short by the capture: the trailer is missing", "UNDECODED", "NOTE"),
    again = expert_of(".repeat", "Repeated unit", "SEQUENCE", "NOTE"),
    copy = expert_of(".copy", "Transmission seen before", "SEQUENCE", "NOTE"),
    missing = expert_of(".negative", "Transmissions are missing", "SEQUENCE", "NOTE"),
    void = expert_of(".voided", "The message will not come", "RESPONSE_CODE", "WARN"),
    other = expert_of(".version_answer", "The receiver speaks another version",
        "RESPONSE_CODE", "WARN"),
    refused = expert_of(".refused", "The keys are refused", "RESPONSE_CODE", "WARN"),
    decrypted = expert_of(".decrypted", "Decrypted with the key log", "DECRYPTION", "CHAT"),
    no_key = expert_of(".no_key", "No key for this session in the key log", "DECRYPTION", "NOTE"),
    no_log = expert_of(".no_key_log", "The key log cannot be read", "DECRYPTION", "WARN"),
    no_file = expert_of(".no_keys_file", "zcrp_keys.lua or zcrp_crypto.lua is missing beside zcrp.lua",
        "DECRYPTION", "WARN"),
    forged = expert_of(".forged", "The tag is wrong: not sealed with the key of the log",
        "DECRYPTION", "WARN"),
    closing = expert_of(".closing", "Closing", "SEQUENCE", "CHAT"),
}
zcrp.experts = e

zcrp.prefs.ports = Pref.range("UDP ports", "", "Ports that carry ZCRP, whatever it looks like; " ..
    "on others it is recognised by its form", 65535)
zcrp.prefs.circuits = Pref.range("AAL5 circuits", "32-1055", "Circuits that carry ZCRP in files " ..
    "of whole PDUs, as VPI * 65536 + VCI", 2 ^ 28 - 1)
zcrp.prefs.labels = Pref.range("MPLS labels", "16-1039", "Labels that carry AAL5 PDUs with " ..
    "ZCRP: 16 + VPI * 4096 + VCI - 32", 2 ^ 20 - 1)
zcrp.prefs.key_log = Pref.string("Key log file", "", "Secrets of the connections, in the format " ..
    "of SSLKEYLOGFILE, as zcrp_keys_log and zcrp-bench --key-log write it")
zcrp.prefs.repeats = Pref.bool("Find repeated units", true, "Remembers every unit that was sent")

-- ---- small things

local function has(flags, flag)
    return math.floor(flags / flag) % 2 == 1
end

local function step(from, to)
    return (to - from) % WORD
end

local function names_of(flags, but)
    local names = {}
    for _, flag in ipairs({IS_LAST, VOID, ANSWER, CLOSING}) do
        if has(flags, flag) and flag ~= but then
            names[#names + 1] = ", " .. flag_names[flag]
        end
    end
    return table.concat(names)
end

-- The first entries of a list, and how many more there are.
local function listed(entries)
    if #entries <= INFO_ENTRIES then
        return table.concat(entries, ", ")
    end
    return table.concat(entries, ", ", 1, INFO_ENTRIES) ..
        string.format(" and %d more", #entries - INFO_ENTRIES)
end

-- ---- reading: a datagram as a table, with its verdict

-- Bytes before the trailer, as the trailer says.
local function body_of(kind, length)
    if kind == UNIT or kind == PROBE then
        return length
    elseif kind == REQUEST then
        return 16 * length
    end
    return kind < REQUEST and length > 0 and 4 * (length + 1) or 0
end

-- Where in the trailer of each type the length is; of the others it is 0.
local length_at = {}
for kind, layout in pairs(layouts) do
    for _, entry in ipairs(layout) do
        length_at[kind] = entry[3] == "length" and entry[1] or length_at[kind]
    end
end

local function length_before(tvb, to, kind)
    return length_at[kind] and tvb(to - TRAILER + length_at[kind], 2):uint() or 0
end

local function is_zero(range)
    return not range:bytes():tohex():find("[^0]")
end

local function number_at(range, name)
    if name == "next_step" then
        return range:int()
    end
    return range:len() == 8 and range:uint64() or range:uint()
end

-- `is_clear` says that all that is reserved is 0.
local function read_trailer(d, tvb)
    d.is_clear = true
    for _, entry in ipairs(layouts[d.kind]) do
        local range, name = tvb(tvb:len() - TRAILER + entry[1], entry[2]), entry[3]
        if name == "reserved" then
            d.is_clear = d.is_clear and is_zero(range)
        else
            d[name] = number_at(range, name)
        end
    end
    if d.kind == HANDSHAKE then -- it has as many bytes as there are
        d.length = math.max(tvb:len() - TRAILER, has(d.flags, SECOND) and TAG or 0)
    end
    d.body = d.kind == HANDSHAKE and d.length or body_of(d.kind, d.length or 0)
end

local function read_tail(d, tvb)
    local at = tvb:len() - TAIL
    d.session, d.tag = tvb(at, 4):uint(), tvb(at + 4, 4):uint()
    d.flags = tvb(at + 8, 1):uint()
end

-- A message that is too large has its size where other units name the next one.
local function size_of_void(d)
    if has(d.flags, VOID) and d.unit == TOO_LARGE then
        return UInt64(d.next_unit, d.next_length)
    end
end

local function next_breaks(d)
    local has_numbers = d.next_unit ~= 0 or d.next_length ~= 0 or d.next_step ~= 0
    local size = size_of_void(d)
    if size and (has(d.flags, HAS_NEXT) or d.next_step ~= 0) then
        return "a message that is too large names its size, and nothing next"
    elseif size and (size == UInt64(0) or size > MESSAGE_MAX) then
        return "no message that is too large has that size"
    elseif not size and not has(d.flags, HAS_NEXT) and has_numbers then
        return "next fields without the flag"
    end
end

-- Each names the first broken rule, or nothing.
local function unit_breaks(d)
    local is_last, is_void = has(d.flags, IS_LAST), has(d.flags, VOID)
    if d.length > UNIT_DATA_MAX or d.next_length > UNIT_DATA_MAX then
        return "no unit is as long"
    elseif not is_last and (d.length == 0 or d.length % GRAIN ~= 0) then
        return "only the last unit may have any length"
    elseif is_void and not (is_last and d.length == 0 and void_reasons[d.unit]) then
        return "a void unit is the last, empty, and has a reason"
    end
    return next_breaks(d)
end

local function ack_breaks(d, tvb)
    local span = 0
    d.bounds = {}
    for i = 0, d.body / 4 - 1 do
        d.bounds[#d.bounds + 1] = tvb(4 * i, 4):uint()
    end
    if (d.kind == ACK) ~= (d.length % 2 == 1 or d.length == 0) then
        return "the type does not follow from the length"
    elseif d.newest ~= (d.length > 0 and step(1, d.bounds[#d.bounds]) or 0) then
        return "the last bound is not newest + 1"
    end
    for i = 2, #d.bounds do
        local width = step(d.bounds[i - 1], d.bounds[i])
        span = span + width
        if width == 0 or span >= HALF then
            return width == 0 and "an empty interval" or "the intervals span too much"
        end
    end
end

local function request_breaks(d, tvb)
    for i = 0, d.length - 1 do
        if tvb(16 * i + 4, 4):uint() == 0 then
            return "a run of no messages"
        end
    end
end

local NONE = UInt64(0)

local function hello_breaks(d)
    if has(d.flags, VOID) and not has(d.flags, CLOSING) then
        return "a hello that does not close gives no message up"
    elseif d.nonce ~= NONE and (d.requested ~= 0 or d.flags ~= 0) then
        return "a hello that asks has requested nothing and does not close"
    elseif d.nonce == NONE and (d.cookie ~= NONE or d.session == 0) then
        return "a hello without a nonce has a session and no cookie"
    end
end

local function cookie_breaks(d)
    if d.nonce == NONE or d.cookie == NONE then
        return "a cookie answers a nonce, and is not 0"
    end
end

local function offer_breaks(d)
    if d.size > MESSAGE_MAX then
        return "no message is as large"
    end
end

local function challenge_answer_breaks(d)
    if d.challenge == NONE then
        return "a challenge that is answered is not 0"
    end
end

local function handshake_breaks(d)
    local bytes = d.length - (has(d.flags, SECOND) and TAG or 0)
    if d.session ~= 0 or d.nonce == NONE then
        return "bytes of a handshake have no session, and a nonce"
    elseif bytes > FRAGMENT or d.place % FRAGMENT ~= 0 or d.place >= STREAM_MAX then
        return "no stream has those bytes"
    elseif bytes > 0 and has(d.flags, REFUSES) then
        return "who refuses has no bytes"
    end
end

local breaks = {[UNIT] = unit_breaks, [ACK] = ack_breaks, [ACK_NEGATIVE] = ack_breaks,
    [REQUEST] = request_breaks, [HELLO] = hello_breaks, [COOKIE] = cookie_breaks,
    [HANDSHAKE] = handshake_breaks, [OFFER] = offer_breaks, [CHALLENGE_ANSWER] = challenge_answer_breaks}
local without_session = {[HELLO] = true, [COOKIE] = true, [HANDSHAKE] = true}

-- What is wrong with a datagram of the right size, or nothing.
local function broken_rule(d, tvb)
    if d.tag == 0 then
        return "every datagram has a tag"
    elseif d.session == 0 and not without_session[d.kind] then
        return "only what pairs or answers a version may have no session"
    end
    for bit = 0, (d.is_sealed or d.is_opened) and 5 or 7 do
        if has(d.flags, 2 ^ bit) and not has(flags_of[d.kind], 2 ^ bit) then
            return "a flag that this type does not have"
        end
    end
    return not d.is_clear and "reserved fields are set" or breaks[d.kind] and breaks[d.kind](d, tvb)
end

-- Verdicts 4 to 6 of docs/protocol.md.
local function judge(d, tvb)
    local body = tvb:len() - TRAILER - (d.is_sealed and TAG or 0)
    if body ~= d.body then
        return body < d.body and "short" or "malformed",
            string.format("%d bytes before the trailer, which says %d", body, d.body)
    end
    local reason = broken_rule(d, tvb)
    if reason then
        return "malformed", reason
    end
end

-- A version answer is the one datagram without a trailer. It is the same in every version.
local function read_version_answer(tvb)
    local d = {kind = VERSION_ANSWER}
    if tvb:len() ~= TAIL or tvb(TAIL - 1, 1):uint() % 16 ~= VERSION_ANSWER then
        return nil
    end
    read_tail(d, tvb)
    d.version = math.floor(tvb(TAIL - 1, 1):uint() / 16)
    return d.flags == 0 and d.tag ~= 0 and d or nil
end

-- Version and type of a datagram that is dropped on account of them.
local function version_words(version, kind)
    return kind == HELLO and "a hello of version " .. version or "version " .. version
end

local function type_words(kind)
    return "type " .. kind .. (kinds[kind] and ", " .. kinds[kind]:lower() or "")
end

-- What is sealed. A unit has its trailer in clear, and 16 bytes more than that says. Of all else the
-- number and the last ten bytes are in clear: `is_opaque`. That is nothing to be known by.
local function read_sealed(tvb, kind, has_keys)
    local size, d = tvb:len(), {kind = kind, is_sealed = true}
    if kind == UNIT and size >= TRAILER + TAG then
        read_tail(d, tvb)
        read_trailer(d, tvb)
        d.verdict = judge(d, tvb)
    elseif has_keys and kind ~= UNIT and kind ~= HANDSHAKE and size >= TRAILER + TAG + NUMBER then
        read_tail(d, tvb)
        d.is_opaque, d.number = true, tvb(size - TAIL - NUMBER, NUMBER):uint64()
        d.verdict = (d.session == 0 or d.tag == 0) and "malformed" or nil
    else
        return nil
    end
    return not d.verdict and d or nil
end

-- All that the trailer says; `verdict` and `why` if it breaks a rule, `kind` if there is a trailer.
-- `has_keys` says that the conversation had a handshake.
local function read(tvb, has_keys)
    local size, d = tvb:len(), read_version_answer(tvb)
    if d then
        return d
    end
    d = {last = tvb(size - 1, 1):uint()}
    local version, kind = math.floor(d.last / 16), d.last % 16
    if size < TRAILER then
        d.verdict, d.why = "short", "shorter than any trailer, at its end " ..
            version_words(version, kind)
    elseif version ~= VERSION then
        d.verdict, d.why = "version", version_words(version, kind)
    elseif kind == VERSION_ANSWER then
        d.verdict, d.why = "malformed", "a version answer has ten bytes"
    elseif not layouts[kind] then
        d.verdict, d.why = "type", type_words(kind)
    else
        d.kind = kind
        read_tail(d, tvb)
        read_trailer(d, tvb)
        d.verdict, d.why = judge(d, tvb)
        return d.verdict and read_sealed(tvb, kind, has_keys) or d
    end
    return d
end

-- What was opened: as what is not sealed, but for its epoch.
local function read_opened(tvb)
    local d = {kind = tvb(tvb:len() - 1, 1):uint() % 16, is_opened = true}
    read_tail(d, tvb)
    read_trailer(d, tvb)
    d.verdict, d.why = judge(d, tvb)
    return d
end

-- ---- what was sent before

local sent = {}  -- [session:tag:message] = {first = {[unit] = {frame, seq}}, to = grains so far}
local seqs = {}  -- [session:tag:seq] = frame
local notes = {} -- [frame] = {[place in it] = {what, frame}}
local keyed = {} -- [conversation] = true: it had a handshake
local randoms = {} -- [tag:nonce of a handshake] = the client random, in hexadecimal digits
local numbers = {} -- [frame] = {[place in it] = the number of a sealed unit, all 64 bits}
local key_log      -- nil: not read yet

function zcrp.init()
    sent, seqs, notes, keyed, randoms, numbers, key_log = {}, {}, {}, {}, {}, {}, nil
end

-- The same of both directions.
local function conversation_of(pinfo)
    local from = string.format("%s:%d", tostring(pinfo.net_src), pinfo.src_port)
    local to = string.format("%s:%d", tostring(pinfo.net_dst), pinfo.dst_port)
    return from < to and from .. " " .. to or to .. " " .. from
end

-- Is this unit one that was sent before under another number, or even the same transmission?
local function look_back(d, frame)
    local pairing = string.format("%08x:%08x:", d.session, d.tag)
    local seen = seqs[pairing .. d.seq]
    if seen then
        return {"copy", seen}
    end
    seqs[pairing .. d.seq] = frame
    local key = pairing .. d.message .. (has(d.flags, VOID) and "v" or "")
    local message = sent[key] or {first = {}, to = 0}
    local first, is_behind = message.first[d.unit], d.unit < message.to
    sent[key] = message
    message.first[d.unit] = first or frame
    message.to = math.max(message.to, d.unit + math.ceil(d.length / GRAIN))
    if first then
        return {"again", first}
    elseif is_behind then
        return {"again"}
    end
end

local function note_of(d, pinfo, place)
    if not zcrp.prefs.repeats then
        return nil
    end
    local frame = notes[pinfo.number]
    if not pinfo.visited then
        local note = look_back(d, pinfo.number)
        if note then
            frame = frame or {}
            frame[place], notes[pinfo.number] = note, frame
        end
    end
    return frame and frame[place]
end

-- ---- opening what is sealed

-- The key log, if there is one and it can be read; else nothing, and what is wrong, if anything is.
local function the_key_log()
    local path = zcrp.prefs.key_log
    if path == "" then
        return nil
    elseif not has_keys_file then
        return nil, "no_file"
    elseif not key_log or key_log.path ~= path then
        key_log = keys_file.read(path)
    end
    if not key_log.is_there then
        return nil, "no_log"
    end
    return key_log
end

-- Does the log have the pairing that the end of this datagram names?
local function is_logged(tvb)
    local log, at = the_key_log(), tvb:len() - TAIL
    return log and at >= 0 and log:of_pairing(tvb(at, 4):uint(), tvb(at + 4, 4):uint(), "unit") ~= nil
end

local function handshake_name(d)
    return string.format("%08x:%s", d.tag, d.nonce:tohex())
end

-- The first bytes that the connecting side says are a ClientHello: its random stands behind the
-- type, a length of three bytes and a version (RFC 8446, 4.1.2).
local function note_random(d, tvb)
    local is_first = d.place == 0 and not has(d.flags, SECOND) and not has(d.flags, ANSWERS)
    if is_first and d.length >= 38 and tvb(0, 1):uint() == 1 then
        randoms[handshake_name(d)] = tvb(6, 32):bytes():tohex(true)
    end
end

local from_sender = {[HELLO] = true, [PROBE] = true, [OFFER] = true, [CHALLENGE_ANSWER] = true}

local function stream_of(d, log)
    if d.kind == HANDSHAKE then
        local random = randoms[handshake_name(d)]
        return random and log:of_handshake(random, has(d.flags, ANSWERS))
    end
    return log:of_pairing(d.session, d.tag, d.kind == UNIT and "unit" or
        from_sender[d.kind] and "sender" or "receiver")
end

-- A unit has only the low 32 bits of its number. What they mean depends on the units before it.
local function number_of(d, stream, pinfo, place)
    if d.kind == HANDSHAKE then
        return d.cookie:tonumber()
    elseif d.kind ~= UNIT then
        return d.number:tonumber()
    end
    local frame = numbers[pinfo.number] or {}
    numbers[pinfo.number] = frame
    frame[place] = frame[place] or stream:expand(d.seq)
    return frame[place]
end

local function is_of_epoch(d, number)
    return d.kind == HANDSHAKE or
        math.floor(number / EPOCH_NUMBERS) % 4 == math.floor(d.flags / EPOCH)
end

-- Opens a sealed datagram: `plain` is what was sealed; else `problem` says why there is none.
local function open(d, tvb, pinfo, place)
    local log, problem = the_key_log()
    local stream = log and stream_of(d, log)
    if not stream then
        d.problem = log and "no_key" or problem
        return
    end
    local bytes, number = tvb():raw(), number_of(d, stream, pinfo, place)
    local at = #bytes - (d.is_opaque and NUMBER + TAIL or TRAILER) -- where the tag ends
    d.plain = is_of_epoch(d, number) and stream:open(number, bytes:sub(at + 1),
        bytes:sub(1, at - TAG), bytes:sub(at - TAG + 1, at)) or nil
    d.problem = not d.plain and "forged" or nil
end

-- The datagram as it was before it was sealed, but for its epoch.
local function opened_tvb(d, tvb)
    local rest = d.is_opaque and TAIL or TRAILER
    return ByteArray.new(d.plain .. tvb(tvb:len() - rest, rest):raw(), true):tvb("Opened ZCRP")
end

-- ---- showing

local function show_flags(d, tvb, tree)
    local at = tvb(tvb:len() - 2, 1)
    local branch = tree:add(f.flags, at)
    for _, field in ipairs(d.kind == HANDSHAKE and {f.second, f.answers, f.refuses} or
        {f.has_next, f.is_last, f.void, f.answer, f.closing, f.ecn, f.epoch}) do
        branch:add(field, at)
    end
end

local function show_tail(d, tvb, tree)
    local at = tvb:len() - TAIL
    tree:add(f.session, tvb(at, 4))
    tree:add(f.tag, tvb(at + 4, 4))
    show_flags(d, tvb, tree)
    tree:add(f.version, tvb(at + 9, 1))
    tree:add(f.kind, tvb(at + 9, 1))
end

-- All fields of the trailer; what was added for its length is returned.
local function show_trailer(d, tvb, tree)
    local length
    for _, entry in ipairs(layouts[d.kind]) do
        local is_number = d.kind == HANDSHAKE and entry[3] == "cookie" and has(d.flags, SECOND)
        local field = is_number and f.number or f[entry[3]]
        local item = tree:add(field, tvb(tvb:len() - TRAILER + entry[1], entry[2]))
        length = entry[3] == "length" and item or length
    end
    show_tail(d, tvb, tree)
    return length
end

local function show_note(note, tree)
    if not note then
        return ""
    end
    local what, frame = note[1], note[2]
    if frame then
        tree:add(what == "copy" and f.copy_frame or f.first_frame, frame):set_generated()
    end
    tree:add_proto_expert_info(e[what])
    return what == "copy" and ", seen before" or ", repeat"
end

-- `to` bytes that are sealed: what only the two ends can read, and its tag.
local function show_seal(tvb, to, tree)
    if to > TAG then
        tree:add(f.sealed, tvb(0, to - TAG))
    end
    tree:add(f.auth, tvb(to - TAG, TAG))
end

-- A datagram of which all but its last bytes is sealed.
local function show_opaque(d, tvb, tree)
    local at = tvb:len() - TAIL - NUMBER
    show_seal(tvb, at, tree)
    tree:add(f.number, tvb(at, NUMBER))
    show_tail(d, tvb, tree)
    return string.format("%s, sealed, number %s, session %08x, tag %08x",
        kinds[d.kind]:gsub(",.*", ""), tostring(d.number), d.session, d.tag)
end

local function show_unit(d, tvb, pinfo, tree, place)
    local at, void, next_message = tvb:len() - TRAILER, has(d.flags, VOID), nil
    if d.is_sealed then
        show_seal(tvb, at, tree)
    elseif at > 0 then
        tree:add(f.unit_data, tvb(0, at))
    end
    show_trailer(d, tvb, tree)
    if void then
        tree:add(f.reason, tvb(at + 4, 4))
        tree:add_proto_expert_info(e.void)
    else
        tree:add(f.offset, tvb(at + 4, 4), UInt64(d.unit) * GRAIN):set_generated()
    end
    local forecast, size = "", size_of_void(d)
    if size then
        tree:add(f.size, tvb(at + 12, 8), size):set_generated()
        size = ", too large: " .. tostring(size)
    elseif has(d.flags, HAS_NEXT) then
        next_message = (d.message + d.next_step) % WORD
        tree:add(f.next_message, tvb(at + 20, 2), next_message):set_generated()
        forecast = string.format(" (next %.0f/%d)", next_message, d.next_unit)
    end
    local tail = d.verdict and "" or show_note(note_of(d, pinfo, place), tree)
    return string.format("Unit %d/%d%s seq %d, %d bytes%s%s%s%s", d.message, d.unit, forecast, d.seq,
        d.length, d.is_sealed and ", sealed" or "", names_of(d.flags), size or "", tail)
end

local function show_intervals(d, tvb, tree)
    local texts, count = {}, {["+"] = 0, ["-"] = 0}
    local sign = d.kind == ACK and "+" or "-"
    for i = 1, d.length do
        local from, to = tvb(4 * i - 4, 4):uint(), tvb(4 * i, 4):uint()
        texts[i] = string.format("[%d, %d) %s", from, to, sign)
        count[sign] = (count[sign] + step(from, to)) % WORD
        local branch = tree:add(f.interval, tvb(4 * i - 4, 8), texts[i])
        branch:add(f.bound, tvb(4 * i - 4, 4))
        if i == d.length then
            branch:add(f.bound, tvb(4 * i, 4))
        end
        sign = sign == "+" and "-" or "+"
    end
    tree:add(f.intervals, tvb(0, d.body), table.concat(texts, ", ")):set_generated()
    tree:add(f.arrived, tvb(0, d.body), count["+"]):set_generated()
    tree:add(f.missing, tvb(0, d.body), count["-"]):set_generated()
    if count["-"] > 0 then
        tree:add_proto_expert_info(e.missing)
    end
    return listed(texts)
end

local function show_ack(d, tvb, pinfo, tree)
    local has_body = d.length > 0 and tvb:len() - TRAILER == d.body
    local text = has_body and show_intervals(d, tvb, tree) or
        d.length == 0 and "of nothing yet" or string.format("of %d intervals", d.length)
    show_trailer(d, tvb, tree):append_text(" intervals")
    local marks = d.marks > 0 and string.format(", %d marked so far", d.marks) or ""
    return string.format("Acknowledgement %s%s%s", text, marks, names_of(d.flags))
end

local function show_run(tvb, tree)
    local first, count, size = tvb(0, 4):uint(), tvb(4, 4):uint(), tvb(8, 8):uint64()
    local withdrawn = size == UInt64.max()
    local text = string.format("[%d, %.0f) %s", first, (first + count) % WORD,
        withdrawn and "withdrawn" or "of " .. tostring(size))
    local branch = tree:add(f.run, tvb(), text)
    branch:add(f.run_first, tvb(0, 4))
    branch:add(f.run_count, tvb(4, 4))
    branch:add(f.run_size, tvb(8, 8))
    branch:add(f.run_withdrawn, tvb(8, 8), withdrawn):set_generated()
    return text
end

local function show_request(d, tvb, pinfo, tree)
    local texts = {}
    for i = 0, (tvb:len() - TRAILER == d.body and d.length or 0) - 1 do
        texts[#texts + 1] = show_run(tvb(16 * i, 16), tree)
    end
    show_trailer(d, tvb, tree):append_text(" runs")
    return "Request " .. (#texts > 0 and listed(texts) or
        d.length == 0 and "of nothing new" or string.format("of %d runs", d.length)) ..
        (d.nonce ~= NONE and ", for nonce " .. d.nonce:tohex() or "") ..
        (has(d.flags, ANSWER) and ", wants offers" or "")
end

local function show_hello(d, tvb, pinfo, tree)
    show_trailer(d, tvb, tree)
    if d.nonce == NONE then
        return string.format("Hello, session %08x, tag %08x, requested below %d%s", d.session, d.tag,
            d.requested, names_of(d.flags))
    end
    return string.format("Hello asks, nonce %s, tag %08x, %s", d.nonce:tohex(), d.tag,
        d.cookie == NONE and "no cookie" or
        string.format("cookie %s, session %08x", d.cookie:tohex(), d.session))
end

local function show_cookie(d, tvb, pinfo, tree)
    show_trailer(d, tvb, tree)
    return string.format("Cookie %s for nonce %s, session %08x, tag %08x", d.cookie:tohex(),
        d.nonce:tohex(), d.session, d.tag)
end

local function show_handshake(d, tvb, pinfo, tree)
    local is_second, to = has(d.flags, SECOND), tvb:len() - TRAILER
    local bytes = d.length - (is_second and TAG or 0)
    if is_second and to >= TAG then
        show_seal(tvb, to, tree)
    elseif to > 0 then
        tree:add(f.handshake, tvb(0, to))
    end
    if d.plain and #d.plain > 0 then
        tree:add(f.handshake, ByteArray.new(d.plain, true):tvb("Opened handshake bytes")())
    end
    show_trailer(d, tvb, tree)
    tree:add(f.length, tvb(0, to), d.length):set_generated()
    if has(d.flags, REFUSES) then
        tree:add_proto_expert_info(e.refused)
    end
    local what = has(d.flags, REFUSES) and "Keys refused" or
        string.format("Handshake bytes [%d, %d)", d.place, d.place + bytes)
    return string.format("%s%s%s, nonce %s, tag %08x, has %d and %d", what,
        is_second and ", sealed" or "", has(d.flags, ANSWERS) and ", answers" or "",
        d.nonce:tohex(), d.tag, d.have_first, d.have_second)
end

local function show_offer(d, tvb, pinfo, tree)
    show_trailer(d, tvb, tree)
    return string.format("Offer: message %d has %s bytes", d.message, tostring(d.size))
end

local function show_challenge(d, tvb, pinfo, tree)
    show_trailer(d, tvb, tree)
    if d.kind == CHALLENGE_ANSWER then
        return "Answer to challenge " .. d.challenge:tohex()
    elseif d.challenge == NONE then
        return string.format("Moved, %d so far", d.moves)
    end
    return string.format("Challenge %s, %d moves so far", d.challenge:tohex(), d.moves)
end

local function show_path(d, tvb, pinfo, tree)
    local at, is_probe = tvb:len() - TRAILER, d.kind == PROBE
    if at > 0 then
        tree:add(f.padding, tvb(0, at))
    end
    show_trailer(d, tvb, tree)
    return string.format("%s %d of %d bytes", is_probe and "Probe" or "Answer to probe", d.probe,
        is_probe and tvb:len() or d.probe_size)
end

local function show_version_answer(d, tvb, pinfo, tree)
    show_tail(d, tvb, tree)
    tree:add_proto_expert_info(e.other)
    return string.format("Version answer: version %d, to session %08x, tag %08x", d.version, d.session,
        d.tag)
end

local shows = {[UNIT] = show_unit, [ACK] = show_ack, [ACK_NEGATIVE] = show_ack,
    [REQUEST] = show_request, [HELLO] = show_hello, [PROBE] = show_path, [PROBE_ANSWER] = show_path,
    [COOKIE] = show_cookie, [HANDSHAKE] = show_handshake, [OFFER] = show_offer,
    [CHALLENGE] = show_challenge, [CHALLENGE_ANSWER] = show_challenge,
    [VERSION_ANSWER] = show_version_answer}

-- A datagram of another version, or of no type: its last byte, and its tail if it has one.
local function show_unknown(d, tvb, tree)
    local size = tvb:len()
    if d.verdict == "type" then
        show_tail(d, tvb, tree)
    else
        tree:add(f.version, tvb(size - 1, 1))
        tree:add(f.kind, tvb(size - 1, 1))
    end
    return string.format("%d bytes", size)
end

local problems = {no_key = ", no key for this session", no_log = ", no key log",
    no_file = ", no key log", forged = ", wrong tag"}

-- What is read is shown; what is opaque and was not opened cannot be.
local function show_read(d, tvb, pinfo, tree, place)
    return d.is_opaque and show_opaque(d, tvb, tree) or
        d.kind and shows[d.kind](d, tvb, pinfo, tree, place) or show_unknown(d, tvb, tree)
end

-- What crossed, and then what was sealed. Returns the line and the opened datagram with its bytes.
local function show_opened(d, tvb, pinfo, tree, place)
    local inner = opened_tvb(d, tvb)
    local at = tvb:len() - (d.is_opaque and NUMBER + TAIL or TRAILER)
    show_seal(tvb, at, tree)
    if d.is_opaque then
        tree:add(f.number, tvb(at, NUMBER))
    end
    d = read_opened(inner)
    return show_read(d, inner, pinfo, tree, place), d, inner
end

local function show_sealed(d, tvb, pinfo, tree, place)
    local line
    if d.plain and d.kind ~= HANDSHAKE then
        line, d, tvb = show_opened(d, tvb, pinfo, tree, place)
        d.is_decrypted = true
    else
        line, d.is_decrypted = show_read(d, tvb, pinfo, tree, place), d.plain ~= nil
    end
    if d.is_decrypted or d.problem then
        tree:add_proto_expert_info(e[d.problem or "decrypted"])
        line = line .. (problems[d.problem] or ", decrypted")
    end
    return line, d, tvb
end

local function is_sealed(d)
    return not d.verdict and (d.is_sealed or d.kind == HANDSHAKE and has(d.flags, SECOND))
end

-- Shows one datagram, the `place`-th of its frame, and returns its line.
local function show(tvb, pinfo, tree, place)
    local conversation, line = conversation_of(pinfo), nil
    local d = read(tvb, keyed[conversation] or is_logged(tvb))
    local branch = tree:add(zcrp, tvb())
    if d.kind == HANDSHAKE and not d.verdict then
        keyed[conversation] = true
        note_random(d, tvb)
    end
    if is_sealed(d) then
        open(d, tvb, pinfo, place)
    end
    line, d, tvb = show_sealed(d, tvb, pinfo, branch, place)
    if d.verdict then
        branch:add(f.verdict, tvb(), d.verdict):set_generated()
        branch:add_tvb_expert_info(e[d.verdict], tvb(), d.verdict .. ": " .. d.why)
        line = string.format("%s [%s: %s]", line, d.verdict, d.why)
    elseif has(d.flags, CLOSING) then
        branch:add_proto_expert_info(e.closing)
    end
    branch:append_text(": " .. line)
    return line, d
end

local function show_cut(tvb, pinfo, tree)
    tree:add(zcrp, tvb()):add_proto_expert_info(e.cut)
    pinfo.cols.info = "Cut short by the capture"
end

-- ---- several datagrams that the kernel carries as one (GSO, GRO)

-- The size of the datagram that ends before `to`, by its trailer, or nothing. `tag` bytes are more
-- than the trailer says, if the datagrams are sealed.
local function size_before(tvb, to, tag)
    local last = to >= TRAILER and tvb(to - 1, 1):uint() or 0
    local kind = last % 16
    if math.floor(last / 16) ~= VERSION or not layouts[kind] then
        return nil
    end
    return body_of(kind, length_before(tvb, to, kind)) + tag + TRAILER
end

-- Are all datagrams in [0, rest) `segment` bytes long?
local function is_cut_at(tvb, segment, rest, tag)
    for to = segment, rest, segment do
        if size_before(tvb, to, tag) ~= segment then
            return false
        end
    end
    return true
end

-- The size at which a bundle is cut: all datagrams are as long, but for the last, which is not
-- longer. If there is none, nothing.
local function segment_with(tvb, tag)
    local size = tvb:len()
    local last = size_before(tvb, size, tag)
    if not last or last >= size then
        return nil
    end
    local rest = size - last
    for count = 1, math.floor(rest / last) do
        if rest % count == 0 and is_cut_at(tvb, rest / count, rest, tag) then
            return rest / count
        end
    end
end

-- If there is no size at which it is cut, all of it is one datagram. Only units are sealed and joined.
local function segment_of(tvb)
    local size = tvb:len()
    if size_before(tvb, size, 0) == size then
        return size
    end
    local is_unit = tvb(size - 1, 1):uint() == VERSION * 16 + UNIT
    return segment_with(tvb, 0) or is_unit and segment_with(tvb, TAG) or size
end

-- One line for several datagrams.
local function line_of(lines, datagrams)
    local first, last, again, size = datagrams[1], datagrams[#datagrams], 0, 0
    if first.kind ~= UNIT then
        return listed(lines)
    end
    for _, line in ipairs(lines) do
        again = again + (line:find(", repeat", 1, true) and 1 or 0)
    end
    for _, d in ipairs(datagrams) do
        size = size + (d.length or 0)
    end
    return string.format("%d units %d/%d to %d/%d seq %d to %d, %d bytes%s%s%s", #lines,
        first.message, first.unit, last.message, last.unit, first.seq, last.seq,
        size, names_of(last.flags), first.is_decrypted and ", decrypted" or "",
        again > 0 and string.format(", %d repeats", again) or "")
end

local function show_bundle(tvb, pinfo, tree)
    local size, segment = tvb:len(), segment_of(tvb)
    local lines, datagrams = {}, {}
    for from = 0, size - 1, segment do
        local part = tvb(from, math.min(segment, size - from)):tvb()
        lines[#lines + 1], datagrams[#lines + 1] = show(part, pinfo, tree, #lines)
    end
    pinfo.cols.info = #lines == 1 and lines[1] or line_of(lines, datagrams)
end

function zcrp.dissector(tvb, pinfo, tree)
    pinfo.cols.protocol = "ZCRP"
    if tvb:len() < tvb:reported_len() then
        show_cut(tvb, pinfo, tree)
    elseif tvb:len() > 0 then
        show_bundle(tvb, pinfo, tree)
    end
    return tvb:len()
end

-- By form: what breaks no rule is taken for ZCRP, and then all of its conversation. A version answer
-- says too little for that.
local function is_zcrp(tvb)
    if tvb:len() < tvb:reported_len() or tvb:len() == 0 then
        return false
    end
    local d = read(tvb(0, segment_of(tvb)):tvb())
    return not d.verdict and d.kind ~= VERSION_ANSWER
end

local function by_form(tvb, pinfo, tree)
    if not is_zcrp(tvb) then
        return false
    end
    zcrp.dissector(tvb, pinfo, tree)
    pinfo.conversation = zcrp
    return true
end

zcrp:register_heuristic("udp", by_form)

-- ---- AAL5 in MPLS

local CELL, CELLS_MAX, TRAILER_AAL5 = 48, 1366, 8
local LAST_PIECE = 4 -- the control word's U
local CRC_GOOD, CRC_BAD, CRC_UNKNOWN = "correct", "incorrect", "not checked"

local a = {
    vpi = ProtoField.uint8("zcrp_aal5.vpi", "VPI"),
    vci = ProtoField.uint16("zcrp_aal5.vci", "VCI"),
    control = ProtoField.uint32("zcrp_aal5.control", "Control word", base.HEX),
    seq = ProtoField.uint16("zcrp_aal5.seq", "Sequence number"),
    mode = ProtoField.bool("zcrp_aal5.mode", "Frame mode", 8, nil, 0x80),
    has_vci = ProtoField.bool("zcrp_aal5.vci_present", "VCI present", 8, nil, 0x40),
    is_last = ProtoField.bool("zcrp_aal5.last", "Last piece", 8, nil, LAST_PIECE),
    congestion = ProtoField.bool("zcrp_aal5.congestion", "Congestion experienced", 8, nil, 2),
    clp = ProtoField.bool("zcrp_aal5.clp", "Cell loss priority", 8, nil, 1),
    cells = ProtoField.uint32("zcrp_aal5.cells", "Cells"),
    piece = ProtoField.bytes("zcrp_aal5.piece", "Piece"),
    in_frame = ProtoField.framenum("zcrp_aal5.reassembled_in", "Reassembled in frame"),
    of_frame = ProtoField.framenum("zcrp_aal5.piece_frame", "Piece in frame"),
    pieces = ProtoField.uint32("zcrp_aal5.pieces", "Pieces"),
    pdu_length = ProtoField.uint32("zcrp_aal5.pdu_length", "Bytes of the PDU"),
    padding = ProtoField.uint32("zcrp_aal5.padding", "Padding"),
    uu = ProtoField.uint8("zcrp_aal5.uu", "User to user", base.HEX),
    cpi = ProtoField.uint8("zcrp_aal5.cpi", "Common part indicator", base.HEX),
    length = ProtoField.uint16("zcrp_aal5.length", "Length"),
    crc = ProtoField.uint32("zcrp_aal5.crc", "AAL5 CRC", base.HEX),
    crc_status = ProtoField.string("zcrp_aal5.crc_status", "AAL5 CRC is"),
}
aal5.fields = a

local ae = {
    gap = expert_of("_aal5.gap", "Sequence numbers are missing before this piece",
        "SEQUENCE", "WARN"),
    crc = expert_of("_aal5.bad_crc", "The CRC is incorrect", "CHECKSUM", "ERROR"),
    abort = expert_of("_aal5.abort", "Aborted: the length is 0", "SEQUENCE", "WARN"),
    size = expert_of("_aal5.bad_size", "Not what AAL5 has", "MALFORMED", "ERROR"),
    congestion = expert_of("_aal5.congested", "Congestion experienced", "SEQUENCE", "NOTE"),
}
aal5.experts = ae
aal5.prefs.crc = Pref.bool("Check the CRC", true, "Costs about a millisecond for each PDU")

-- Lua has had four ways to say this.
local xor = bit32 and bit32.bxor or bit and bit.bxor or load("return function(x, y) return x ~ y end")()

local crc_table = {}
for byte = 0, 255 do
    local crc = byte * 2 ^ 24
    for _ = 1, 8 do
        crc = crc >= HALF and xor(crc * 2 % WORD, 0x04c11db7) % WORD or crc * 2
    end
    crc_table[byte] = math.floor(crc)
end

-- Most significant bit first, from all ones; over a whole PDU it leaves CRC_RESIDUE.
local CRC_RESIDUE = 0xc704dd7b
local function crc_of(bytes)
    local crc, floor, char = 0xffffffff, math.floor, string.byte
    for at = 1, #bytes do
        local top = floor(crc / 0x1000000)
        crc = xor(crc * 256 % WORD, crc_table[xor(top, char(bytes, at))]) % WORD
    end
    return crc
end

local gathering = {} -- [circuit, from, to] = {seq, parts, frames, cells}
local pdus = {}      -- [frame] = {[place in it] = what became of that piece}

function aal5.init()
    gathering, pdus = {}, {}
end

-- label = 16 + VPI * 4096 + VCI - 32
local function circuit_of(label)
    return math.floor((label - 16) / 4096), (label - 16) % 4096 + 32
end

local function next_seq(seq)
    return seq % 65535 + 1
end

-- Adds a piece to what its circuit gathers; what became of it: {is_gap} in the middle of a PDU,
-- with {bytes, frames, crc} at its end; `frame` is set later, when the end has come.
local function gather(key, frame, seq, is_last, bytes)
    local circuit, fate = gathering[key] or {parts = {}, fates = {}, frames = {}, cells = 0}, {}
    fate.is_gap = circuit.seq and seq ~= 0 and circuit.seq ~= 0 and seq ~= next_seq(circuit.seq)
    if fate.is_gap then
        circuit = {parts = {}, fates = {}, frames = {}, cells = 0}
    end
    circuit.seq, circuit.cells = seq, circuit.cells + math.floor(#bytes / CELL)
    circuit.parts[#circuit.parts + 1] = bytes
    circuit.frames[#circuit.frames + 1] = frame
    circuit.fates[#circuit.fates + 1] = fate
    if is_last then
        fate.frames, fate.bytes = circuit.frames, table.concat(circuit.parts)
        fate.crc = not aal5.prefs.crc and CRC_UNKNOWN or
            crc_of(fate.bytes) == CRC_RESIDUE and CRC_GOOD or CRC_BAD
        for _, piece in ipairs(circuit.fates) do
            piece.frame = frame
        end
        circuit = {seq = seq, parts = {}, fates = {}, frames = {}, cells = 0}
    elseif circuit.cells > CELLS_MAX then
        fate.is_long = true
        circuit = {seq = seq, parts = {}, fates = {}, frames = {}, cells = 0}
    end
    gathering[key] = circuit
    return fate
end

local function fate_of(pinfo, place, label, seq, is_last, range)
    local frame = pdus[pinfo.number] or {}
    pdus[pinfo.number] = frame
    if not frame[place] then
        local key = string.format("%s %s %d %d %d", tostring(pinfo.net_src),
            tostring(pinfo.net_dst), pinfo.src_port, pinfo.dst_port, label)
        frame[place] = gather(key, pinfo.number, seq, is_last, range:raw())
    end
    return frame[place]
end

local function show_control(tvb, tree)
    local branch = tree:add(a.control, tvb(0, 4))
    branch:add(a.seq, tvb(1, 2))
    for _, field in ipairs({a.mode, a.has_vci, a.is_last, a.congestion, a.clp}) do
        branch:add(field, tvb(3, 1))
    end
    if has(tvb(3, 1):uint(), 2) then
        branch:add_proto_expert_info(ae.congestion)
    end
end

-- A whole PDU: its trailer and verdict, and the datagram inside.
local function show_pdu(pdu, fate, pinfo, tree, root, place)
    local size = pdu:len()
    local length = pdu(size - 6, 2):uint()
    tree:add(a.pdu_length, pdu(), size):set_generated()
    tree:add(a.uu, pdu(size - 8, 1))
    tree:add(a.cpi, pdu(size - 7, 1))
    tree:add(a.length, pdu(size - 6, 2))
    tree:add(a.crc, pdu(size - 4, 4)):append_text(" (" .. fate.crc .. ")")
    tree:add(a.crc_status, pdu(size - 4, 4), fate.crc):set_generated()
    tree:append_text(string.format(", %d bytes, CRC %s", length, fate.crc))
    if length == 0 then
        tree:add_proto_expert_info(ae.abort)
        return "AAL5 PDU that was aborted"
    elseif fate.crc == CRC_BAD then
        tree:add_proto_expert_info(ae.crc)
        return "AAL5 PDU with an incorrect CRC"
    elseif math.ceil((length + TRAILER_AAL5) / CELL) * CELL ~= size then
        tree:add_tvb_expert_info(ae.size, pdu(size - 6, 2), "The length does not fit the cells")
        return "AAL5 PDU whose length does not fit"
    end
    tree:add(a.padding, pdu(length, size - TRAILER_AAL5 - length),
        size - TRAILER_AAL5 - length):set_generated()
    return (show(pdu(0, length):tvb(), pinfo, root, place))
end

local function show_pieces(fate, tree)
    tree:add(a.pieces, #fate.frames):set_generated()
    for _, frame in ipairs(fate.frames) do
        tree:add(a.of_frame, frame):set_generated()
    end
end

-- Shows a control word and the cells behind it; returns its line.
local function show_packet(tvb, pinfo, root, label, place)
    local vpi, vci = circuit_of(label)
    local tree = root:add(aal5, tvb(), string.format("AAL5, circuit %d/%d", vpi, vci))
    local size = tvb:len() - 4
    tree:add(a.vpi, vpi):set_generated()
    tree:add(a.vci, vci):set_generated()
    show_control(tvb, tree)
    if size == 0 or size % CELL ~= 0 then
        tree:add_tvb_expert_info(ae.size, tvb(), "No whole number of cells")
        return "AAL5 without a whole number of cells"
    end
    tree:add(a.cells, tvb(4, size), size / CELL):set_generated()
    local seq, is_last = tvb(1, 2):uint(), has(tvb(3, 1):uint(), LAST_PIECE)
    local fate = fate_of(pinfo, place, label, seq, is_last, tvb(4, size))
    if fate.is_gap then
        tree:add_proto_expert_info(ae.gap)
    end
    if fate.is_long then
        tree:add_tvb_expert_info(ae.size, tvb(), "More cells than any PDU")
    end
    if not is_last then
        tree:add(a.piece, tvb(4, size))
        if fate.frame then
            tree:add(a.in_frame, fate.frame):set_generated()
        end
        return string.format("AAL5 piece %d on circuit %d/%d, %d cells", seq, vpi, vci, size / CELL)
    end
    show_pieces(fate, tree)
    local pdu = #fate.frames == 1 and tvb(4, size):tvb() or
        ByteArray.new(fate.bytes, true):tvb("AAL5 PDU")
    return show_pdu(pdu, fate, pinfo, tree, root, place)
end

-- Bytes from a control word at `at` to the next label entry, where the kernel carries several
-- packets as one: that is the same entry again with the next number; else all that is left.
local function packet_bytes(tvb, at, entry)
    local left = tvb:len() - at
    local seq = tvb(at + 1, 2):uint()
    for bytes = 4 + CELL, left - 8 - CELL, CELL do
        local other = at + bytes
        if tvb(other, 4):uint() == entry and tvb(other + 4, 1):uint() == 0 and
            tvb(other + 5, 2):uint() == next_seq(seq) then
            return bytes
        end
    end
    return left
end

local label_of = Field.new("mpls.label")
local class_of = Field.new("mpls.exp")
local hops_of = Field.new("mpls.ttl")

-- The label entry in front, which MPLS has read: its value as on the wire, at the bottom of a stack.
local function entry_before()
    local labels, classes, hops = {label_of()}, {class_of()}, {hops_of()}
    local label = labels[#labels].value
    return label * 4096 + classes[#classes].value * 512 + 256 + hops[#hops].value, label
end

function aal5.dissector(tvb, pinfo, tree)
    pinfo.cols.protocol = "ZCRP/AAL5"
    if tvb:len() < tvb:reported_len() or tvb:len() < 4 then
        tree:add(aal5, tvb()):add_tvb_expert_info(ae.size, tvb(), "Cut short")
        return tvb:len()
    end
    local entry, label = entry_before()
    local at, place, lines = 0, 0, {}
    while at + 4 <= tvb:len() do
        local bytes = packet_bytes(tvb, at, entry)
        lines[#lines + 1] = show_packet(tvb(at, bytes):tvb(), pinfo, tree, label, place)
        at, place = at + bytes + 4, place + 1
    end
    pinfo.cols.info = #lines == 1 and lines[1] or
        string.format("%d packets: %s", #lines, listed(lines))
    return tvb:len()
end

-- ---- where it is looked for

local tables = {
    {"udp.port", "ports", zcrp},
    {"atm.reassembled.vpi_vci", "circuits", zcrp},
    {"mpls.label", "labels", aal5},
}
local taken = {}

local function look_there()
    for _, entry in ipairs(tables) do
        local name, pref, proto = entry[1], entry[2], entry[3]
        local dissectors = DissectorTable.get(name)
        if taken[name] and taken[name] ~= "" then
            dissectors:remove(taken[name], proto)
        end
        taken[name] = zcrp.prefs[pref]
        if taken[name] ~= "" then
            dissectors:add(taken[name], proto)
        end
    end
end

look_there()
zcrp.prefs_changed = look_there
DissectorTable.get("udp.port"):add_for_decode_as(zcrp)
DissectorTable.get("mpls.label"):add_for_decode_as(aal5)
DissectorTable.get("atm.aal5.type"):add(0, zcrp)
