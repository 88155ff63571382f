#!/usr/bin/env python3
"""The codec of tests/peer/peer.py, the second ZCRP: every datagram of docs/protocol.md, written from that text alone.

    python3 tests/peer/codec.py docs/vectors/datagrams.txt

compares it with the vectors: it decodes each good one to its fields, encodes these to the same bytes, and gives each
bad one its verdict.
"""
import secrets
import struct
import sys

VERSION = 2
GRAIN = 32                # bytes; unit numbers count them
TRAILER = 32              # bytes behind the body of each datagram
MASK = 2**32 - 1
LARGEST_MESSAGE = 2**37
WITHDRAWN = 2**64 - 1     # the size in a request that says: no buffer any more
SEAL = 16                 # bytes that a seal adds
FRAGMENT = 1024           # most bytes of a handshake in one datagram
STREAM = 12288            # most bytes of a handshake's stream

(UNIT, ACK, NEGATIVE_ACK, REQUEST, HELLO, PROBE, PROBE_ANSWER, COOKIE, HANDSHAKE, OFFER, CHALLENGE,
 CHALLENGE_ANSWER) = range(1, 13)
VERSION_ANSWER = 15

HAS_NEXT, IS_LAST, VOID, ANSWER, CLOSING, ECN = 1, 2, 4, 8, 16, 32
SECOND, ANSWERS, REFUSES = 1, 2, 4  # of type 9, which has flags of its own
FLAGS = {UNIT: HAS_NEXT | IS_LAST | VOID | ANSWER, ACK: CLOSING | ECN, REQUEST: ANSWER, HELLO: VOID | CLOSING,
         HANDSHAKE: SECOND | ANSWERS | REFUSES}
TOO_LARGE, CANCELLED, UNREADABLE = 1, 2, 3  # the unit number of a void unit says why

# Who says what. A connection is two pairs of them over one socket.
OF_SENDER = {UNIT, HELLO, PROBE, OFFER, CHALLENGE_ANSWER}
OF_RECEIVER = {ACK, NEGATIVE_ACK, REQUEST, PROBE_ANSWER, COOKIE, CHALLENGE}

# The first 22 bytes of each trailer. A name that begins with _ is reserved.
LAYOUT = {kind: (struct.Struct(">" + form), names.split()) for kind, form, names in [
    (UNIT, "IIIIHHh", "message unit seq next_unit length next_length next_step"),
    (ACK, "IIIHH6s", "newest delay capacity length marks _"),
    (REQUEST, "QIH8s", "nonce capacity length _"),
    (HELLO, "QQI2s", "nonce cookie requested _"),
    (PROBE, "I8sH8s", "number _ length __"),
    (PROBE_ANSWER, "II14s", "number size _"),
    (COOKIE, "QQ6s", "nonce cookie _"),
    (HANDSHAKE, "QQHHH", "nonce cookie place have_first have_second"),
    (OFFER, "QI10s", "size message _"),
    (CHALLENGE, "QI10s", "challenge moves _"),
    (CHALLENGE_ANSWER, "Q14s", "challenge _"),
]}
LAST_TEN = struct.Struct(">IIBB")  # session, tag, flags, version and type
RUN = struct.Struct(">IIQ")


def nearest(wire, reference):
    """The number nearest to the reference whose low 32 bits are the wire's; may be below 0."""
    step = (wire - reference) & MASK
    return reference + step - (step >> 31 << 32)


def drawn(bits):
    """A random number that nobody can compute; never 0."""
    return secrets.randbits(bits) or 1


def backed_off(wait, times, most):
    return max(wait, min(wait * 2**min(times, 30), most))


class Rejected(Exception):
    """The verdict on a datagram that is dropped: short, version, type or malformed."""


