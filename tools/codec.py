#!/usr/bin/env python3
"""A second codec for the datagrams of ZCRP, written from docs/protocol.md alone.

    python3 tools/codec.py docs/vectors/datagrams.txt

checks each vector in both directions: the bytes decode to the fields (or earn the verdict), and the
fields encode to the bytes. Prints what fails and one line of summary; exits 1 if anything failed.
The head of the vector file describes its format.
"""

import sys

VERSION = 2
GRAIN = 32
TRAILER_BYTES = 32
TAIL_BYTES = 10
UNIT_DATA_MAX = 65504
HAS_NEXT, IS_LAST, VOID, ANSWER, CLOSING, ECN = 1, 2, 4, 8, 16, 32
SECOND, ANSWERS, REFUSES = 1, 2, 4
FRAGMENT, STREAM, TAG = 1024, 12288, 16  # of a handshake's bytes
WITHDRAWN = 2**64 - 1
VOID_REASONS = (1, 2, 3)
TOO_LARGE = 1
MESSAGE_BYTES_MAX = 2**37

# The fields of the document's tables in their order, each with its type; reserved ones with their
# number of bytes.
TAIL = " session:u32 tag:u32 flags:u8 last:u8"
TRAILERS = {
    "unit": "message:u32 unit:u32 seq:u32 next_unit:u32 length:u16 next_length:u16 next_step:i16",
    "ack": "newest:u32 delay:u32 capacity:u32 length:u16 marks:u16 reserved:6",
    "request": "nonce:u64 capacity:u32 length:u16 reserved:8",
    "hello": "nonce:u64 cookie:u64 requested:u32 reserved:2",
    "cookie": "nonce:u64 cookie:u64 reserved:6",
    "offer": "size:u64 message:u32 reserved:10",
    "challenge": "challenge:u64 moves:u32 reserved:10",
    "challenge_answer": "challenge:u64 reserved:14",
    "probe": "number:u32 reserved:4 reserved:4 length:u16 reserved:8",
    "answer": "number:u32 size:u32 reserved:4 reserved:2 reserved:8",
    "handshake": "nonce:u64 cookie:u64 place:u16 have_first:u16 have_second:u16",
}
RUN = "first:u32 count:u32 size:u64"
WIDTHS = {"u8": 1, "u16": 2, "i16": 2, "u32": 4, "u64": 8}

TYPES = {"unit": (1,), "ack": (2, 3), "request": (4,), "hello": (5,), "probe": (6,), "answer": (7,),
         "cookie": (8,), "handshake": (9,), "offer": (10,),
         "challenge": (11,), "challenge_answer": (12,), "version": (15,)}
FLAGS = {"unit": HAS_NEXT | IS_LAST | VOID | ANSWER, "ack": CLOSING | ECN, "request": ANSWER,
         "hello": CLOSING | VOID, "handshake": SECOND | ANSWERS | REFUSES}
WITHOUT_SESSION = ("hello", "cookie", "handshake")
WITH_DATA = ("unit", "probe", "handshake")


class Rejected(Exception):
    """Carries the verdict."""


def require(condition, verdict="malformed"):
    if not condition:
        raise Rejected(verdict)


# --- layouts ----------------------------------------------------------------------------------


def fields_of(layout):
    """Name, bytes and sign of each field."""
    for word in layout.split():
        name, kind = word.split(":")
        yield name, WIDTHS.get(kind) or int(kind), kind.startswith("i")


def unpack(layout, data):
    """The fields of `data`, which has exactly their size. `reserved` is 0 if all such fields are."""
    fields, at = {"reserved": 0}, 0
    for name, size, is_signed in fields_of(layout):
        value = int.from_bytes(data[at:at + size], "big", signed=is_signed)
        fields[name] = value | (fields["reserved"] if name == "reserved" else 0)
        at += size
    return fields


def pack(layout, fields):
    return b"".join(fields.get(name, 0).to_bytes(size, "big", signed=is_signed)
                    for name, size, is_signed in fields_of(layout))


