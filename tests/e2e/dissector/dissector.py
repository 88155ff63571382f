"""What tools/wireshark/zcrp.lua says of captures made here. Prints what is wrong, and exits 1 if
anything is."""

import os
import re
import struct
import subprocess

import capture
from capture import check, equal, fields

TYPES = {"unit": {1}, "ack": {2, 3}, "request": {4}, "hello": {5}, "probe": {6}, "answer": {7},
         "cookie": {8}, "handshake": {9}, "offer": {10},
         "challenge": {11}, "challenge_answer": {12}, "version": {15}}
SHOWN_AS = {"number": "probe"}


def numbers(values):
    return [int(value, 0) for value in values]


# --- datagrams -----------------------------------------------------------------------------------


NONCE, COOKIE = 0x0123456789ABCDEF, 0xFEDCBA9876543210


def tail(kind, flags=0, session=0xC0FFEE42, tag=0xBEEFCAFE, version=2):
    return struct.pack(">IIBB", session, tag, flags, version << 4 | kind)


def unit(message, place, seq, length, flags=0, following=(0, 0, 0)):
    """`following` is the next unit's number, its length and the step to its message."""
    return bytes([seq % 256]) * length + struct.pack(
        ">IIIIHHh", message, place, seq, following[0], length, *following[1:]) + tail(1, flags)


def hello(requested, flags=0):
    return struct.pack(">QQIH", 0, 0, requested, 0) + tail(5, flags)


def asking(cookie=0, session=0):
    return struct.pack(">QQIH", NONCE, cookie, 0, 0) + tail(5, session=session)


def offer(message, size):
    return struct.pack(">QIHQ", size, message, 0, 0) + tail(10)


def challenge(number, moves):
    return struct.pack(">QIHQ", number, moves, 0, 0) + tail(11)


def challenge_answer(number):
    return struct.pack(">QIHQ", number, 0, 0, 0) + tail(12)


def request(runs, nonce=0, flags=0):
    body = b"".join(struct.pack(">IIQ", *run) for run in runs)
    return body + struct.pack(">QIHQ", nonce, 65536, len(runs), 0) + tail(4, flags)


def ack(bounds, marks=0):
    kind = 3 if bounds and len(bounds) % 2 else 2
    newest, length = (bounds[-1] - 1, len(bounds) - 1) if bounds else (0, 0)
    return struct.pack(f">{len(bounds)}I", *bounds) + struct.pack(
        ">IIIHHIH", newest, 5, 65536, length, marks, 0, 0) + tail(kind)


def cookie_datagram(session=0):
    return struct.pack(">QQIH", NONCE, COOKIE, 0, 0) + tail(8, session=session)


def handshake(data, flags=0, cookie=COOKIE, place=0, have=(0, 0), session=0):
    return data + struct.pack(">QQHHH", NONCE, cookie, place, *have) + tail(9, flags, session)


def sealed(datagram, number=None):
    """As it crosses under keys: a unit, whose trailer stays in clear, or anything else."""
    if number is None:
        return datagram[:-32] + bytes([0xA5]) * 16 + datagram[-32:]
    body = bytes([0x5A]) * (len(datagram) - 10)
    return body + bytes([0xA5]) * 16 + struct.pack(">Q", number) + datagram[-10:]


def probe(size):
    return bytes(size - 32) + struct.pack(">IIIHQ", 7, 0, 0, size - 32, 0) + tail(6)


def probe_answer(size):
    return struct.pack(">IIIHQ", 7, size, 0, 0, 0) + tail(7)


# --- the vectors ---------------------------------------------------------------------------------


def bytes_of(text):
    joined = b""
    for part in text.split("+"):
        content, _, times = part.partition("*")
        joined += b"" if content == "-" else bytes.fromhex(content) * int(times or 1)
    return joined


def vectors():
    with open("docs/vectors/datagrams.txt", encoding="ascii") as file:
        for line in file:
            words = line.split("#")[0].split()
            if words and bytes_of(words[-1]):
                yield words[0], words[1], dict(w.split("=") for w in words[2:-1]), words[-1]


