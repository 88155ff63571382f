#!/usr/bin/env python3
# load: asleep
"""zcrp-tunnel as its user meets it: TCP streams through a near end and a far end on this host, both
started here. Programs that people use are in tunnel_programs_test.py.

    tunnel_test.py [NAME...]     all, or these; the programs are in $ZCRP_BUILD
"""
import contextlib
import hashlib
import os
import random
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "support"))
from tunnel import PATIENCE, Far, Near, Place, Target, connect, fetch, main, program, run  # noqa: E402

MEGABYTE = 1 << 20


def random_bytes(count):
    return random.randbytes(count)


def echoes(port, data):
    """Sends, says that this is all, and gets the same back."""
    with connect(port) as client:
        sender = threading.Thread(target=lambda: (client.sendall(data),
                                                  client.shutdown(socket.SHUT_WR)))
        sender.start()
        came = fetch(client)
        sender.join()
        return came == data


def is_reset(port, data=b"hello"):
    """Does the stream end with an error?"""
    try:
        with connect(port) as client:
            client.sendall(data)
            client.recv(1)
            return False
    except ConnectionError:
        return True


# ---- streams

def streams(place):
    """Both directions, sizes of all kinds, and the end of each direction by itself."""
    with Target.echo() as echo, Far(place, echo) as far, Near(far, echo) as near:
        for size in (0, 1, 65535, 65536, 65537, 5 * MEGABYTE):
            place.check(f"{size} bytes come back", echoes(near.port, random_bytes(size)))
        place.check("counts", near.counts()["streams"] == 6)


def all_addresses(place):
    """A door at * is one for IPv4 and for IPv6."""
    with Target.echo() as echo, Far(place, echo) as far, \
            Near(far, None, "-L", f"*:0:127.0.0.1:{echo.port}") as near:
        for address in ("127.0.0.1", "::1"):
            with socket.create_connection((address, near.port), 10) as client:
                client.sendall(b"hello")
                place.check(f"at {address}", client.recv(5) == b"hello")


def by_address(place):
    """--address is where the far end is, whatever the host is called."""
    with Target.echo() as echo, Far(place, echo) as far:
        far.address = f"nowhere.invalid:{far.port}"
        with Near(far, echo, "--address", "127.0.0.1") as near:
            place.check("a stream", echoes(near.port, b"x" * 1000))
        done = subprocess.run([program("zcrp-tunnel"), "--keys", place.key("key"), "--stdio", far.address, "--address",
                               "127.0.0.1", f"127.0.0.1:{echo.port}"], input=b"hello", stdout=subprocess.PIPE,
                              timeout=60, check=False)
        place.check("on standard input", done.returncode == 0 and done.stdout == b"hello")


def frugal(place):
    """With as little as can be had: nothing kept ready, the least window, no memory for busy streams."""
    little = ["--warm", "0", "--window", "256K", "--memory", "0"]
    with Target.echo() as echo, Far(place, echo, *little, "--allow-listen", "*:*") as far, \
            Near(far, echo, *little, "-R", f"0:127.0.0.1:{echo.port}", "-v") as near:
        far_port = near.listens_far()
        for _ in range(3):
            place.check("a stream", echoes(near.port, random_bytes(MEGABYTE)))
            place.check("the other way round", echoes(far_port, random_bytes(MEGABYTE)))


def speaks_first(place):
    """The target ends its direction first, and the client's goes on."""
    data, heard = random_bytes(3 * MEGABYTE), []

    def serve(client):
        client.sendall(data)
        client.shutdown(socket.SHUT_WR)
        heard.append(fetch(client))
    with Target(serve) as target, Far(place, target) as far, Near(far, target) as near:
        with connect(near.port) as client:
            place.check("the target's bytes", fetch(client) == data)
            time.sleep(0.2)
            client.sendall(data)
        target.wait()
        place.check("the client's bytes, afterwards", heard == [data])


