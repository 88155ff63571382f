#!/usr/bin/env python3
# load: asleep
"""tests/peer/peer.py, the second implementation, against the library's examples, both ways: messages of all sizes, loss,
reordering, AAL5 in UDP, keys; and connections, whose callers come to other addresses meanwhile. The examples `sender`
and `receiver` pass on a stream of messages that ends with an empty one; `echo` listens, or connects and asks.

    peer_test.py [NAME...]     all, or these; the programs are in $ZCRP_BUILD
"""
import concurrent.futures
import importlib.util
import os
import random
import select
import socket
import string
import subprocess
import sys
import tempfile
import threading

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
PEER = [sys.executable, "-B", os.path.join(ROOT, "tests", "peer", "peer.py")]
BUILD = os.path.abspath(os.environ.get("ZCRP_BUILD", "build"))
LOSSY = ["--loss", "0.05", "--reorder", "0.1", "--seed"]
ONE_UNIT = 1184           # bytes of data in the peer's units
LIMIT = 30                # seconds
SKIP = 77


def example(name):
    return [os.path.join(BUILD, "examples", name)]


class End:
    """A program that sends or receives: its options, and the file of its key."""

    def __init__(self, *options, keys=None):
        self.options, self.keys = [str(option) for option in options], keys


class Peer(End):
    def command(self, program, *arguments):
        keys = ["--keys", self.keys] if self.keys else []
        return [*PEER, program, *keys, *self.options, *(str(argument) for argument in arguments)]

    def receiver(self, host, port, file):
        return self.command("receive", "--host", host, port, file), None

    def sender(self, host, port, file):
        return self.command("send", host, port, file), None

    def listener(self):
        return self.command("serve", "--host", "127.0.0.1", "--callers", 1, "0")

    def caller(self, port, file):
        return self.command("ask", "127.0.0.1", port, file)


class Library(End):
    def receiver(self, host, port, file):
        return [*example("receiver"), host, port], open(file, "wb")

    def sender(self, host, port, file):
        return [*example("sender"), host, port], open(file, "rb")

    def listener(self):
        return [*example("echo"), "serve", "127.0.0.1", "0"]

    def caller(self, port, file):
        with open(file, encoding="ascii") as text:
            return [*example("echo"), "ask", "127.0.0.1", port, text.read()]


class Failed(Exception):
    pass


def environment(end):
    return dict(os.environ, ZCRP_NO_MEMORY="1", **({"ZCRP_KEYS": end.keys} if end.keys else {}))


def port_of(process):
    """The last word of a receiver's first line on standard error."""
    line = process.stderr.readline()
    if "port" not in line:
        raise Failed(line + process.stderr.read())
    return line.split()[-1]


def run(sender, receiver, data, host="127.0.0.1", port="0", complaints=("", "")):
    """Sends the data from one end to the other. Each end has to succeed, or to complain as it should. A receiver whose
    complaint is None has to go on waiting."""
    with tempfile.TemporaryDirectory() as folder:
        sent, received = os.path.join(folder, "sent"), os.path.join(folder, "received")
        with open(sent, "wb") as file:
            file.write(data)
        command, output = receiver.receiver(host, port, received)
        with subprocess.Popen(command, stdout=output, stderr=subprocess.PIPE, text=True,
                              env=environment(receiver)) as there:
            try:
                command, source = sender.sender(host, port_of(there), sent)
                here = subprocess.run(command, stdin=source, stderr=subprocess.PIPE, text=True, timeout=LIMIT,
                                      env=environment(sender), check=False)
                is_waiting = complaints[1] is None and there.poll() is None
                said = here.stderr, "" if is_waiting else there.communicate(timeout=LIMIT)[1]
            except subprocess.TimeoutExpired as error:
                raise Failed(f"no end: {error}") from error
            finally:
                there.kill()
        for who, status, text, complaint in list(zip(("sender", "receiver"), (here.returncode, there.returncode), said,
                                                     complaints))[:1 if is_waiting else 2]:
            if status != bool(complaint) or complaint is None or complaint not in text:
                raise Failed(f"{who}: {status}, {text!r}")
        with open(received, "rb") as file:
            if not any(complaints) and file.read() != data:
                raise Failed("other bytes arrived")


def both_ways(data, options=(), **how):
    run(Peer(*options), Library(), data, **how)
    run(Library(), Peer(*options), data, **how)


