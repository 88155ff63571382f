"""The handshake of TLS 1.3 (RFC 8446) with a pre-shared key, as messages without records, for tests/peer/peer.py.

It stands in for a library: Python's ssl has no pre-shared keys in TLS 1.3, and no handshake without records. It has
psk_dhe_ke with X25519 and SHA-256 alone. It needs the package `cryptography`.
"""
import collections
import hashlib
import hmac
import os
import struct

CLIENT_HELLO, SERVER_HELLO, ENCRYPTED_EXTENSIONS, FINISHED = 1, 2, 8, 20
GROUPS, PRE_SHARED_KEY, VERSIONS, KEY_MODES, KEY_SHARE, CREDIT = 10, 41, 43, 45, 51, 0xFF5A  # extensions
X25519 = b"\0\x1d"
SUITES = {0x1301: "aes", 0x1303: "chacha"}  # TLS_AES_128_GCM_SHA256, TLS_CHACHA20_POLY1305_SHA256


def mac(key, data):
    return hmac.digest(key, data, "sha256")  # HKDF-Extract, too


def expand(secret, label, context=b"", length=32):
    """HKDF-Expand-Label with SHA-256. One block is enough for 32 bytes."""
    label = b"tls13 " + label.encode()
    return mac(secret, struct.pack(">H", length) + sized(1, label) + sized(1, context) + b"\1")[:length]


def digest(data):
    return hashlib.sha256(data).digest()


def sized(width, data):
    return len(data).to_bytes(width, "big") + data


class HandshakeFailed(Exception):
    """The peer's message is wrong, or it does not have the key."""


class Reader:
    """Reads a message of TLS from its beginning; if something is missing the handshake fails."""

    def __init__(self, data):
        self.data = data

    def take(self, count):
        taken, self.data = self.data[:count], self.data[count:]
        if len(taken) < count:
            raise HandshakeFailed
        return taken

    def number(self, width):
        return int.from_bytes(self.take(width), "big")

    def sized(self, width):
        return Reader(self.take(self.number(width)))

    def extensions(self):
        inner, found = self.sized(2), collections.defaultdict(lambda: Reader(b""))
        while inner.data:
            kind = inner.number(2)
            found[kind] = inner.sized(2)
        return found