class Datagram:
    """One datagram: type, pairing, flags, and the fields of its trailer as attributes. An acknowledgement has a list
    of bounds, a request a list of runs (first, count, size), all others the bytes of a body."""

    def __init__(self, kind, session=0, tag=0, flags=0, body=b"", **fields):
        self.kind, self.session, self.tag, self.flags, self.body = kind, session, tag, flags, body
        self.bounds, self.runs = [], []
        if kind in LAYOUT:
            self.__dict__.update(dict.fromkeys(LAYOUT[kind][1], 0))
        self.__dict__.update(fields)

    @property
    def pairing(self):
        return self.session, self.tag


def encode(d):
    if d.kind == VERSION_ANSWER:
        return LAST_TEN.pack(d.session, d.tag, d.flags, d.version << 4 | VERSION_ANSWER)
    kind, body = d.kind, d.body
    if kind == ACK:
        d.length = max(len(d.bounds) - 1, 0)
        body = struct.pack(f">{len(d.bounds)}I", *(bound & MASK for bound in d.bounds))
    elif kind == REQUEST:
        d.length = len(d.runs)
        body = b"".join(RUN.pack(first & MASK, count, size) for first, count, size in d.runs)
    elif kind in (UNIT, PROBE):
        d.length = len(body)
    form, names = LAYOUT[kind]
    trailer = form.pack(*(b"" if name[0] == "_" else getattr(d, name) for name in names))
    if kind == ACK and d.length and d.length % 2 == 0:
        kind = NEGATIVE_ACK  # the last interval is positive, so the length says what the first is
    return body + trailer + LAST_TEN.pack(d.session, d.tag, d.flags, VERSION << 4 | kind)


def decode(data, expected):
    """The datagram, or Rejected with the first verdict that holds (Verdicts)."""
    if expected == {VERSION_ANSWER} and len(data) == LAST_TEN.size:
        session, tag, flags, last = LAST_TEN.unpack(data)
        if last & 15 == VERSION_ANSWER and flags == 0 and tag:
            return Datagram(VERSION_ANSWER, session, tag, version=last >> 4)
    if len(data) < TRAILER:
        raise Rejected("short")
    if data[-1] >> 4 != VERSION:
        raise Rejected("version")
    wire_kind = data[-1] & 15
    if wire_kind not in expected:
        raise Rejected("type")
    session, tag, flags, _ = LAST_TEN.unpack(data[-LAST_TEN.size:])
    kind = ACK if wire_kind == NEGATIVE_ACK else wire_kind
    d = Datagram(kind, session, tag, flags, bytes(data[:-TRAILER]))
    if kind not in LAYOUT:
        raise Rejected("malformed")
    form, names = LAYOUT[kind]
    d.__dict__.update(zip(names, form.unpack(data[-TRAILER:-LAST_TEN.size])))
    least, most = body_bytes(d)
    if len(d.body) < least:
        raise Rejected("short")
    if len(d.body) > most or tag == 0 or flags & ~FLAGS.get(kind, 0) or any(
            any(getattr(d, name)) for name in names if name[0] == "_") or not is_sound(d, wire_kind):
        raise Rejected("malformed")
    return d


def body_bytes(d):
    """How many bytes the body has, at least and at most, by what the trailer says."""
    if d.kind == HANDSHAKE:
        seal = SEAL if d.flags & SECOND else 0
        return seal, seal + (0 if d.flags & REFUSES else FRAGMENT)
    length = getattr(d, "length", 0)
    if d.kind == ACK:
        length = 4 * (length + 1) if length else 0
    elif d.kind == REQUEST:
        length *= RUN.size
    return length, length