def interval_words(kind, bounds):
    signs = "+-" if kind == 2 else "-+"
    pairs = zip(bounds, bounds[1:])
    return ", ".join(f"[{a}, {b}) {signs[i % 2]}" for i, (a, b) in enumerate(pairs))


def check_list(name, key, value, shown):
    """Bounds and runs, which the dissector spells out."""
    entries = [entry for entry in value.split(",") if entry]
    if key == "bounds":
        equal(f"{name}: bounds", numbers(shown["bound"]), numbers(entries))
        words = interval_words(int(shown["type"][0]), entries)
        equal(f"{name}: intervals", shown["intervals"], [words] if words else [])
        return
    runs = [entry.split(":") for entry in entries]
    sizes = [2**64 - 1 if size == "withdrawn" else int(size) for _, _, size in runs]
    equal(f"{name}: first", numbers(shown["run.first"]), [int(run[0]) for run in runs])
    equal(f"{name}: count", numbers(shown["run.count"]), [int(run[1]) for run in runs])
    equal(f"{name}: size", numbers(shown["run.size"]), sizes)


def check_vector(name, asked, said, shown):
    kind = int(shown["type"][0]) if shown["type"] else None
    if "reject" in said:
        is_other = said["reject"] == "type" and kind not in TYPES[asked]
        check(f"{name}: {shown['verdict']} instead of {said['reject']}",
              shown["verdict"] == [said["reject"]] or is_other)
        return
    equal(f"{name}: verdict", shown["verdict"], [])
    check(f"{name}: type {kind}", kind in TYPES[asked])
    if asked == "unit" and int(said["flags"], 0) & 4 and said["unit"] == "1":
        size = int(said["next_length"]) * 2**32 + int(said["next_unit"])
        equal(f"{name}: size", numbers(shown["size"]), [size])
    for key, value in said.items():
        if key in ("bounds", "runs"):
            check_list(name, key, value, shown)
        else:
            shown_as = "probe.size" if (asked, key) == ("answer", "size") else SHOWN_AS.get(key, key)
            if (asked, key) == ("handshake", "cookie") and int(said["flags"], 0) & 1:
                shown_as = "number"
            found = numbers(shown[shown_as])
            equal(f"{name}: {key}", found, [int(value, 0)])


def test_vectors(path):
    """As the datagrams of a user's own link type, so that even the longest has room."""
    names = ["type", "version", "verdict", "message", "unit", "seq", "next_unit", "length",
             "next_length", "next_step", "session", "tag", "flags", "newest", "delay", "capacity", "marks",
             "nonce", "cookie", "requested", "bound", "intervals", "run.first", "run.count", "run.size",
             "probe", "probe.size", "size", "place", "have_first", "have_second", "number",
             "challenge", "moves"]
    all_vectors = list(vectors())
    capture.save(path, capture.USER0, [bytes_of(text) for *_, text in all_vectors])
    rows = fields(path, ["zcrp." + name for name in names], "-o",
                  'uat:user_dlts:"User 0 (DLT=147)","zcrp","0","","0",""')
    equal("vectors", len(rows), len(all_vectors))
    for (name, asked, said, _), row in zip(all_vectors, rows):
        check_vector(name, asked, said, dict(zip(names, row)))


# --- over UDP ------------------------------------------------------------------------------------


def test_form(path):
    """By form alone; what follows in the same conversation need not be whole."""
    packets = [hello(1), hello(2, flags=1), b"neither here nor there, but long enough" * 2,
               tail(15, version=3)]
    capture.save(path, capture.RAW_IP, [capture.udp(packets[i]) for i in (0, 1, 3)] +
                 [capture.udp(packets[i], port=50000) for i in (2, 3)])
    rows = fields(path, ["_ws.col.Protocol", "zcrp.requested", "zcrp.version", "zcrp.verdict"])
    equal("by form", rows, [[["ZCRP"], ["1"], ["2"], []], [["ZCRP"], ["2"], ["2"], ["malformed"]],
                            [["ZCRP"], [], ["3"], []], [["UDP"], [], [], []], [["UDP"], [], [], []]])