class Tls:
    """One side of the handshake: psk_dhe_ke with an external pre-shared key, X25519 and SHA-256."""

    def __init__(self, is_client, identity, key, gives=None):
        """`gives`: what a server that has credit for its client says to that, a count of buffers and their size."""
        from cryptography.hazmat.primitives import serialization  # only keys need that package
        from cryptography.hazmat.primitives.asymmetric import x25519
        self.is_client, self.identity, self.early = is_client, identity, mac(bytes(32), key)
        self.gives, self.credit = gives, (0, 0)  # credit: what the client was given
        self.private, self.public_key = x25519.X25519PrivateKey.generate(), x25519.X25519PublicKey
        raw = serialization.Encoding.Raw, serialization.PublicFormat.Raw
        self.share = X25519 + sized(2, self.private.public_key().public_bytes(*raw))
        self.talk = b""          # every message so far
        self.out = [b"", b""]    # what this side says on the first and the second level
        self.suite, self.is_done = None, False
        self.secrets = {}        # (whether the client's, level): 1 of the handshake, 2 of what follows it
        if is_client:
            self.say(0, CLIENT_HELLO, self.client_hello())

    def say(self, level, kind, body):
        message = bytes([kind]) + sized(3, body)
        self.talk += message
        self.out[level] += message

    def client_hello(self):
        extensions = [(VERSIONS, sized(1, b"\3\4")), (GROUPS, sized(2, X25519)), (KEY_SHARE, sized(2, self.share)),
                      (KEY_MODES, sized(1, b"\1")), (CREDIT, b""),
                      (PRE_SHARED_KEY, sized(2, sized(2, self.identity) + bytes(4)) + sized(2, sized(1, bytes(32))))]
        body = (b"\3\3" + os.urandom(32) + sized(1, b"") + sized(2, struct.pack(">2H", *SUITES)) + b"\1\0" + sized(
            2, b"".join(struct.pack(">H", kind) + sized(2, data) for kind, data in extensions)))
        return body[:-32] + self.binder((bytes([CLIENT_HELLO]) + sized(3, body))[:-35])

    def binder(self, hello):
        """Shows that a ClientHello comes from an owner of the key: over all of it but the binders."""
        return self.finished(expand(self.early, "ext binder", digest(b"")), hello)

    @staticmethod
    def finished(secret, talk):
        return mac(expand(secret, "finished"), digest(talk))

    def on_message(self, level, message):
        """Takes a message of the peer; HandshakeFailed if it is wrong."""
        reader, kind = Reader(message[4:]), (level, message[0], self.is_client)
        if kind == (0, CLIENT_HELLO, False) and not self.talk:
            self.on_client_hello(reader, message)
        elif kind == (0, SERVER_HELLO, True) and not self.suite:
            self.on_server_hello(reader, message)
        elif kind == (1, ENCRYPTED_EXTENSIONS, True):
            self.talk += message
            credit = reader.extensions()[CREDIT].data
            self.credit = struct.unpack(">IQ", credit) if len(credit) == 12 else (0, 0)
        elif kind[:2] == (1, FINISHED) and self.suite and not self.is_done:
            if not hmac.compare_digest(message[4:], self.finished(self.secrets[not self.is_client, 1], self.talk)):
                raise HandshakeFailed
            self.talk += message
            self.is_done = True
            if self.is_client:
                self.go_on()
                self.say(1, FINISHED, self.finished(self.secrets[True, 1], self.talk))
        else:
            raise HandshakeFailed

    def on_client_hello(self, reader, message):
        reader.take(34)
        session_id, suites = reader.sized(1).data, reader.sized(2).data
        suite = next((suite for suite, in struct.iter_unpack(">H", suites) if suite in SUITES), None)
        reader.sized(1)
        extensions = reader.extensions()
        shares, psk, takes_credit = extensions[KEY_SHARE].sized(2), extensions[PRE_SHARED_KEY], CREDIT in extensions
        while shares.take(2) != X25519:
            shares.sized(2)
        identities, place = psk.sized(2), 0
        while identities.sized(2).data != self.identity:
            identities.take(4)
            place += 1
        hello = message[:-len(psk.data)]
        binders = psk.sized(2)
        binder = [binders.sized(1).data for _ in range(place + 1)][place]
        if not suite or not hmac.compare_digest(binder, self.binder(hello)):
            raise HandshakeFailed
        self.talk += message
        extensions = struct.pack(">7H", VERSIONS, 2, 0x0304, PRE_SHARED_KEY, 2, place, KEY_SHARE) + sized(2, self.share)
        self.say(0, SERVER_HELLO, b"\3\3" + os.urandom(32) + sized(1, session_id) + struct.pack(">HB", suite, 0) +
                 sized(2, extensions))
        self.agree(suite, shares.sized(2).data)
        answer = struct.pack(">HHIQ", CREDIT, 12, *self.gives) if self.gives and takes_credit else b""
        self.say(1, ENCRYPTED_EXTENSIONS, sized(2, answer))
        self.say(1, FINISHED, self.finished(self.secrets[False, 1], self.talk))
        self.go_on()

    def on_server_hello(self, reader, message):
        reader.take(34)
        reader.sized(1)
        suite, _, extensions = reader.number(2), reader.take(1), reader.extensions()
        share = extensions[KEY_SHARE]
        if suite not in SUITES or extensions[PRE_SHARED_KEY].data != b"\0\0" or share.take(2) != X25519:
            raise HandshakeFailed
        self.talk += message
        self.agree(suite, share.sized(2).data)

    def agree(self, suite, share):
        """Both shares are known: the secrets of the second level."""
        self.suite, empty = SUITES[suite], digest(b"")
        shared = self.private.exchange(self.public_key.from_public_bytes(share))
        secret = mac(expand(self.early, "derived", empty), shared)
        self.master = mac(expand(secret, "derived", empty), bytes(32))
        self.secrets[True, 1] = expand(secret, "c hs traffic", digest(self.talk))
        self.secrets[False, 1] = expand(secret, "s hs traffic", digest(self.talk))

    def go_on(self):
        """The server's Finished is the last message that these secrets depend on."""
        self.secrets[True, 2] = expand(self.master, "c ap traffic", digest(self.talk))
        self.secrets[False, 2] = expand(self.master, "s ap traffic", digest(self.talk))
