#!/usr/bin/env python3
"""A second codec for the datagrams of ZCRP, written from docs/protocol.md alone.

    python3 tools/codec.py docs/vectors/datagrams.txt

checks each vector in both directions: the bytes decode to the fields (or earn the verdict), and the
fields encode to the bytes. Prints what fails and one line of summary; exits 1 if anything failed.
The head of the vector file describes its format.
"""

import sys

VERSION = 1
GRAIN = 32
UNIT_DATA_MAX = 65504
HAS_NEXT, IS_LAST, VOID, ANSWER, CLOSING, ECN = 1, 2, 4, 8, 16, 32
WITHDRAWN = 2**64 - 1

# name and bytes of each field, in the order of the document's tables
TAIL = [("session", 4), ("tag", 2), ("flags", 1), ("kind", 1)]
UNIT = [("message", 4), ("unit", 4), ("seq", 4), ("next_message", 4), ("next_unit", 4),
        ("length", 2), ("next_length", 2)] + TAIL
CONTROL = [("first", 4), ("second", 4), ("capacity", 4), ("length", 2), ("marks", 2)] + TAIL

LAYOUT = {"unit": UNIT, "ack": CONTROL, "request": CONTROL, "hello": CONTROL, "probe": CONTROL,
          "answer": CONTROL}
TYPES = {"unit": (1,), "ack": (2, 3), "request": (4,), "hello": (5,), "probe": (6,), "answer": (7,)}
WITH_DATA = ("unit", "probe")

# what a vector calls the fields of the control trailer; fields that are not here must be 0
CONTROL_NAMES = {
    "ack": {"newest": "first", "delay": "second", "capacity": "capacity", "length": "length",
            "marks": "marks"},
    "request": {"capacity": "capacity", "length": "length"},
    "hello": {"requested": "first"},
    "probe": {"number": "first", "length": "length"},
    "answer": {"number": "first", "size": "second"},
}
FLAGS = {"unit": HAS_NEXT | IS_LAST | VOID | ANSWER, "ack": CLOSING | ECN, "request": 0,
         "hello": CLOSING, "probe": 0, "answer": 0}


class Rejected(Exception):
    """Carries the verdict."""


def require(condition, verdict="malformed"):
    if not condition:
        raise Rejected(verdict)


def size_of(layout):
    return sum(size for _, size in layout)


def unpack(layout, data):
    """The fields of `data`, which has exactly their size."""
    fields, at = {}, 0
    for name, size in layout:
        fields[name] = int.from_bytes(data[at:at + size], "big")
        at += size
    return fields


def pack(layout, fields):
    return b"".join(fields.get(name, 0).to_bytes(size, "big") for name, size in layout)


# --- decoding ---------------------------------------------------------------------------------


def body_bytes(asked, length):
    if asked in WITH_DATA:
        return length
    if asked == "ack":
        return 4 * (length + 1) if length > 0 else 0
    return 16 * length if asked == "request" else 0


def split(asked, datagram):
    """Verdicts 1 to 5 in their order; then the body and the trailer's fields."""
    layout = LAYOUT[asked]
    require(len(datagram) >= size_of(layout), "short")
    at = len(datagram) - size_of(layout)
    body, trailer = datagram[:at], unpack(layout, datagram[at:])
    version, kind = divmod(trailer["kind"], 16)
    require(version == VERSION, "version")
    require(kind in TYPES[asked], "type")
    trailer["kind"] = kind
    # the length of a hello or an answer is reserved and claims no body
    claimed = body_bytes(asked, trailer["length"])
    require(len(body) >= claimed, "short")
    require(len(body) == claimed)
    return body, trailer


def check_unit(body, t):
    has_next, is_last, is_void = (bool(t["flags"] & f) for f in (HAS_NEXT, IS_LAST, VOID))
    require(t["session"] != 0 and t["tag"] != 0)
    require(t["length"] <= UNIT_DATA_MAX)
    require(is_last or (t["length"] > 0 and t["length"] % GRAIN == 0))
    require(has_next or t["next_message"] == t["next_unit"] == t["next_length"] == 0)
    require(t["next_length"] <= UNIT_DATA_MAX)
    require(not is_void or (is_last and t["length"] == 0 and t["unit"] in (1, 2)))


def check_ack(body, t):
    require(t["session"] != 0)
    length = t["length"]
    require(t["kind"] == (2 if length % 2 == 1 or length == 0 else 3))
    bounds = [int.from_bytes(body[at:at + 4], "big") for at in range(0, len(body), 4)]
    steps = [(b - a) % 2**32 for a, b in zip(bounds, bounds[1:])]
    require(all(steps) and sum(steps) < 2**31)
    require(t["first"] == ((bounds[-1] - 1) % 2**32 if bounds else 0))
    t["bounds"] = bounds


def check_request(body, t):
    require(t["session"] != 0 and t["first"] == 0 and t["second"] == 0)
    run = [("first", 4), ("count", 4), ("size", 8)]
    runs = [unpack(run, body[at:at + 16]) for at in range(0, len(body), 16)]
    require(all(r["count"] != 0 for r in runs))
    t["runs"] = runs


def check_hello(body, t):
    require(t["tag"] != 0 and t["second"] == 0 and t["capacity"] == 0 and t["length"] == 0)


def check_probe(body, t):
    require(t["session"] != 0 and t["tag"] != 0 and t["second"] == 0 and t["capacity"] == 0)


def check_answer(body, t):
    require(t["session"] != 0 and t["tag"] != 0 and t["capacity"] == 0 and t["length"] == 0)


CHECKS = {"unit": check_unit, "ack": check_ack, "request": check_request, "hello": check_hello,
          "probe": check_probe, "answer": check_answer}


def decode(asked, datagram):
    """The fields under the names that the vectors use; raises Rejected."""
    body, trailer = split(asked, datagram)
    require(trailer["flags"] & ~FLAGS[asked] == 0)
    require(asked == "ack" or trailer.get("marks", 0) == 0)
    CHECKS[asked](body, trailer)
    names = CONTROL_NAMES.get(asked, {name: name for name, _ in UNIT})
    fields = {ours: trailer[theirs] for ours, theirs in names.items()}
    fields.update((name, trailer[name]) for name in ("session", "tag", "flags"))
    fields.update((name, trailer[name]) for name in ("bounds", "runs") if name in trailer)
    fields.pop("kind", None)
    return fields


# --- encoding ---------------------------------------------------------------------------------


def encode_body(asked, fields, data):
    if asked in WITH_DATA:
        return data
    if asked == "ack":
        return b"".join(bound.to_bytes(4, "big") for bound in fields["bounds"])
    if asked == "request":
        return b"".join(pack([("first", 4), ("count", 4), ("size", 8)], r) for r in fields["runs"])
    return b""


def encode(asked, fields, data=b""):
    """The datagram with these fields; `data` is what a unit or a probe carries."""
    names = CONTROL_NAMES.get(asked, {})
    trailer = {names.get(name, name): value for name, value in fields.items()}
    kind = TYPES[asked][0]
    if asked == "ack" and fields["length"] > 0 and fields["length"] % 2 == 0:
        kind = 3
    trailer["kind"] = VERSION << 4 | kind
    return encode_body(asked, fields, data) + pack(LAYOUT[asked], trailer)


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