def many(place):
    """Hundreds at once, and hundreds one after another."""
    with Target.echo() as echo, Far(place, echo) as far, Near(far, echo) as near:
        data, results = random_bytes(5000), []
        threads = [threading.Thread(target=lambda: results.append(echoes(near.port, data)))
                   for _ in range(300)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        place.check(f"300 at once: {set(near.lines)}", results == [True] * 300)
        place.check("200 in turn", all(echoes(near.port, data) for _ in range(200)))
        place.check("they are all over", place.soon(lambda: near.counts()["open"] == 0 and
                                                    far.counts()["open"] == 0))
        place.check("few connections are kept", place.soon(lambda: near.counts()["connections"] < 40))


def has_no_sanitizer():
    return os.path.basename(os.path.dirname(program("zcrp-tunnel"))) == "build"


def slow_reader(place):
    """A client that does not read costs neither end memory, and loses nothing."""
    digest, size = hashlib.sha256(), 64 * MEGABYTE
    chunk = random_bytes(MEGABYTE)

    def serve(client):
        for _ in range(size // MEGABYTE):
            client.sendall(chunk)
        client.shutdown(socket.SHUT_WR)
        client.recv(1)
    with Target(serve) as target, Far(place, target) as far, Near(far, target) as near:
        before = near.resident(), far.resident()
        with connect(near.port, receive_buffer=65536) as client:
            time.sleep(1.5)
            grown = near.resident() - before[0], far.resident() - before[1]
            most = (10 if has_no_sanitizer() else 40) * MEGABYTE
            place.check(f"memory grows by {grown[0]} and {grown[1]} bytes", max(grown) < most)
            while piece := client.recv(MEGABYTE):
                digest.update(piece)
        wanted = hashlib.sha256(chunk * (size // MEGABYTE)).digest()
        place.check("and then all of it comes", digest.digest() == wanted)


def slow_target(place):
    """A target that does not read stops its client."""
    release = threading.Event()

    def serve(client):
        release.wait()
        heard.append(len(fetch(client)))
    heard, sent = [], 0
    with Target(serve) as target, Far(place, target) as far, Near(far, target) as near:
        with connect(near.port) as client:
            client.settimeout(1)
            try:
                while sent < 100 * MEGABYTE:
                    sent += client.send(bytes(MEGABYTE))
            except TimeoutError:
                pass
            place.check(f"it is stopped after {sent} bytes", sent < 50 * MEGABYTE)
            release.set()
        target.wait()
        place.check("and all that was sent arrives", heard == [sent])


def reset(place):
    """A reset of either side reaches the other one."""
    ended = threading.Event()

    def serve(client):
        if client.recv(1) == b"r":
            Target.reset(client)
            return
        try:
            fetch(client)
        except ConnectionError:
            ended.set()
    with Target(serve) as target, Far(place, target) as far, Near(far, target) as near:
        place.check("the target's", is_reset(near.port, b"r"))
        client = connect(near.port)
        client.sendall(b"x")
        time.sleep(0.3)
        Target.reset(client)
        place.check("the client's", ended.wait(10))
        place.check("nothing is left", place.soon(lambda: far.counts()["open"] == 0))


def fetch_to_reset(client):
    """All bytes up to an error; None: there is none."""
    pieces = []
    try:
        while piece := client.recv(1 << 16):
            pieces.append(piece)
    except ConnectionError:
        return b"".join(pieces)
    return None


def reset_behind_data(place):
    """Who sends something, and closes with bytes unread, resets the stream: what was sent arrives before. An end
    that is stopped meanwhile sees both at once."""
    answer, command, heard = random_bytes(20000), b"a command" * 1000, []
    begun, closes = threading.Event(), threading.Event()

    def refuse(client):
        client.recv(1)
        begun.set()
        closes.wait(PATIENCE)
        client.sendall(answer)

    def greet(client):
        client.sendall(b"hello")
        heard.append(fetch_to_reset(client))
    with Target(refuse) as target, Far(place, target) as far, Near(far, target) as near, \
            connect(near.port) as client:
        client.sendall(bytes(100000))
        begun.wait(PATIENCE)
        far.process.send_signal(signal.SIGSTOP)
        closes.set()
        target.wait()
        far.process.send_signal(signal.SIGCONT)
        place.check("a target's answer, and its reset", fetch_to_reset(client) == answer)
    with Target(greet) as target, Far(place, target) as far, Near(far, target) as near:
        with connect(near.port) as client:
            client.recv(1, socket.MSG_PEEK)
            near.process.send_signal(signal.SIGSTOP)
            client.sendall(command)
        near.process.send_signal(signal.SIGCONT)
        target.wait()
        place.check("a client's command, and its reset", heard == [command])


def urgent_data(place):
    """A read stops in front of it. It is data as any other, and what is behind it arrives, too. An end that is stopped
    meanwhile sees all of it at once."""
    heard = []

    def greet(client):
        client.sendall(b"hello")
        client.settimeout(PATIENCE)
        with contextlib.suppress(TimeoutError):
            while len(b"".join(heard)) < 8 and (got := client.recv(100)):
                heard.append(got)
    with Target(greet) as target, Far(place, target) as far, Near(far, target) as near, connect(near.port) as client:
        client.recv(5, socket.MSG_WAITALL)
        near.process.send_signal(signal.SIGSTOP)
        client.sendall(b"abc")
        client.send(b"x", socket.MSG_OOB)
        client.sendall(b"defg")
        near.process.send_signal(signal.SIGCONT)
        target.wait()
        place.check("urgent data, and what is behind it", b"".join(heard) == b"abcxdefg")


def reset_while_nobody_reads(place):
    """A stream whose ends read nothing more is reset all the same, once one of them has closed."""
    heard = []

    def stall(client):
        client.sendall(b"hello")
        poller = select.poll()
        poller.register(client, select.POLLERR)
        heard.extend(poller.poll(PATIENCE * 1000))
    with Target(stall) as target, Far(place, target) as far, Near(far, target) as near:
        with connect(near.port) as client:
            client.recv(1, socket.MSG_PEEK)
            client.settimeout(1)
            try:
                while True:
                    client.sendall(bytes(MEGABYTE))
            except TimeoutError:
                pass
        target.wait()
    place.check("the target has an error", heard)


# ---- what is refused

def refused(place):
    """Targets that are not allowed, or not there, by name."""
    with Target.echo() as echo, Target.echo() as other, Far(place, echo) as far:
        with Near(far, other) as near:
            place.check("what is not allowed", is_reset(near.port))
            place.check("is refused by name", near.said(
                f"127.0.0.1:{other.port}: refused: the far end does not allow it"))
            for end in near, far:
                counts = end.counts()
                place.check(f"both ends count it: {counts}", counts["streams"] == 1 and counts["refused"] == 1)
    with Far(place, None) as far:
        place.check("without --allow it says so", far.said("refuses every stream, because there is no --allow"))
    with Far(place, None, "--allow", "127.0.0.1:1", "--allow", "nowhere.invalid:*") as far:
        with Near(far, None, "-L", "0:127.0.0.1:1", "-L", "0:nowhere.invalid:80") as near:
            place.check("nobody listens there", is_reset(near.ports[0]))
            place.check("and the user is told", near.said("127.0.0.1:1: refused: Connection refused"))
            place.check("no such name", is_reset(near.ports[1]))
            place.check("and that, too", near.said("nowhere.invalid:80: refused: "))


def strangers(place):
    """Wrong keys, no far end, and rubbish."""
    with Target.echo() as echo, Far(place, echo) as far:
        other = place.key("other")
        status, said = run("--keys", other, far.address, "-L", f"0:127.0.0.1:{echo.port}")
        place.check("another key", status == 3 and "does not accept" in said)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            for _ in range(1000):
                stranger.sendto(random_bytes(random.randint(1, 1500)), ("127.0.0.1", far.port))
        with Near(far, echo) as near:
            place.check("rubbish does no harm", echoes(near.port, b"x" * 100000))
    status, said = run("--keys", place.key("key"), "127.0.0.1:9", "-L", "0:127.0.0.1:1")
    place.check("no far end", status == 3 and "nobody listens" in said)
    with Target.echo() as echo, socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        status, said = run("--keys", place.key("key"), "127.0.0.1:9", "-L", f"{port}:127.0.0.1:1")
        place.check("a port in use", status == 3 and f"TCP port {port}: " in said and "in use" in said)
        status, said = run("--keys", place.key("key"), "127.0.0.1:9", "-L", f"localhost:{port}:127.0.0.1:1")
        place.check("a port in use at an address",
                    status == 3 and f"cannot listen on localhost, TCP port {port}: " in said)


def other_program(place):
    """zcrp-cp has the same key at the other end: both programs ask whether theirs listens there."""
    cp, key = program("zcrp-cp"), place.key("key")
    if not os.access(cp, os.X_OK):
        return
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with subprocess.Popen([cp, "--serve", place.folder, "--keys", key, "--address", "127.0.0.1", "--port", str(port)],
                          stdout=subprocess.PIPE, text=True) as server:
        place.check("zcrp-cp serves", "serves" in server.stdout.readline())
        for arguments, wanted in ((["-L", "0:127.0.0.1:1"], 3), (["127.0.0.1:1"], 1)):
            stdio = ["--stdio"] if wanted == 1 else []
            status, said = run("--keys", key, *stdio, f"127.0.0.1:{port}", *arguments)
            place.check(f"a near end of it: {status}, {said}",
                        status == wanted and "it closed before it answered: does zcrp-tunnel --serve listen" in said)
        server.terminate()
    with Far(place, None) as far:
        done = subprocess.run([cp, "--keys", key, "--port", str(far.port), key, "127.0.0.1::"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
        place.check(f"zcrp-cp at a far end: {done.returncode}, {done.stdout}", done.returncode == 3 and
                    "it closed before it answered: does zcrp-cp --serve listen there?" in done.stdout)


def command_line(place):
    """Mistakes, and what is said of them."""
    key = place.key("open")
    os.chmod(key, 0o644)
    for said, arguments in (
            ("which host has the far end?", ["-L", "1:a:1"]),
            ("nothing to do", ["--keys", key, "host"]),
            ("unexpected argument 'other'", ["host", "-L", "1:a:1", "other"]),
            ("'1:a' is not [ADDRESS:]PORT:HOST:PORT", ["-L", "1:a"]),
            ("'x:a:1' is not [ADDRESS:]PORT:HOST:PORT", ["-L", "x:a:1"]),
            ("'1:a:0' is not", ["-L", "1:a:0"]),
            ("'1:a:65536' is not", ["-R", "1:a:65536"]),
            ("'[::1:1:a:1' is not", ["-L", "[::1:1:a:1"]),
            ("is not HOST:PORT, where either may be *", ["--allow", "here"]),
            ("--serve needs --keys", ["--serve", "127.0.0.1"]),
            ("--allow and --allow-listen are for --serve", ["host", "--allow", "a:1"]),
            ("for a far end that a remote shell", ["--keys", key, "host", "-L", "1:a:1", "--port", "9"]),
            ("for a far end that a remote shell", ["--keys", key, "host", "-L", "1:a:1", "--rsh", "rsh"]),
            ("for a far end that a remote shell", ["--keys", key, "--stdio", "host", "a:1", "--far-program", "x"]),
            ("for a far end that a remote shell", ["--keys", key, "--serve", "*", "--far-program", "x"]),
            ("--address is for the near end", ["--keys", key, "--serve", "*", "--address", "::1"]),
            ("--window: '255K' is not", ["host", "-L", "1:a:1", "--window", "255K"]),
            ("--stdio needs --keys", ["--stdio", "host", "a:1"]),
            ("'host:0' is not HOST[:PORT]", ["--keys", key, "host:0", "-L", "1:a:1"]),
            ("'host:0' is not HOST[:PORT]", ["--keys", key, "--stdio", "host:0", "a:1"]),
            ("'a:0' is not HOST:PORT", ["--keys", key, "--stdio", "host", "a:0"]),
            ("'a b:1' is not HOST:PORT", ["--keys", key, "--stdio", "host", "a b:1"]),
            ("has no users: 'me@host'", ["--keys", key, "me@host", "-L", "1:a:1"])):
        status, text = run(*arguments)
        place.check(f"{arguments}", status == 2 and said in text)
    pair = key + ".pair"
    subprocess.run([program("zcrp-keys"), "generate", "raw", pair], check=True)
    for arguments in (["--serve", "*:0"], ["127.0.0.1:9", "-L", "0:127.0.0.1:1"], ["--stdio", "127.0.0.1:9", "a:1"]):
        status, text = run("--keys", pair, *arguments)
        place.check(f"a key pair, {arguments}",
                    status == 3 and "is a key pair, but --keys needs a pre-shared key" in text)
    status, text = run("--keys", key, "127.0.0.1:9", "-L", "0:127.0.0.1:1")
    place.check("a key that others can read", status == 3 and "others" in text or "mode" in text)


# ---- ends that stand still, or die

def paused(place):
    """The far end gets no processor for 7 s, in the middle of handshakes: each of them goes on afterwards."""
    results = []
    with Target.echo() as echo, Far(place, echo) as far, Near(far, echo) as near:
        threads = [threading.Thread(target=lambda: results.append(echoes(near.port, b"x" * 5000)))
                   for _ in range(150)]
        for thread in threads:
            thread.start()
        while not results and threads[0].is_alive():
            time.sleep(0.001)
        far.process.send_signal(signal.SIGSTOP)
        time.sleep(7)
        far.process.send_signal(signal.SIGCONT)
        for thread in threads:
            thread.join()
        place.check(f"no stream is lost: {set(near.lines)}", results == [True] * 150)


def ends_with_error(client):
    try:
        fetch(client)
        return False
    except ConnectionError:
        return True


def killed_far(place):
    """The far end is killed in the middle: an error at either side, and the tunnel comes back with it."""
    had_error = []

    def serve(client):
        client.sendall(b"x")
        had_error.append(ends_with_error(client))
    with Target(serve) as target, Far(place, target) as far, Near(far, target) as near:
        with connect(near.port) as client:
            client.recv(1)
            far.kill()
            target.wait()
            place.check(f"the target's stream has an error: {had_error}", had_error == [True])
    with Target.echo() as echo, Far(place, echo) as far, \
            Near(far, echo, "--silence", "3") as near:
        with connect(near.port) as client:
            client.sendall(b"x" * 1000)
            client.recv(1000, socket.MSG_WAITALL)
            far.kill()
            far.start(far.port)
            place.check("the stream that was there has an error", ends_with_error(client))
        place.check("the user is told", near.said("lost 127.0.0.1"))
        place.check("and it comes back", near.said("connected to 127.0.0.1 again", 20))
        place.check("new streams go on", echoes(near.port, b"x" * 100000))


def killed_near(place):
    """The near end is killed in the middle: the far end lets go of the target."""
    ended = threading.Event()

    def serve(client):
        try:
            client.sendall(b"x")
            fetch(client)
        except ConnectionError:
            ended.set()
    with Target(serve) as target, Far(place, target, "--silence", "3") as far, \
            Near(far, target) as near:
        with connect(near.port) as client:
            client.recv(1)
            near.kill()
            place.check("the client's stream has an error", ends_with_error(client))
            place.check("the target's stream has an error", ended.wait(20))
        place.check("nothing is left", place.soon(lambda: far.counts()["connections"] == 0))


class NearByNohup(Near):
    started_by = ("nohup",)


def hung_up(place):
    """What the parent had ignored stays so."""
    with Target.echo() as echo, Far(place, echo) as far, NearByNohup(far, echo) as near:
        near.process.send_signal(signal.SIGHUP)
        place.check("a tunnel whose SIGHUP is ignored goes on",
                    echoes(near.port, b"x" * 1000) and echoes(near.port, b"x" * 1000))


# ---- other ways in

def reverse(place):
    """-R: clients come to the far end."""
    with Target.echo() as echo, Far(place, None, "--allow-listen", "127.0.0.1:*") as far:
        with Near(far, None, "-R", f"0:127.0.0.1:{echo.port}", "-v") as near:
            port = near.listens_far()
            place.check("a stream", echoes(port, random_bytes(MEGABYTE)))
            results = []
            threads = [threading.Thread(target=lambda: results.append(echoes(port, b"x" * 5000)))
                       for _ in range(100)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            place.check("100 at once", results == [True] * 100)
        place.check("the door closes with the near end", place.soon(lambda: not can_connect(port)))
    with Target.echo() as echo, Far(place, echo) as far:
        with Near(far, None, "-R", f"0:127.0.0.1:{echo.port}") as near:
            place.check("it has to be allowed", near.said("does not listen on port 0: the far end "
                                                          "does not allow it"))


def restarted_near(place):
    """A near end is killed, and started again at once: the far end still has its port, and listens for the new one
    as soon as it has given up the old one."""
    address = "127.0.0.2"  # on which nobody else takes the port meanwhile
    with Target.echo() as echo, Far(place, None, "--allow-listen", f"{address}:*", "--silence", "3") as far:
        with Near(far, None, "-R", f"{address}:0:127.0.0.1:{echo.port}") as near:
            port = near.listens_far()
            near.kill()
        with Near(far, None, "-R", f"{address}:{port}:127.0.0.1:{echo.port}", "-v") as near:
            place.check("it listens again", near.said(f" listens on port {port} for", 60))
            with socket.create_connection((address, port), PATIENCE) as client:
                client.sendall(b"hello")
                place.check("a stream", client.recv(5, socket.MSG_WAITALL) == b"hello")
            place.check(f"the user is told of a refusal once: {near.lines}",
                        sum("does not listen" in line for line in near.lines) <= 1)


def can_connect(port):
    try:
        connect(port).close()
        return True
    except ConnectionError:
        return False


def socks_request(client, kind, host, port, command=1):
    client.sendall(b"\5\1\0")
    if client.recv(2) != b"\5\0":
        return None
    address = bytes([len(host)]) + host if kind == 3 else host
    client.sendall(bytes([5, command, 0, kind]) + address + port.to_bytes(2, "big"))
    answer = client.recv(10, socket.MSG_WAITALL)
    return answer[1] if len(answer) == 10 else None


def turned_away(client):
    try:
        return fetch(client) in (b"", b"\5\xff")
    except ConnectionError:
        return True


def socks(place):
    """SOCKS5: names and addresses, what is not allowed, and rubbish."""
    with Target.echo() as echo, Far(place, echo, "--allow", f"localhost:{echo.port}") as far:
        with Near(far, None, "--socks", "0") as near:
            for kind, host in ((1, bytes([127, 0, 0, 1])), (3, b"localhost")):
                with connect(near.port) as client:
                    place.check(f"kind {kind}", socks_request(client, kind, host, echo.port) == 0)
                    client.sendall(b"hello")
                    place.check("bytes come back", client.recv(5, socket.MSG_WAITALL) == b"hello")
            for name, wanted, request in (
                    ("not allowed", 2, (3, b"elsewhere", 80)), ("no command", 7, (1, bytes(4), 1, 2)),
                    ("a name that is none", 4, (3, b"a b", 80))):
                with connect(near.port) as client:
                    place.check(name, socks_request(client, *request) == wanted)
            for rubbish in (b"GET / HTTP/1.0\r\n\r\n", b"\5\0", b"\5\1\2"):
                with connect(near.port) as client:
                    client.sendall(rubbish)
                    place.check(f"{rubbish} is turned away", turned_away(client))


def socks_burst(place):
    """Hundreds of SOCKS clients ask at once: each has to wait until the far end has room for its connection."""
    with Target.echo() as echo, Far(place, echo) as far, Near(far, None, "--socks", "0") as near:
        clients = [connect(near.port) for _ in range(200)]
        for said in (b"\5\1\0", bytes([5, 1, 0, 1, 127, 0, 0, 1]) + echo.port.to_bytes(2, "big")):
            for client in clients:
                client.sendall(said)
        served = 0
        for client in clients:
            with client:
                try:
                    client.shutdown(socket.SHUT_WR)
                    served += fetch(client)[:4] == b"\5\0\5\0"
                except OSError:
                    pass
        place.check(f"{served} of 200 are served: {set(near.lines)}", served == 200)


def socks_reset(place):
    """A SOCKS client that sends before it has its answer, and resets: what it sent arrives before."""
    piece, heard = random_bytes(1000), []
    with Target(lambda client: heard.append(fetch_to_reset(client))) as target, Far(place, target) as far, \
            Near(far, None, "--socks", "0") as near:
        place.check("connections are ready", place.soon(lambda: far.counts()["connections"] > 1))
        client = connect(near.port)
        far.process.send_signal(signal.SIGSTOP)
        client.sendall(b"\5\1\0" + bytes([5, 1, 0, 1, 127, 0, 0, 1]) + target.port.to_bytes(2, "big"))
        for sent in range(1, 5):  # so many small messages may be under way
            client.sendall(piece)
            place.check(f"{sent} pieces go", place.soon(lambda size=1000 * sent: near.counts()["bytes_out"] == size))
        client.sendall(piece)
        Target.reset(client)
        far.process.send_signal(signal.SIGCONT)
        place.check("its end is a reset, behind all of it", place.soon(lambda: heard == [5 * piece]))


# ---- by a remote shell, and on standard input

def shell(place, *lines):
    """A remote shell that runs the far end here; it leaves its process number in the file "pid"."""
    path = place.file("rsh")
    with open(path, "w", encoding="ascii") as script:
        script.write("\n".join(["#!/bin/sh", *lines, "shift", f"echo $$ >{path}.pid",
                                'exec "$@"', ""]))
    os.chmod(path, 0o755)
    return path


def pid_of(path):
    """The far end that the script at this path has started last."""
    with open(f"{path}.pid", encoding="ascii") as file:
        return int(file.read())


def by_shell(place):
    """The far end is started, restarted when it is lost, and ends with the near end."""
    rsh = shell(place, "echo Welcome to this host")
    with Target.echo() as echo, Near.by_shell(place, echo, rsh) as near:
        place.check("a stream", echoes(near.port, random_bytes(MEGABYTE)))
        first = pid_of(rsh)
        with connect(near.port) as client:
            client.sendall(b"x" * 1000)
            client.recv(1000, socket.MSG_WAITALL)
            os.kill(first, signal.SIGKILL)
            place.check("an error when it is killed", ends_with_error(client))
        place.check("the user is told", near.said("the remote shell has ended; trying again"))
        place.check("it is started again", near.said("connected to 127.0.0.1 again", 20))
        place.check("new streams go on", echoes(near.port, b"x" * 100000))
        second = pid_of(rsh)
        near.kill()
        place.check("it ends with the near end", place.soon(
            lambda: not os.path.exists(f"/proc/{second}") or is_zombie(second)))
    for lines, said in ((("exit 5",), "ended without an answer, with status 5"),
                        (("echo zcrp-tunnel 9 1 2", "exit 0"), "another version of zcrp-tunnel"),
                        (("exit 127",), "is zcrp-tunnel there?")):
        status, text = run("-e", shell(place, *lines), "somewhere", "-L", "0:127.0.0.1:1")
        place.check(f"{lines}", status == 3 and said in text)
    status, text = run("--far")
    place.check("a far end that nobody has started", status == 2 and "--far is for" in text)
    status, text = run("-oProxyCommand=x", "-L", "1:a:1")
    place.check("an option as a host", status == 2)


def shell_stays(place):
    """The far end is lost, and the remote shell goes on until the near end lets go of it: nothing is left of it."""
    path = place.file("rsh-stays")
    with open(path, "w", encoding="ascii") as script:
        script.write('#!/bin/sh\nshift\nexec 3<&0\n"$@" <&3 &\n'
                     f'echo $! >{path}.pid\nwait $!\ncat <&3 >/dev/null\n')
    os.chmod(path, 0o755)

    def pipes():
        return sum(near.link(fd).startswith("pipe:") for fd in os.listdir(f"/proc/{near.process.pid}/fd"))
    with Target.echo() as echo, Near.by_shell(place, echo, path, "--silence", "3") as near:
        place.check("a stream", echoes(near.port, b"x" * 1000))
        before = pipes()
        os.kill(pid_of(path), signal.SIGKILL)
        place.check("it is started again", near.said("connected to 127.0.0.1 again", 30))
        place.check(f"with as many pipes: {before}, {pipes()}", pipes() == before)


def shell_is_cut_off(place):
    """The near end is gone, and the login at the far end does not notice: the far end ends by its tunnel's end."""
    path = place.file("rsh-cut")
    with open(path, "w", encoding="ascii") as script:
        script.write('#!/bin/sh\nshift\nexec 3<&0\n{ cat <&3; exec sleep 60; } | '
                     f"sh -c 'echo $$ >{path}.pid; exec \"$@\"' sh \"$@\"\n")
    os.chmod(path, 0o755)
    with Target.echo() as echo, Near.by_shell(place, echo, path, "--silence", "3") as near:
        place.check("a stream", echoes(near.port, b"x" * 1000))
        far = pid_of(path)
        near.kill()
        place.check("it ends", place.soon(lambda: not os.path.exists(f"/proc/{far}") or is_zombie(far), 40))


class Relay:
    """Passes datagrams between near ends and a far end, whose port it reads from a file, until it cuts them off."""
    def __init__(self, path):
        self.path = path
        self.front = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.front.bind(("127.0.0.1", 0))
        self.port = self.front.getsockname()[1]
        self.ways, self.cut = {}, set()
        threading.Thread(target=self.forth, daemon=True).start()

    def forth(self):
        while True:
            datagram, near = self.front.recvfrom(65536)
            if near not in self.ways and not self.cut:
                self.ways[near] = way = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                with open(self.path, encoding="ascii") as file:
                    way.connect(("127.0.0.1", int(file.read())))
                threading.Thread(target=self.back, args=(way, near), daemon=True).start()
            if near in self.ways and near not in self.cut:
                self.try_to(self.ways[near].send, datagram)

    def back(self, way, near):
        while True:
            datagram = self.try_to(way.recv, 65536)
            if datagram and near not in self.cut:
                self.try_to(self.front.sendto, datagram, near)

    @staticmethod
    def try_to(do, *arguments):
        """The peer of one may be gone, and the others go on."""
        try:
            return do(*arguments)
        except ConnectionError:
            return None

    def cut_off(self, count=None):
        """So many that came first, or all; nobody else comes any more."""
        self.cut = set(list(self.ways)[:count])


def shell_hangs(place):
    """The tunnel is lost a little before its streams are, and the remote shell does not answer when it starts another
    far end: clients have an error all the same, and do not wait for it."""
    path = place.file("rsh-hangs")
    relay = Relay(path + ".port")
    with open(path, "w", encoding="ascii") as script:
        script.write(f"#!/bin/sh\nshift\n[ -e {path}.port ] && exec sleep 60\n"
                     '"$@" | {\nread -r nothing\nread -r name version port same\n'
                     f"echo $port >{path}.port\necho $name $version {relay.port} 0\ncat\n}}\n")
    os.chmod(path, 0o755)
    with Target.echo() as echo, Near.by_shell(place, echo, path, "--silence", "6") as near, \
            connect(near.port) as client:
        client.sendall(b"x")
        place.check("a stream", client.recv(1) == b"x")
        start, has_error = time.monotonic(), False
        try:
            relay.cut_off(1)  # the tunnel's own connection
            while time.monotonic() < start + 3:
                client.sendall(b"x")
                client.recv(1)
                time.sleep(0.1)
            relay.cut_off()
            fetch(client)
        except ConnectionError:
            has_error = True
        place.check("its client has an error", has_error)
        place.check("the user is told", near.said("lost 127.0.0.1"))


def is_zombie(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def stdio(place):
    """One stream on standard input and output, with pipes, files and refusals."""
    heard = []
    with Target.echo() as echo, Far(place, echo) as far:
        arguments = ["--keys", place.key("key"), "--stdio", far.address]
        for size in (0, 10, 3 * MEGABYTE):
            data = random_bytes(size)
            done = subprocess.run([program("zcrp-tunnel"), *arguments, f"127.0.0.1:{echo.port}"],
                                  input=data, stdout=subprocess.PIPE, timeout=60, check=False)
            place.check(f"{size} bytes", done.returncode == 0 and done.stdout == data)
        with Far(place, None, "--allow", "*:*") as all_of_them, Target(lambda client: (
                client.sendall(b"first"), client.shutdown(socket.SHUT_WR), heard.append(fetch(client)))) as first:
            with subprocess.Popen([program("zcrp-tunnel"), *arguments[:3], all_of_them.address,
                                   f"localhost:{first.port}"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE) as process:
                place.check("the target ends first", process.stdout.read() == b"first")
                process.stdin.write(data)
                process.stdin.close()
                place.check("and its client afterwards", process.wait(30) == 0)
            first.wait()
            place.check("with all its bytes", heard == [data])
        path = place.file("data")
        with open(path, "wb") as file:
            file.write(data)
        with open(path, "rb") as source, open(path + ".out", "wb") as sink:
            status = subprocess.run([program("zcrp-tunnel"), *arguments, f"127.0.0.1:{echo.port}"],
                                    stdin=source, stdout=sink, timeout=60, check=False).returncode
        with open(path + ".out", "rb") as file:
            place.check("files", status == 0 and file.read() == data)
        status, said = run(*arguments, "127.0.0.1:1")
        place.check("not allowed", status == 1 and "127.0.0.1:1: refused: " in said)
        master, terminal = os.openpty()
        subprocess.run([program("zcrp-tunnel"), *arguments, "127.0.0.1:1"], stdin=terminal, stdout=terminal,
                       stderr=subprocess.DEVNULL, timeout=60, check=False)
        place.check("a terminal blocks again", os.get_blocking(terminal))
        os.close(master)
        os.close(terminal)
        status, said = run("--keys", place.key("key"), "--stdio", "127.0.0.1:9", "127.0.0.1:1")
        place.check("no far end", status == 3 and "nobody listens" in said)


def stdio_counts(place):
    """What has come is counted, though standard input has ended."""
    def serve(client):
        fetch(client)
        client.sendall(b"hello")
        release.wait(PATIENCE)
    release = threading.Event()
    with Target(serve) as target, Far(place, target) as far, \
            subprocess.Popen([program("zcrp-tunnel"), "--keys", place.key("key"), "--stdio", far.address,
                              f"127.0.0.1:{target.port}"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE) as process:
        place.check("an answer", process.stdout.read(5) == b"hello")
        process.send_signal(signal.SIGUSR1)
        place.check("its bytes", b'"bytes_in": 5,' in process.stderr.readline())
        release.set()
        place.check("its end", process.wait(30) == 0)


def stdio_shared(place):
    """Others have standard input and output, too: reads and writes of theirs block."""
    with Target.echo() as echo, Far(place, echo) as far:
        command = [program("zcrp-tunnel"), "--keys", place.key("key"), "--stdio", far.address,
                   f"127.0.0.1:{echo.port}"]
        source, into = os.pipe()
        out, sink = os.pipe()
        with subprocess.Popen(command, stdin=source, stdout=sink) as process:
            os.write(into, b"hello")
            place.check("a stream through pipes", os.read(out, 5) == b"hello")
            place.check("pipes block meanwhile", os.get_blocking(source) and os.get_blocking(sink))
            os.close(into)
            place.check("its end", process.wait(30) == 0)
        place.check("pipes block afterwards", os.get_blocking(source) and os.get_blocking(sink))
        for fd in (source, out, sink):
            os.close(fd)
        here, there = socket.socketpair()
        with here, there, subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=there) as process:
            place.check("the end of one to a socket", process.wait(30) == 0)
            place.check("it blocks afterwards", os.get_blocking(there.fileno()))


def stdio_socket(place):
    """Standard input and output are one socket: each direction ends by itself."""
    data, heard = random_bytes(MEGABYTE), []

    def serve(client):
        client.sendall(b"first")
        client.shutdown(socket.SHUT_WR)
        heard.append(fetch(client))
    here, there = socket.socketpair()
    with Target(serve) as target, Far(place, target) as far, here:
        with subprocess.Popen([program("zcrp-tunnel"), "--keys", place.key("key"), "--stdio", far.address,
                               f"127.0.0.1:{target.port}"], stdin=there, stdout=there) as process:
            there.close()
            here.settimeout(20)
            try:
                place.check("the target ends first", fetch(here) == b"first")
            except TimeoutError:
                place.check("the target's end arrives", False)
            here.settimeout(None)
            here.sendall(data)
            here.shutdown(socket.SHUT_WR)
            place.check("and its client afterwards", process.wait(30) == 0)
        target.wait()
        place.check("with all its bytes", heard == [data])


def stdio_unread(place):
    """Nobody reads standard output: what comes in is sent all the same, and an answer is an error."""
    data, heard = random_bytes(3 * MEGABYTE), []

    def talk(client):
        while True:
            client.sendall(bytes(65536))
    with Target(lambda client: heard.append(fetch(client))) as quiet, Target(talk) as talker, \
            Far(place, quiet, "--allow", f"127.0.0.1:{talker.port}") as far:
        for target, is_read in ((quiet, False), (talker, False), (talker, True)):
            out, end = os.pipe()
            with subprocess.Popen([program("zcrp-tunnel"), "--keys", place.key("key"), "--stdio", far.address,
                                   f"127.0.0.1:{target.port}"], stdin=subprocess.PIPE, stdout=end,
                                  stderr=subprocess.DEVNULL) as process:
                os.close(end)
                if is_read: # until the pipe is full
                    place.check("an answer begins", len(os.read(out, 1)) == 1)
                    time.sleep(0.5)
                os.close(out)
                if target is quiet:
                    time.sleep(0.5)
                    process.stdin.write(data)
                    process.stdin.close()
                place.check(f"its end: {target is quiet}, {is_read}", process.wait(30) == (target is talker))
        quiet.wait()
        place.check("all bytes arrive", heard == [data])


def few_descriptors(place):
    """Without descriptors for clients the near end says so now and then, and goes on when there are some."""
    with Target.echo() as echo, Far(place, echo) as far, Near(far, echo, "--warm", "0") as near:
        place.check("a stream", echoes(near.port, b"x"))
        pid = near.process.pid
        place.check("that is over", place.soon(lambda: near.counts()["connections"] == 1))
        usual, taken = resource.prlimit(pid, resource.RLIMIT_NOFILE), os.listdir(f"/proc/{pid}/fd")
        free = next(fd for fd in range(len(taken) + 1) if str(fd) not in taken)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (free, usual[1]))
        with connect(near.port) as client:
            client.sendall(b"x")
            time.sleep(3)
            complaints = [line for line in near.lines if "cannot accept a client" in line]
            place.check(f"it complains once: {len(complaints)}", 1 <= len(complaints) <= 2)
            resource.prlimit(pid, resource.RLIMIT_NOFILE, usual)
            place.check("the client is served", client.recv(1) == b"x")


if __name__ == "__main__":
    main(program("zcrp-tunnel"), Place, [
        streams, all_addresses, by_address, frugal, speaks_first, many, slow_reader, slow_target, reset,
        reset_behind_data, urgent_data, reset_while_nobody_reads, refused, strangers, other_program, command_line,
        paused, killed_far, killed_near, hung_up, reverse,
        restarted_near, socks, socks_burst, socks_reset, by_shell, shell_stays, shell_is_cut_off, shell_hangs, stdio,
        stdio_counts, stdio_shared, stdio_socket, stdio_unread, few_descriptors])