# --- decoding ---------------------------------------------------------------------------------


def body_bytes(asked, trailer):
    if asked in WITH_DATA:
        return trailer["length"]
    if asked == "ack":
        return 4 * (trailer["length"] + 1) if trailer["length"] > 0 else 0
    return 16 * trailer["length"] if asked == "request" else 0


def judge_type(asked, datagram):
    """Verdicts 1 to 3 in their order; the type."""
    require(len(datagram) >= TRAILER_BYTES, "short")
    version, kind = divmod(datagram[-1], 16)
    require(version == VERSION, "version")
    require(kind in TYPES[asked], "type")
    return kind


def split(asked, datagram):
    """Verdicts 1 to 5 in their order; then the body and the trailer's fields."""
    kind = judge_type(asked, datagram)
    body, trailer = datagram[:-TRAILER_BYTES], datagram[-TRAILER_BYTES:]
    trailer = unpack(TRAILERS[asked] + TAIL, trailer)
    trailer["kind"] = kind
    if asked == "handshake":  # it has as many bytes as there are
        trailer["length"] = max(len(body), TAG if trailer["flags"] & SECOND else 0)
    claimed = body_bytes(asked, trailer)
    require(len(body) >= claimed, "short")
    require(len(body) == claimed)
    return body, trailer


def check_unit(_, t):
    has_next, is_last, is_void = (bool(t["flags"] & f) for f in (HAS_NEXT, IS_LAST, VOID))
    require(t["length"] <= UNIT_DATA_MAX)
    require(is_last or (t["length"] > 0 and t["length"] % GRAIN == 0))
    if is_void and t["unit"] == TOO_LARGE:
        size = t["next_length"] * 2**32 + t["next_unit"]
        require(not has_next and t["next_step"] == 0 and 1 <= size <= MESSAGE_BYTES_MAX)
    else:
        require(has_next or t["next_unit"] == t["next_length"] == t["next_step"] == 0)
        require(t["next_length"] <= UNIT_DATA_MAX)
    require(not is_void or (is_last and t["length"] == 0 and t["unit"] in VOID_REASONS))


def check_ack(body, t):
    length = t["length"]
    require(t["kind"] == (2 if length % 2 == 1 or length == 0 else 3))
    bounds = [int.from_bytes(body[at:at + 4], "big") for at in range(0, len(body), 4)]
    steps = [(b - a) % 2**32 for a, b in zip(bounds, bounds[1:])]
    require(all(steps) and sum(steps) < 2**31)
    require(t["newest"] == ((bounds[-1] - 1) % 2**32 if bounds else 0))
    t["bounds"] = bounds


def check_request(body, t):
    runs = [unpack(RUN, body[at:at + 16]) for at in range(0, len(body), 16)]
    require(all(run["count"] != 0 for run in runs))
    t["runs"] = [{name: run[name] for name in ("first", "count", "size")} for run in runs]


def check_hello(_, t):
    require(not t["flags"] & VOID or t["flags"] & CLOSING)
    if t["nonce"] != 0:
        require(t["requested"] == 0 and t["flags"] == 0)
    else:
        require(t["cookie"] == 0 and t["session"] != 0)


def check_cookie(_, t):
    require(t["nonce"] != 0 and t["cookie"] != 0)


def check_offer(_, t):
    require(t["size"] <= MESSAGE_BYTES_MAX)


def check_challenge_answer(_, t):
    require(t["challenge"] != 0)


def check_handshake(_, t):
    count = t["length"] - (TAG if t["flags"] & SECOND else 0)
    require(t["session"] == 0 and t["nonce"] != 0)
    require(count <= FRAGMENT and t["place"] % FRAGMENT == 0 and t["place"] < STREAM)
    require(count == 0 or not t["flags"] & REFUSES)


CHECKS = {"unit": check_unit, "ack": check_ack, "request": check_request, "hello": check_hello,
          "cookie": check_cookie, "offer": check_offer, "challenge_answer": check_challenge_answer,
          "handshake": check_handshake}