LINES = [
    (unit(3, 0, 100, 64, 1, (45, 64, 0)), "Unit 3/0 (next 3/45) seq 100, 64 bytes"),
    (unit(3, 45, 101, 17, 3, (0, 64, 1)), "Unit 3/45 (next 4/0) seq 101, 17 bytes, last"),
    (unit(4, 0, 102, 64, 9, (7, 64, -2)), "Unit 4/0 (next 2/7) seq 102, 64 bytes, answer"),
    (unit(0, 0, 103, 64, 1, (7, 64, -1)), "Unit 0/0 (next 4294967295/7) seq 103, 64 bytes"),
    (unit(5, 3, 104, 0, 6), "Unit 5/3 seq 104, 0 bytes, last, void"),
    (unit(6, 1, 105, 0, 14, (5, 1, 0)), "Unit 6/1 seq 105, 0 bytes, last, void, answer, "
     "too large: 4294967301"),
    (unit(7, 1, 106, 0, 6), "Unit 7/1 seq 106, 0 bytes, last, void, too large: 0 [malformed: "
     "no message that is too large has that size]"),
    (ack([]), "Acknowledgement of nothing yet"),
    (ack([0, 46, 47, 90], 2), "Acknowledgement [0, 46) +, [46, 47) -, [47, 90) +, 2 marked so far"),
    (ack([4, 5, 6]), "Acknowledgement [4, 5) -, [5, 6) +"),
    (request([(0, 8, 2**20), (9, 2, 2**64 - 1)]), "Request [0, 8) of 1048576, [9, 11) withdrawn"),
    (request([], NONCE), "Request of nothing new, for nonce 0123456789abcdef"),
    (request([(0, 1, 5)], flags=8), "Request [0, 1) of 5, wants offers"),
    (offer(7, 2**37), "Offer: message 7 has 137438953472 bytes"),
    (offer(7, 2**37 + 1), "Offer: message 7 has 137438953473 bytes [malformed: no message is as "
     "large]"),
    (asking(), "Hello asks, nonce 0123456789abcdef, tag beefcafe, no cookie"),
    (asking(COOKIE, 0xC0FFEE42), "Hello asks, nonce 0123456789abcdef, tag beefcafe, "
     "cookie fedcba9876543210, session c0ffee42"),
    (hello(17, 16), "Hello, session c0ffee42, tag beefcafe, requested below 17, closing"),
    (cookie_datagram(), "Cookie fedcba9876543210 for nonce 0123456789abcdef, session 00000000, "
     "tag beefcafe"),
    (probe(1216), "Probe 7 of 1216 bytes"),
    (probe_answer(1216), "Answer to probe 7 of 1216 bytes"),
    (tail(15, version=3), "Version answer: version 3, to session c0ffee42, tag beefcafe"),
    (handshake(bytes(200)), "Handshake bytes [0, 200), nonce 0123456789abcdef, tag beefcafe, has 0 and 0"),
    (handshake(bytes(521), 3, 7, 1024, (122, 9)), "Handshake bytes [1024, 1529), sealed, answers, "
     "nonce 0123456789abcdef, tag beefcafe, has 122 and 9"),
    (handshake(b"", 6, 0), "Keys refused, answers, nonce 0123456789abcdef, tag beefcafe, has 0 and 0"),
    (handshake(b"", session=1), "Handshake bytes [0, 0), nonce 0123456789abcdef, tag beefcafe, has 0 and 0 "
     "[malformed: bytes of a handshake have no session, and a nonce]"),
    (handshake(bytes(7), 1), "Handshake bytes [0, 0), sealed, nonce 0123456789abcdef, tag beefcafe, "
     "has 0 and 0 [short: 7 bytes before the trailer, which says 16]"),
    (sealed(unit(9, 0, 107, 64, 65, (45, 64, 0))), "Unit 9/0 (next 9/45) seq 107, 64 bytes, sealed"),
    (sealed(ack([0, 46]), 17), "Block acknowledgement, sealed, number 17, session c0ffee42, tag beefcafe"),
    (offer(0, 0), "Offer: message 0 has 0 bytes"),
    (challenge(NONCE, 2), "Challenge 0123456789abcdef, 2 moves so far"),
    (challenge(0, 3), "Moved, 3 so far"),
    (challenge_answer(NONCE), "Answer to challenge 0123456789abcdef"),
    (challenge_answer(0), "Answer to challenge 0000000000000000 [malformed: a challenge that is answered is "
     "not 0]"),
    (bytes(22) + tail(13), "32 bytes [type: type 13]"),
    (bytes(22) + tail(15), "32 bytes [malformed: a version answer has ten bytes]"),
    (bytes(22) + tail(5, version=3), "32 bytes [version: a hello of version 3]"),
    (bytes(14) + tail(5, version=1), "24 bytes [short: shorter than any trailer, at its end "
     "a hello of version 1]"),
]


