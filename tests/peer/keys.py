"""The keys of peer.py (docs/protocol.md, Keys): how its datagrams are sealed, and how the bytes of a handshake
cross. TLS itself is in tls_psk.py. It needs the package `cryptography`.
"""
import struct

from codec import (
    ANSWERS, FRAGMENT, HANDSHAKE, HELLO, LAST_TEN, OF_SENDER, REFUSES, SEAL, SECOND, TRAILER, UNIT, Datagram,
    Rejected, backed_off, drawn, encode, nearest)
from tls_psk import HandshakeFailed, Tls, expand

CONNECT = 5.0             # limit of a handshake, and of every search for a peer, seconds


class Stream:
    """Seals, or opens, the datagrams of one stream by their numbers (Which key is for what)."""

    def __init__(self, suite, secret):
        self.suite, self.epoch, self.number = suite, 0, 0  # the newest epoch; the next control datagram's number
        self.secrets = {0: secret}       # epoch: secret
        self.opened, self.newest = set(), -1
        self.elsewhere = -1              # the newest that came from another address

    def cipher(self, epoch, number):
        from cryptography.hazmat.primitives.ciphers import aead
        for known in range(max(self.secrets), epoch):
            self.secrets[known + 1] = expand(self.secrets[known], "zcrp ku")
        secret, is_aes = self.secrets[epoch], self.suite == "aes"
        key, iv = expand(secret, "zcrp key", length=16 if is_aes else 32), expand(secret, "zcrp iv", length=12)
        nonce = (int.from_bytes(iv, "big") ^ number).to_bytes(12, "big")
        return (aead.AESGCM if is_aes else aead.ChaCha20Poly1305)(key), nonce

    def seal(self, number, plain, behind):
        cipher, nonce = self.cipher(number >> 22, number)
        return cipher.encrypt(nonce, plain, behind)

    def verify(self, number, sealed, behind):
        """Opens, and changes nothing: what came from elsewhere may have been copied, and the first one come later."""
        epoch = number >> 22
        if number < 0 or number in self.opened or number <= self.newest - 8192:
            raise Rejected("replayed")
        if not self.epoch - 1 <= epoch <= self.epoch + 1:
            raise Rejected("forged")
        cipher, nonce = self.cipher(epoch, number)
        try:
            plain = cipher.decrypt(nonce, sealed, behind)
        except Exception as error:
            raise Rejected("forged") from error
        return plain

    def open(self, number, sealed, behind):
        plain = self.verify(number, sealed, behind)
        self.epoch, self.newest = max(self.epoch, number >> 22), max(self.newest, number)
        self.opened.add(number)
        if len(self.opened) > 16384:
            self.opened = {opened for opened in self.opened if opened > self.newest - 8192}
        return plain


class Half:
    """What one side says under keys: its three streams, and the pairing of its units."""

    def __init__(self, suite, secret):
        self.streams = {name: Stream(suite, expand(secret, "zcrp " + name)) for name in ("unit", "sender", "receiver")}
        session, tag = struct.unpack(">II", expand(secret, "zcrp pairing", length=8))
        self.pairing = session or 1, tag or 1
        self.is_newest = False           # the last one to be opened has a number above all others of its stream

    def stream(self, kind):
        return self.streams["unit" if kind == UNIT else "sender" if kind in OF_SENDER else "receiver"]

    def seal(self, data, number=None):
        """The datagram as it crosses. A unit's number is all 64 bits of its sequence number."""
        kind = data[-1] & 15
        stream, behind = self.stream(kind), TRAILER if kind == UNIT else LAST_TEN.size
        if number is None:
            number, stream.number = stream.number, stream.number + 1
        tail = bytearray(data[-behind:])
        tail[-2] |= (number >> 22 & 3) << 6
        tail = bytes(tail) if kind == UNIT else struct.pack(">Q", number) + tail
        return stream.seal(number, data[:-behind], tail) + tail

    def open(self, data, is_elsewhere=False):
        """The datagram as it was. From another address than the peer's it may be opened again."""
        kind = data[-1] & 15
        behind = TRAILER if kind == UNIT else LAST_TEN.size + 8
        if len(data) < behind + SEAL:
            raise Rejected("short")
        tail = data[-behind:]
        number = int.from_bytes(tail[:8], "big")
        if kind == UNIT:
            number = nearest(int.from_bytes(tail[8:12], "big"), max(self.streams["unit"].newest, 0))
        if number >> 22 & 3 != tail[-2] >> 6:
            raise Rejected("forged")
        stream, newest = self.stream(kind), self.stream(kind).newest
        plain = (stream.verify if is_elsewhere else stream.open)(number, data[:-behind], tail)
        if is_elsewhere:
            newest, stream.elsewhere = max(newest, stream.elsewhere), max(stream.elsewhere, number)
        self.is_newest = number > newest
        tail = bytearray(tail if kind == UNIT else tail[8:])
        tail[-2] &= 63
        return plain + tail