def decode_version_answer(datagram):
    """What is not one gets the verdict of any other datagram, in the order of the table."""
    tail = unpack(TAIL, datagram[-TAIL_BYTES:])
    version, kind = divmod(tail["last"], 16)
    if len(datagram) == TAIL_BYTES and kind in TYPES["version"] and tail["flags"] == 0 and tail["tag"]:
        return {"version": version, "session": tail["session"], "tag": tail["tag"], "flags": 0}
    judge_type("version", datagram)
    raise Rejected("malformed")


def decode(asked, datagram):
    """The fields under the names that the vectors use; raises Rejected."""
    if asked == "version":
        return decode_version_answer(datagram)
    body, t = split(asked, datagram)
    require(t["tag"] != 0 and (t["session"] != 0 or asked in WITHOUT_SESSION))
    require(t["flags"] & ~FLAGS.get(asked, 0) == 0)
    require(t["reserved"] == 0)
    CHECKS.get(asked, lambda *_: None)(body, t)
    return {name: value for name, value in t.items() if name not in ("reserved", "last", "kind")}


# --- encoding ---------------------------------------------------------------------------------


def encode_body(asked, fields, data):
    if asked in WITH_DATA:
        return data
    if asked == "ack":
        return b"".join(bound.to_bytes(4, "big") for bound in fields["bounds"])
    return b"".join(pack(RUN, run) for run in fields["runs"]) if asked == "request" else b""


def encode(asked, fields, data=b""):
    """The datagram with these fields; `data` is what a unit, a probe or a handshake carries."""
    kind = TYPES[asked][0]
    if asked == "ack" and fields["length"] > 0 and fields["length"] % 2 == 0:
        kind = 3
    last = fields.get("version", VERSION) << 4 | kind
    layout = TRAILERS.get(asked, "") + TAIL
    return encode_body(asked, fields, data) + pack(layout, {**fields, "last": last})


# --- vectors ----------------------------------------------------------------------------------


def parse_hex(text):
    """`0a0b+ff*3` is 0a 0b ff ff ff; `-` is nothing."""
    data = b""
    for piece in text.split("+") if text != "-" else []:
        digits, _, times = piece.partition("*")
        data += bytes.fromhex(digits) * int(times or 1)
    return data


def parse_run(text):
    first, count, size = text.split(":")
    size = WITHDRAWN if size == "withdrawn" else int(size)
    return {"first": int(first), "count": int(count), "size": size}


def parse_field(word):
    name, _, text = word.partition("=")
    values = text.split(",") if text else []
    if name == "bounds":
        return name, [int(value) for value in values]
    if name == "runs":
        return name, [parse_run(value) for value in values]
    return name, int(text, 0)


def judge(asked, datagram):
    try:
        return "accepted", decode(asked, datagram)
    except Rejected as rejected:
        return str(rejected), None


def check_vector(line):
    """None, or what is wrong with it."""
    _, asked, *words, text = line.split()
    datagram = parse_hex(text)
    verdict, fields = judge(asked, datagram)
    if words[0].startswith("reject="):
        expected = words[0].partition("=")[2]
        return None if verdict == expected else f"{verdict}, not {expected}"
    expected = dict(parse_field(word) for word in words)
    if fields != expected:
        return f"{verdict}: decodes to {fields}"
    data = datagram[:expected["length"]] if asked in WITH_DATA else b""
    if encode(asked, expected, data) != datagram:
        return f"encodes to {encode(asked, expected, data).hex()}"
    return None


def main(path):
    with open(path, encoding="ascii") as file:
        lines = [line for line in file if line.strip() and not line.startswith("#")]
    failed = 0
    for line in lines:
        trouble = check_vector(line)
        if trouble:
            failed += 1
            print(f"{line.split()[0]}: {trouble}")
    print(f"codec: {len(lines)} vectors, {failed} failed")
    return 1 if failed or not lines else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