def test_lines(path):
    capture.save(path, capture.RAW_IP, [capture.udp(datagram) for datagram, _ in LINES])
    rows = fields(path, ["_ws.col.Info"], "-d", "udp.port==40000,zcrp")
    for (_, expected), row in zip(LINES, rows):
        equal("line", row[0], [expected])
    equal("lines", len(rows), len(LINES))


def test_bundles(path):
    """Datagrams that the kernel joined."""
    bundles = [b"".join(unit(1, 45 * i, i, 1440) for i in range(40)),
               b"".join(unit(1, 45 * i, i, 1440) for i in range(40, 44)) + unit(1, 1980, 44, 7, 2),
               b"".join(unit(n, 0, n, 0, 2) for n in range(100, 220)),
               hello(7) + hello(8) + hello(9), unit(9, 0, 500, 64) + b"more" * 8,
               b"".join(sealed(unit(8, 45 * i, 600 + i, 1440 if i < 4 else 32)) for i in range(5))]
    capture.save(path, capture.RAW_IP, [capture.udp(bundle) for bundle in bundles])
    rows = fields(path, ["zcrp.seq", "zcrp.requested", "zcrp.verdict"], "-d", "udp.port==40000,zcrp")
    equal("40 units", numbers(rows[0][0]), list(range(40)))
    equal("4 units, sealed, and a shorter one", numbers(rows[5][0]), list(range(600, 605)))
    equal("4 units and a shorter one", numbers(rows[1][0]), list(range(40, 45)))
    equal("120 empty messages", numbers(rows[2][0]), list(range(100, 220)))
    equal("hellos", rows[3], [[], ["7", "8", "9"], []])
    check("something behind a unit is no bundle", len(rows[4][2]) == 1)


def test_repeats(path):
    sent = [unit(1, 0, 0, 64), unit(1, 2, 1, 64), unit(1, 0, 2, 64), unit(1, 1, 3, 32),
            unit(1, 4, 4, 64), unit(1, 4, 4, 64), unit(2, 0, 5, 64)]
    capture.save(path, capture.RAW_IP, [capture.udp(datagram) for datagram in sent])
    rows = fields(path, ["zcrp.repeat", "zcrp.repeat_of", "zcrp.copy_of"])
    equal("repeats", [bool(row[0]) for row in rows], [False, False, True, True] + [False] * 3)
    equal("of which frame", rows[2][1], ["1"])
    equal("a copy of which frame", rows[5][2], ["5"])


# --- over AAL5 -----------------------------------------------------------------------------------

AAL5_NAMES = ["zcrp_aal5.crc_status", "zcrp.seq", "zcrp_aal5.pieces", "_ws.expert.message"]


def check_carriers(path, packets, what, expected):
    """The same packets over both carriers: the values of AAL5_NAMES in the last packet."""
    for name, carry in (("UDP", lambda p: capture.udp(p, 6635)),
                        ("IP", lambda p: capture.ip(137, p))):
        capture.save(path, capture.RAW_IP, [carry(packet) for packet in packets])
        row = fields(path, AAL5_NAMES)[-1]
        equal(f"{what} over {name}", row[:3], expected[:3])
        check(f"{what} over {name}: '{expected[3]}' in {row[3]}",
              any(expected[3] in note for note in row[3]) if expected[3] else not row[3])