class Handshake:
    """Carries the bytes of TLS in datagrams of type 9, and repeats those that the other side does not have."""

    def __init__(self, link, now, question=None, address=None):
        """A caller's, which asks for a cookie first; or a listener's, about a caller that has returned its own."""
        self.link, self.address, self.is_client = link, address, question is None
        self.question = question or Datagram(HELLO, tag=drawn(32), nonce=drawn(64))
        self.began = self.said_at = now
        self.repeats = 0
        self.state = "asking" if self.is_client else "talking"  # then "done", or "failed"
        self.refused_at = None
        self.tls = Tls(self.is_client, *link.psk, (len(link.first), link.port.args.message) if link.first else None)
        self.heard = [{}, {}]      # place: bytes, of each level
        self.taken = [0, 0]        # bytes that are there without a gap
        self.messages = [b"", b""]  # of these, those that are no whole message yet
        self.had = [0, 0]          # how much of this side's streams the other side has
        self.streams = {}          # of the second level: whether the client's
        self.wants_to_say = self.is_client

    def on_cookie(self, d):
        if self.state == "asking" and (d.nonce, d.tag) == (self.question.nonce, self.question.tag):
            self.question.cookie, self.state, self.repeats, self.wants_to_say = d.cookie, "talking", 0, True

    def stream(self, is_clients):
        """The second level's; its secret is the handshake traffic secret itself."""
        if is_clients not in self.streams:
            self.streams[is_clients] = Stream(self.tls.suite, self.tls.secrets[is_clients, 1])
        return self.streams[is_clients]

    def say_bytes(self, level, place, flags=0):
        flags |= (SECOND if level else 0) | (0 if self.is_client else ANSWERS)
        d = Datagram(HANDSHAKE, 0, self.question.tag, flags, nonce=self.question.nonce, place=place,
                     have_first=self.taken[0], have_second=self.taken[1])
        body = b"" if flags & REFUSES else self.tls.out[level][place:place + FRAGMENT]
        if level:
            stream = self.stream(self.is_client)
            d.cookie, stream.number = stream.number, stream.number + 1
            body = stream.seal(d.cookie, body, encode(d))
        elif self.is_client:
            d.cookie = self.question.cookie
        self.link.port.channel.send(body + encode(d), self.address)

    def flush(self, now):
        """All bytes that the other side has not said that it has."""
        if not self.wants_to_say:
            return
        self.wants_to_say, self.said_at = False, now
        if self.state == "asking":
            self.link.port.channel.send(encode(self.question))
            return
        missing = [(level, place) for level, out in enumerate(self.tls.out) if len(out) > self.had[level]
                   for place in range(self.had[level] // FRAGMENT * FRAGMENT, len(out), FRAGMENT)]
        for level, place in missing:
            self.say_bytes(level, place)

    def hear(self, d, data, now):
        level, question = 1 if d.flags & SECOND else 0, self.question
        if (d.nonce, d.tag, bool(d.flags & ANSWERS)) != (question.nonce, question.tag, self.is_client):
            return
        if self.state == "failed" or level and not self.tls.suite:
            return
        if self.state == "done" and not level:
            return  # it may be a stranger's: the other side is known, and seals what it still says
        if level:
            d.body = self.stream(not self.is_client).open(d.cookie, data[:-TRAILER], data[-TRAILER:])
        if d.flags & REFUSES:
            self.refused_at = min(self.refused_at or now, now - level)  # of the first level: it may be a stranger's
            return
        for other, have in enumerate((d.have_first, d.have_second)[:level + 1]):
            self.had[other] = max(self.had[other], min(have, len(self.tls.out[other])))
        heard = self.heard[level]
        if len(d.body) > len(heard.get(d.place, b"")):
            heard[d.place], self.refused_at, self.repeats = d.body, None, 0
        self.wants_to_say |= bool(d.body)
        while more := heard.get(self.taken[level] // FRAGMENT * FRAGMENT, b"")[self.taken[level] % FRAGMENT:]:
            self.messages[level] += more
            self.taken[level] += len(more)
        try:
            self.take_messages(level)
        except (HandshakeFailed, ValueError, struct.error):
            self.state, self.wants_to_say, self.refused_at = "failed", False, now - 1
            self.say_bytes(1 if (True, 1) in self.tls.secrets else 0, 0, REFUSES)
        if self.state == "talking" and self.tls.is_done:
            self.state, self.wants_to_say = "done", self.is_client
            self.link.establish(self, now)

    def take_messages(self, level):
        rest = self.messages[level]
        while len(rest) >= 4 and len(rest) >= (end := 4 + int.from_bytes(rest[1:4], "big")):
            self.tls.on_message(level, rest[:end])
            rest = self.messages[level] = rest[end:]

    def timers(self):
        if self.state == "asking":
            yield self.said_at + backed_off(0.02, self.repeats, 0.25), self.repeat
        elif self.state == "talking" or self.state == "done" and not self.link.is_proven:
            yield self.said_at + backed_off(0.05, self.repeats, 0.5), self.repeat
        if self.state != "done" or not self.link.is_proven:
            yield self.began + CONNECT, self.link.fail_handshake
            if self.refused_at is not None:
                yield self.refused_at + 0.5, self.link.fail_handshake

    def repeat(self, now):
        self.repeats += 1
        self.wants_to_say = True