def is_sound(d, wire_kind):
    """Does the datagram keep all other rules of its type?"""
    if d.kind == HANDSHAKE:
        return d.session == 0 and d.nonce and d.place % FRAGMENT == 0 and d.place < STREAM
    if d.kind == COOKIE:
        return d.nonce and d.cookie
    if d.kind == HELLO:
        if d.nonce:  # it asks
            return d.requested == 0 and d.flags == 0
        return d.session and d.cookie == 0 and d.flags != VOID
    if d.session == 0:
        return False
    if d.kind == UNIT:
        return is_sound_unit(d)
    if d.kind == ACK:
        d.bounds = [bound for bound, in struct.iter_unpack(">I", d.body)]
        steps = [(b - a) & MASK for a, b in zip(d.bounds, d.bounds[1:])]
        if d.length == 0:
            return wire_kind == ACK and d.newest == 0
        return (wire_kind == (ACK if d.length % 2 else NEGATIVE_ACK) and all(steps) and sum(steps) < 2**31
                and d.bounds[-1] == (d.newest + 1) & MASK)
    if d.kind == REQUEST:
        d.runs = list(RUN.iter_unpack(d.body))
        return all(count for _, count, _ in d.runs)
    if d.kind == OFFER:
        return d.size <= LARGEST_MESSAGE
    return d.kind != CHALLENGE_ANSWER or d.challenge


def is_sound_unit(d):
    has_next, is_last, is_void = d.flags & HAS_NEXT, d.flags & IS_LAST, d.flags & VOID
    if d.length > 65504 or d.next_length > 65504 and has_next:
        return False
    if not is_last and (d.length == 0 or d.length % GRAIN):
        return False
    if is_void and (d.length or not is_last or d.unit not in (TOO_LARGE, CANCELLED, UNREADABLE)):
        return False
    if is_void and d.unit == TOO_LARGE:  # the fields of the forecast have the message's size
        return not has_next and d.next_step == 0 and 1 <= void_size(d) <= LARGEST_MESSAGE
    return has_next or d.next_unit == d.next_length == d.next_step == 0


def void_size(d):
    return d.next_length << 32 | d.next_unit


# ---- docs/vectors

KINDS = {"unit": UNIT, "ack": ACK, "request": REQUEST, "hello": HELLO, "cookie": COOKIE, "offer": OFFER, "probe": PROBE,
         "answer": PROBE_ANSWER, "challenge": CHALLENGE, "challenge_answer": CHALLENGE_ANSWER, "handshake": HANDSHAKE,
         "version": VERSION_ANSWER}


def value_of(name, text):
    """A number, the bounds of an acknowledgement, or the runs of a request."""
    if name == "bounds":
        return [int(part) for part in text.split(",") if part]
    if name == "runs":
        return [tuple(WITHDRAWN if word == "withdrawn" else int(word) for word in part.split(":"))
                for part in text.split(",") if part]
    return int(text, 0)


def bytes_of(text):
    pieces = [piece.partition("*") for piece in text.split("+")] if text != "-" else []
    return b"".join(bytes.fromhex(piece) * int(times or 1) for piece, _, times in pieces)


def complaint(kind, fields, data):
    """The fault of the codec that one vector shows, or None."""
    try:
        d = decode(data, {ACK, NEGATIVE_ACK} if kind == ACK else {kind})
    except Rejected as verdict:
        return None if fields == {"reject": str(verdict)} else f"rejected as {verdict}"
    if "reject" in fields:
        return "accepted"
    if kind == HANDSHAKE:
        d.length = len(d.body)
    for name, text in fields.items():
        if getattr(d, name) != value_of(name, text):
            return f"{name} is {getattr(d, name)}"
    return None if encode(d) == data else "it encodes otherwise"


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: codec.py VECTORS")
    with open(sys.argv[1], encoding="utf-8") as lines:
        vectors = [line.split() for line in lines if line.strip() and line[0] != "#"]
    wrong = [f"{name}: {why}" for name, kind, *fields, data in vectors
             if (why := complaint(KINDS[kind], dict(field.split("=") for field in fields), bytes_of(data)))]
    print(*wrong, f"{len(vectors) - len(wrong)} of {len(vectors)} vectors", sep="\n")
    sys.exit(bool(wrong) or not vectors)


if __name__ == "__main__":
    main()