def test_aal5(path):
    whole = capture.pdu(unit(3, 0, 77, 9152))
    cut = capture.pieces(65534, whole, 30)
    known = bytes.fromhex("0001014000000184" + bytes(range(1, 41)).hex() + "00000028BF671ED0")
    other = capture.pieces(1, capture.pdu(unit(4, 0, 5, 320)), 30, label=17)
    damaged = bytearray(cut[2])
    damaged[100] ^= 4
    good = [["correct"], ["77"], [str(len(cut))], ""]
    none = [["correct"], [], ["1"], ""]
    check_carriers(path, cut, "pieces", good)
    check_carriers(path, cut[:1] + other + cut[1:], "two circuits", good)
    check_carriers(path, [b"".join(cut)], "pieces that the kernel joined", good)
    check_carriers(path, [known], "no ZCRP inside",
                   [["correct"], [], ["1"], "malformed: 8 bytes before the trailer"])
    check_carriers(path, cut[:2] + [bytes(damaged)] + cut[3:], "a flipped bit",
                   [["incorrect"], [], good[2], "CRC is incorrect"])
    check_carriers(path, cut[:2] + cut[3:], "a piece lost",
                   [["incorrect"], [], [str(len(cut) - 3)], "CRC is incorrect"])
    check_carriers(path, cut[:2] + cut[3:4], "before a gap", [[], [], [], "are missing before"])
    check_carriers(path, capture.pieces(9, capture.pdu(bytes(40), length=0), 30), "an abort",
                   none[:3] + ["Aborted"])
    check_carriers(path, [capture.piece(1, bytes(47), True)], "half a cell",
                   [[], [], [], "No whole number of cells"])
    check_carriers(path, [capture.piece(1, whole[:48], False, mark=2)], "congestion",
                   [[], [], [], "Congestion experienced"])


def test_erf(path):
    """Whole PDUs: the verdict is Wireshark's own."""
    datagrams = [unit(1, 0, 0, 320), hello(3), unit(1, 10, 1, 9120)]
    wrong = bytearray(capture.pdu(hello(4)))
    wrong[-1] ^= 1
    capture.save(path, capture.ERF, [capture.erf(capture.pdu(d), vci=33) for d in datagrams] +
                 [capture.erf(bytes(wrong), vpi=1, vci=40)])
    names = ["atm.vpi", "atm.vci", "zcrp.seq", "zcrp.requested", "zcrp.verdict"]
    rows = fields(path, names, "-o", "zcrp.circuits:33,65576")
    equal("ERF", rows, [[["0"], ["33"], ["0"], [], []], [["0"], ["33"], [], ["3"], []],
                        [["0"], ["33"], ["1"], [], []], [["1"], ["40"], [], ["4"], []]])
    equal("another circuit", fields(path, names)[3][3], [])
    text = capture.tshark(path, "-V")
    equal("CRC correct", text.count("(correct)"), 3)
    equal("CRC incorrect", text.count("(incorrect)"), 1)


# --- what programs send --------------------------------------------------------------------------

# The ports are the system's choice, and may be those of another protocol.
AT_ANY_PORT = ("-o", "udp.try_heuristic_first:TRUE")

BUILD = os.environ.get("ZCRP_BUILD", "build")
BENCH = os.path.join(BUILD, "zcrp-bench")
SENT = 5_000_000


