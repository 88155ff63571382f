"""What is sealed, by another library: docs/vectors/sealed.txt, written from docs/protocol.md alone.

    python3 tests/python/sealed_test.py --write    makes the file anew
"""

import hashlib
import hmac
import os
import sys
import unittest

try:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
except ImportError:
    AESGCM = None

VECTORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "vectors",
                       "sealed.txt")
EPOCH_BITS = 22
TAG, TAIL, TRAILER = 16, 10, 32
KEY_BYTES = {"aes": 16, "chacha": 32}
LABELS = {"unit": "zcrp unit", "sender": "zcrp sender", "receiver": "zcrp receiver"}
HEAD = """\
# Test vectors for what ZCRP seals. docs/protocol.md, "Keys", is the standard.
#
# One vector a line: name, then
#
# kind    unit; sender: a control datagram of the sender; receiver: one of the receiver
# cipher  aes: AEAD_AES_128_GCM; chacha: AEAD_CHACHA20_POLY1305
# secret  application traffic secret 0 of the side that sends it
# number  of the nonce: of a unit its sequence number
# plain   the datagram before it is sealed
# sealed  the datagram that crosses
"""


def expand(secret, label, size):
    """HKDF-Expand-Label of RFC 8446, 7.1, with SHA-256 and an empty context."""
    name = b"tls13 " + label.encode()
    info = size.to_bytes(2, "big") + bytes([len(name)]) + name + b"\0"
    block = result = b""
    while len(result) < size:
        block = hmac.new(secret, block + info + bytes([len(result) // 32 + 1]),
                         hashlib.sha256).digest()
        result += block
    return result[:size]


def key_of(kind, cipher, secret, number):
    """The cipher and the nonce."""
    secret = expand(secret, LABELS[kind], 32)
    for _ in range(number >> EPOCH_BITS):
        secret = expand(secret, "zcrp ku", 32)
    key = expand(secret, "zcrp key", KEY_BYTES[cipher])
    iv = int.from_bytes(expand(secret, "zcrp iv", 12), "big")
    aead = AESGCM(key) if cipher == "aes" else ChaCha20Poly1305(key)
    return aead, (iv ^ number).to_bytes(12, "big")


def with_epoch(end, number):
    """The last bytes of a datagram, with the epoch in its flags."""
    flags = end[-2] | (number >> EPOCH_BITS & 3) << 6
    return end[:-2] + bytes([flags]) + end[-1:]


def without_epoch(end):
    return end[:-2] + bytes([end[-2] & 63]) + end[-1:]


def seal(kind, cipher, secret, number, plain):
    aead, nonce = key_of(kind, cipher, secret, number)
    behind = TRAILER if kind == "unit" else TAIL
    bound = with_epoch(plain[-behind:], number)
    if kind != "unit":
        bound = number.to_bytes(8, "big") + bound
    return aead.encrypt(nonce, plain[:-behind], bound) + bound


def open_sealed(kind, cipher, secret, number, sealed):
    """The plain datagram; raises InvalidTag."""
    aead, nonce = key_of(kind, cipher, secret, number)
    bound = sealed[-(TRAILER if kind == "unit" else TAIL + 8):]
    text = aead.decrypt(nonce, sealed[:-len(bound)], bound)
    return text + without_epoch(bound if kind == "unit" else bound[8:])


def pairing_of(secret):
    return expand(secret, "zcrp pairing", 8)


# --- the file ---------------------------------------------------------------------------------


def unit(secret, number, data, flags):
    trailer = (b"\0\0\0\7" + b"\0\0\0\0" + (number & 0xFFFFFFFF).to_bytes(4, "big") + bytes(4)
               + len(data).to_bytes(2, "big") + bytes(4))
    return data + trailer + pairing_of(secret) + bytes([flags, 0x21])


def hello(secret, requested):
    return bytes(16) + requested.to_bytes(4, "big") + bytes(2) + pairing_of(secret) + b"\0\x25"


def acknowledgement(secret):
    bounds = bytes(4) + (5).to_bytes(4, "big")
    trailer = (4).to_bytes(4, "big") + bytes(4) + (1 << 20).to_bytes(4, "big") + b"\0\1" + bytes(8)
    return bounds + trailer + pairing_of(secret) + b"\x20\x22"


def make():
    secret = hashlib.sha256(b"a secret for vectors").digest()
    data = bytes(range(64))
    for cipher in ("aes", "chacha"):
        yield f"{cipher}-unit", "unit", cipher, secret, 0, unit(secret, 0, data, 0)
        yield f"{cipher}-unit-empty", "unit", cipher, secret, 9, unit(secret, 9, b"", 2)
        yield f"{cipher}-unit-odd", "unit", cipher, secret, 77, unit(secret, 77, b"odd", 2)
        for epoch in (1, 3):
            number = (epoch << EPOCH_BITS) + 5
            yield (f"{cipher}-unit-epoch-{epoch}", "unit", cipher, secret, number,
                   unit(secret, number, data, 8))
        yield f"{cipher}-hello", "sender", cipher, secret, 3, hello(secret, 12)
        yield (f"{cipher}-hello-next-epoch", "sender", cipher, secret, 1 << EPOCH_BITS,
               hello(secret, 13))
        yield f"{cipher}-acknowledgement", "receiver", cipher, secret, 3, acknowledgement(secret)


def write():
    with open(VECTORS, "w", encoding="ascii") as file:
        file.write(HEAD)
        for name, kind, cipher, secret, number, plain in make():
            sealed = seal(kind, cipher, secret, number, plain)
            file.write(f"{name} kind={kind} cipher={cipher} secret={secret.hex()} number={number} "
                       f"plain={plain.hex()} sealed={sealed.hex()}\n")


def read():
    with open(VECTORS, encoding="ascii") as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith("#")]
    for name, *fields in lines:
        f = dict(field.split("=") for field in fields)
        yield (name, f["kind"], f["cipher"], bytes.fromhex(f["secret"]), int(f["number"]),
               bytes.fromhex(f["plain"]), bytes.fromhex(f["sealed"]))


@unittest.skipIf(AESGCM is None, "python3-cryptography is not installed")
class Sealed(unittest.TestCase):
    def test_vectors_open_and_seal(self):
        count = 0
        for name, kind, cipher, secret, number, plain, sealed in read():
            with self.subTest(name):
                self.assertEqual(open_sealed(kind, cipher, secret, number, sealed), plain)
                self.assertEqual(seal(kind, cipher, secret, number, plain), sealed)
                self.assertEqual(plain[-10:-2], pairing_of(secret))
            count += 1
        self.assertGreaterEqual(count, 16)

    def test_each_byte_counts(self):
        _, kind, cipher, secret, number, _, sealed = next(read())
        for i in range(len(sealed)):
            changed = sealed[:i] + bytes([sealed[i] ^ 1]) + sealed[i + 1:]
            with self.assertRaises(InvalidTag):
                open_sealed(kind, cipher, secret, number, changed)

    def test_rfc_8448(self):
        secret = bytes.fromhex("b67b7d690cc16c4e75e54213cb2d37b4e9c912bcded9105d42befd59d391ad38")
        self.assertEqual(expand(secret, "key", 16).hex(), "3fce516009c21727d0f2e4e86ee403bc")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    else:
        unittest.main()