class Relay:
    """A translator of addresses (NAT) between a caller and a listener. Behind each `every` datagrams of the caller it
    forgets its mapping: what the caller says comes from another port, and the old one leads nowhere."""

    def __init__(self, listener_port, every):
        self.server, self.every = ("127.0.0.1", int(listener_port)), every
        self.heard = []       # the last byte of each datagram of the caller
        self.inside, self.outside = self.socket(), [self.socket()]
        self.inside.bind(("127.0.0.1", 0))
        self.port = str(self.inside.getsockname()[1])
        self.is_over = False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    @staticmethod
    def socket():
        return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def run(self):
        caller = None
        while not self.is_over:
            for ready in select.select([self.inside, self.outside[-1]], [], [], 0.05)[0]:
                data, address = ready.recvfrom(65536)
                if ready is not self.inside:
                    self.inside.sendto(data, caller)
                    continue
                caller = address
                self.heard.append(data[-1])
                if self.every and len(self.heard) % self.every == 0:
                    self.outside.append(self.socket())
                self.outside[-1].sendto(data, self.server)

    def close(self):
        self.is_over = True
        self.thread.join()
        for each in (self.inside, *self.outside):
            each.close()


def talk(caller, listener, size=60_000, complaint="", every=None):
    """The caller has a text sent back by the listener, or complains; over a relay if `every` is a number. Returns what
    the relay heard of the caller."""
    text = "".join(random.choices(string.ascii_letters, k=size))
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "text")
        with open(file, "w", encoding="ascii") as out:
            out.write(text)
        with subprocess.Popen(listener.listener(), stderr=subprocess.PIPE, text=True,
                              env=environment(listener)) as there:
            relay = None
            try:
                port = port_of(there)
                relay = Relay(port, every) if every is not None else None
                command = caller.caller(relay.port if relay else port, file)
                here = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT,
                                      env=environment(caller), check=False)
                is_served = isinstance(listener, Peer) and not complaint
                said = there.communicate(timeout=LIMIT)[1] if is_served else ""  # it ends with its caller
            except subprocess.TimeoutExpired as error:
                raise Failed(f"no end: {error.stderr}") from error
            finally:
                there.kill()
                if relay:
                    relay.close()
        if here.returncode != bool(complaint) or complaint not in here.stderr:
            raise Failed(f"caller: {here.returncode}, {here.stderr!r}")
        if said or is_served and there.returncode:
            raise Failed(f"listener: {there.returncode}, {said!r}")
        if not complaint and here.stdout not in ("", text + "\n"):
            raise Failed("other bytes came back")
        return relay.heard if relay else []


def talk_both_ways(options=(), keys=None, **how):
    """Each calls the other one. The caller's close is confirmed, and the peer's listener has heard it to its end."""
    talk(Peer("--message", 30_000, *options, keys=keys), Library(keys=keys), **how)
    talk(Library(keys=keys), Peer(*options, keys=keys), **how)


# ---- the tests

def sizes(_):
    """Nothing, a byte, a unit, a byte more than a unit, a message of many units."""
    for size in (0, 1, ONE_UNIT, ONE_UNIT + 1, 300_000):
        both_ways(random.randbytes(size))


def messages(_):
    """Three of 1 MiB and one of a byte; and hundreds of small ones."""
    data = random.randbytes(3 * 2**20 + 1)
    both_ways(data)
    run(Peer("--message", 100, "--unit", 1472), Library(), data[:30_000])


def loss(_):
    """The peer loses and reorders its datagrams: units as a sender, answers as a receiver."""
    for seed in range(3):
        both_ways(random.randbytes(200_000), [*LOSSY, seed])


def loss_both_ways(_):
    """Two peers, so both ways lose."""
    run(Peer(*LOSSY, 1), Peer(*LOSSY, 2), random.randbytes(300_000))


def sizes_asked_for(_):
    """The receiver asks for each message's size, and posts as much."""
    run(Library(), Peer("--expect"), random.randbytes(100_000))
    run(Peer("--message", 7000), Peer("--expect", *LOSSY, 1), random.randbytes(100_000))


def too_large(_):
    """A message that is larger than its buffer fails at both ends."""
    data = random.randbytes(2**20 + 1)
    run(Peer("--message", 2**21), Library(), data, complaints=("too large", "larger than the buffer"))
    run(Library(), Peer("--message", 1000), data, complaints=("larger than the buffer", "too large"))