def tap(path, environment):
    """examples/tap.c sends SENT bytes to examples/receiver.c, and records them in a capture at `path`."""
    with subprocess.Popen([os.path.join(BUILD, "examples/receiver"), "127.0.0.1", "0"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE) as receiver:
        port = re.search(rb"port (\d+)", receiver.stderr.readline())[1]
        run = subprocess.run([os.path.join(BUILD, "examples/tap"), "127.0.0.1", port, path], input=bytes(SENT),
                             capture_output=True, check=False, env=os.environ | environment)
    check(f"examples/tap: {run.stderr}", run.returncode == 0 and receiver.returncode == 0)


def test_tap(path):
    """All is ZCRP and breaks no rule, and no byte is missing."""
    for environment in {}, {"ZCRP_NO_OFFLOAD": "1"}:
        tap(path, environment)
        rows = fields(path, ["frame.protocols", "zcrp.verdict", "zcrp.length", "zcrp.type"], *AT_ANY_PORT)
        kinds = {kind for row in rows for kind in row[3]}
        check(f"the tap, {environment}: not all is ZCRP", all(row[0][0].endswith("zcrp") for row in rows))
        check(f"the tap, {environment}: a datagram is malformed", not any(row[1] for row in rows))
        check(f"the tap, {environment}: types {kinds}", {"1", "2", "4", "5", "8"} <= kinds)
        check(f"the tap, {environment}: bytes", sum(int(length) for row in rows for length in row[2]) >= SENT)


def live(path, options, named):
    """What the kernel shows of a run: the bursts are not cut yet. It may drop some for itself."""
    if not capture.can_unshare():
        print("skipped, for want of the right to make a network namespace: test_live")
        return []
    run = capture.live(path, [BENCH, "--transport", "zcrp", "--size", "300K", "--count", "30", "--repeat", "1",
                              "--unit", "1472", "--quiet", *options])
    check(f"{named}: {run.stderr}", run.returncode == 0)
    rows = fields(path, ["frame.protocols", "zcrp.verdict", "zcrp.seq", "zcrp.cut", "zcrp.type",
                         "zcrp.number", "zcrp.data"], "-Y", "udp and not icmp and udp.port != 9", *AT_ANY_PORT)
    check(f"{named}: not all is ZCRP", all(row[0][0].endswith("zcrp") for row in rows))
    check(f"{named}: a datagram is malformed", not any(row[1] or row[3] for row in rows))
    units = sum(len(row[2]) for row in rows)
    check(f"{named}: {units} units in {len(rows)} packets", units > len(rows) > 0)
    return rows


def test_live(path):
    live(path, [], "live")
    rows = live(path, ["--keys"], "live, with keys")
    kinds = {kind for row in rows for kind in row[4]}
    check(f"live, with keys: types {kinds}", not rows or {"1", "4", "5", "8", "9"} <= kinds)
    check("live, with keys: numbers", not rows or any(row[5] for row in rows))
    check("live, with keys: data can be read", not any(row[6] for row in rows))


def test_live_aal5(path):
    """At the port of MPLS in UDP. Wireshark itself says that every CRC is correct."""
    if not capture.can_unshare():
        print("skipped, for want of the right to make a network namespace: test_live_aal5")
        return
    ends = f"""{BENCH} --listen 127.0.0.1:6635 --once & {BENCH} --connect 127.0.0.1:6635 --transport zcrp \\
        --channel aal5-udp --size 300K --count 30 --repeat 1 --quiet && wait $!"""
    run = capture.live(path, ["env", "ZCRP_NO_OFFLOAD=1", "sh", "-c", ends])
    check(f"live, AAL5: {run.stderr}", run.returncode == 0)
    rows = fields(path, ["zcrp.verdict", "zcrp.type", "zcrp_aal5.crc_status"], "-Y", "udp.port == 6635 and not icmp")
    status = [value for row in rows for value in row[2]]
    kinds = {kind for row in rows for kind in row[1]}
    check(f"live, AAL5: CRCs {set(status)}", status and set(status) == {"correct"})
    check("live, AAL5: a datagram is malformed", not any(row[0] for row in rows))
    check(f"live, AAL5: types {kinds}", {"1", "2", "4", "5", "8"} <= kinds)


if __name__ == "__main__":
    capture.conclude([test_vectors, test_form, test_lines, test_bundles, test_repeats, test_aal5, test_erf,
                      test_tap, test_live, test_live_aal5])
