#!/usr/bin/env python3
# load: asleep
"""tools/peer.py, the second implementation, against the library's examples, both ways: messages of all sizes, loss,
reordering, AAL5 in UDP, keys. The examples send and receive a stream of messages that ends with an empty one.

    peer_test.py [NAME...]     all, or these; the programs are in $ZCRP_BUILD
"""
import concurrent.futures
import importlib.util
import os
import random
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
PEER = [sys.executable, "-B", os.path.join(ROOT, "tools", "peer.py")]
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
    def receiver(self, host, port, file):
        keys = ["--keys", self.keys] if self.keys else []
        return [*PEER, "receive", "--host", host, *keys, *self.options, port, file], None

    def sender(self, host, port, file):
        keys = ["--keys", self.keys] if self.keys else []
        return [*PEER, "send", *keys, *self.options, host, port, file], None


class Library(End):
    def receiver(self, host, port, file):
        return [*example("receiver"), host, port], open(file, "wb")

    def sender(self, host, port, file):
        return [*example("sender"), host, port], open(file, "rb")


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


def sealed_vectors(_):
    """docs/vectors/sealed.txt: what is sealed there is sealed so here, and opens."""
    sys.path.insert(0, os.path.join(ROOT, "tools"))
    sys.dont_write_bytecode = True
    from peer import Half
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


def other_keys(folder):
    """A sender with another key fails, and the receiver goes on waiting for one with its own."""
    key, other = key_of(folder, "own"), key_of(folder, "other")
    run(Peer(keys=other), Library(keys=key), b"", complaints=("peer: keys", None))
    run(Library(keys=other), Peer(keys=key), b"", complaints=("does not accept the other's", None))


TESTS = [sizes, messages, loss, loss_both_ways, sizes_asked_for, too_large, aal5]
TESTS_OF_KEYS = [sealed_vectors, keys, other_keys]


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