def aal5(_):
    """At UDP port 6635, where the library speaks it of itself; PDUs of one piece and of several."""
    where = {"host": f"127.66.{random.randrange(256)}.{random.randrange(1, 255)}", "port": "6635"}
    for size in (0, 1, 100_000):
        both_ways(random.randbytes(size), ["--aal5"], **where)
    both_ways(random.randbytes(60_000), ["--aal5", "--loss", "0.02", "--reorder", "0.02", "--seed", 5], **where)


def key_of(folder, name):
    path = os.path.join(folder, name)
    subprocess.run([os.path.join(BUILD, "zcrp-keys"), "generate", "psk", "laboratory", path], check=True,
                   capture_output=True)
    return path


def keys(folder):
    """All datagrams are sealed; with loss, and over AAL5."""
    key = key_of(folder, "key")
    for options in ([], [*LOSSY, 1]):
        for size in (1, 200_000):
            data = random.randbytes(size)
            run(Peer(*options, keys=key), Library(keys=key), data)
            run(Library(keys=key), Peer(*options, keys=key), data)
    where = {"host": f"127.67.{random.randrange(256)}.{random.randrange(1, 255)}", "port": "6635"}
    run(Peer("--aal5", keys=key), Library(keys=key), data, **where)
    run(Library(keys=key), Peer("--aal5", keys=key), data, **where)


def peers_modules():
    """What follows may import them."""
    sys.path.insert(0, os.path.join(ROOT, "tests", "peer"))
    sys.dont_write_bytecode = True


def sealed_vectors(_):
    """docs/vectors/sealed.txt: what is sealed there is sealed so here, and opens."""
    peers_modules()
    from keys import Half
    with open(os.path.join(ROOT, "docs", "vectors", "sealed.txt"), encoding="utf-8") as lines:
        vectors = [line.split() for line in lines if line.strip() and line[0] != "#"]
    for name, *words in vectors:
        fields = dict(word.split("=") for word in words)
        number, secret, plain, sealed = int(fields["number"]), *(
            bytes.fromhex(fields[field]) for field in ("secret", "plain", "sealed"))
        half = Half(fields["cipher"], secret)
        half.stream(plain[-1] & 15).epoch = number >> 22
        if half.seal(plain, number) != sealed or half.open(sealed) != plain:
            raise Failed(name)


class Wire:
    """All that a handshake of the peer needs of its link. It keeps what is sent."""

    def __init__(self):
        self.psk, self.first, self.is_proven = (b"laboratory", bytes(32)), [], False
        self.sent, self.is_up = [], False
        self.port = self.channel = self

    def send(self, data, _):
        self.sent.append(data)

    def establish(self, *_):
        self.is_up = True

    def fail_handshake(self, _):
        raise Failed("the handshake has failed")


def forged_in_the_clear(_):
    """An attacker who reads the path acknowledges everything in the clear, to both sides of a handshake, and refuses
    the caller when the caller knows the listener (Handshake bytes)."""
    peers_modules()
    from codec import ANSWERS, COOKIE, HANDSHAKE, REFUSES, Datagram, decode, encode
    from keys import Handshake

    def hear(side, data):
        side.hear(decode(data, {HANDSHAKE}), data, 0.0)

    def say(side):
        side.repeat(0.0)
        side.flush(0.0)
        said, side.link.sent = side.link.sent, []
        return said

    def forge(side, flags, have):
        question = side.question
        hear(side, encode(Datagram(HANDSHAKE, 0, question.tag, flags, nonce=question.nonce, have_second=have)))

    caller = Handshake(Wire(), 0.0)
    caller.on_cookie(Datagram(COOKIE, 0, caller.question.tag, nonce=caller.question.nonce, cookie=1))
    hellos = say(caller)
    listener = Handshake(Wire(), 0.0, decode(hellos[0], {HANDSHAKE}))
    for data in hellos:
        hear(listener, data)
    say(listener)  # and it is lost
    forge(listener, 0, len(listener.tls.out[1]))
    for data in say(listener):
        hear(caller, data)
    if not caller.link.is_up:
        raise Failed("the listener does not repeat what was lost")
    say(caller)  # is lost, too
    forge(caller, ANSWERS, len(caller.tls.out[1]))
    forge(caller, ANSWERS | REFUSES, 0)
    if [at for at, do in caller.timers() if do == caller.link.fail_handshake and at < 1]:
        raise Failed("the caller takes a stranger's refusal")
    for data in say(caller):
        hear(listener, data)
    if not listener.link.is_up:
        raise Failed("the caller does not repeat what was lost")


def other_keys(folder):
    """A sender with another key fails, and the receiver goes on waiting for one with its own."""
    key, other = key_of(folder, "own"), key_of(folder, "other")
    run(Peer(keys=other), Library(keys=key), b"", complaints=("peer: keys", None))
    run(Library(keys=other), Peer(keys=key), b"", complaints=("does not accept the other's", None))


# ---- connections

def connections(_):
    """Messages of a byte and of many units, there and back; and a thousand small ones."""
    for size in (1, ONE_UNIT, 60_000):
        talk_both_ways(size=size)
    talk(Peer("--message", 50), Library(), size=50_000)


def connections_lose(_):
    """The peer loses and reorders: hellos, cookies, requests, units, acknowledgements, closes."""
    for seed in range(3):
        talk_both_ways([*LOSSY, seed])
    talk(Peer("--message", 30_000, *LOSSY, 1), Peer(*LOSSY, 2))


def connections_of_keys(folder):
    key = key_of(folder, "connections")
    for options in ([], [*LOSSY, 3]):
        talk_both_ways(options, keys=key)
        talk_both_ways(["--first", 2, *options], keys=key)
    talk(Peer("--message", 7_000, *LOSSY, 1, keys=key), Peer("--first", 3, *LOSSY, 2, keys=key))


def keep_alive(_):
    """A caller that has nothing to say says hello, and its peer answers, so that it does not ask more often."""
    heard = talk(Peer("--keep-alive", 0.2, "--idle", 2), Library(), size=1, every=0)
    if not 6 <= heard.count(0x25) <= 30:
        raise Failed(f"{heard.count(0x25)} hellos in 2 s")


def some_time(attempt):
    """Is the close confirmed at one of three attempts? Confirmations to an address that is lost may be the last ones: an
    end waits in vain for them, or hears no more of the other one, which had all it waited for."""
    for is_last in (False, False, True):
        try:
            return attempt()
        except Failed as why:
            is_chance = "the close was not confirmed" in str(why) or "peer: silent" in str(why)
            if is_last or not is_chance:
                raise
    return None


def other_addresses(folder):
    """Callers behind a translator that forgets them: they are challenged, and their connections go on."""
    key = key_of(folder, "addresses")
    for every in (20, 45):
        some_time(lambda every=every: talk_both_ways(keys=key, every=every))
    some_time(lambda: talk(Peer("--message", 30_000, *LOSSY, 1, keys=key), Peer(*LOSSY, 2, keys=key), every=40))


def refusals(folder):
    """Callers with another key than the listener's; with none; and with one, at a listener without keys."""
    key, other = key_of(folder, "listener"), key_of(folder, "caller")
    for of_caller, of_listener in ((other, key), (None, key), (key, None)):
        talk(Peer(keys=of_caller), Library(keys=of_listener), 1, "peer: keys")
        talk(Library(keys=of_caller), Peer(keys=of_listener), 1, "does not accept the other's")


TESTS = [sizes, messages, loss, loss_both_ways, sizes_asked_for, too_large, aal5, connections, connections_lose,
         keep_alive]
TESTS_OF_KEYS = [sealed_vectors, forged_in_the_clear, keys, other_keys, connections_of_keys, other_addresses, refusals]


def has_keys():
    """Is the library built with keys, and Python able to seal?"""
    return os.access(os.path.join(BUILD, "zcrp-keys"), os.X_OK) and importlib.util.find_spec("cryptography")


def verdict(test, folder):
    try:
        test(folder)
    except Failed as why:
        return f"FAIL {test.__name__}: {why}"
    return None


def main():
    if not os.access(example("sender")[0], os.X_OK):
        print(f"no {example('sender')[0]}: run make first")
        sys.exit(SKIP)
    tests = [test for test in TESTS + (TESTS_OF_KEYS if has_keys() else [])
             if test.__name__ in sys.argv[1:] or len(sys.argv) == 1]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(3) as pool:
        failures = [why for why in pool.map(lambda test: verdict(test, folder), tests) if why]
    print(*failures, f"{len(tests) - len(failures)} of {len(tests)} checks passed", sep="\n")
    sys.exit(bool(failures))


main()
