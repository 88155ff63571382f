"""What the tests of zcrp-tunnel share: its ends, TCP targets, and how a test is told of."""
import concurrent.futures
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback

BUILD = os.path.abspath(os.environ.get("ZCRP_BUILD", "build"))
PATIENCE = 30.0
SKIP = 77


def program(name):
    return os.path.join(BUILD, name)


def run(*arguments, timeout=60):
    """zcrp-tunnel with these arguments: its status, and what it said."""
    done = subprocess.run([program("zcrp-tunnel"), *arguments], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=timeout, check=False)
    return done.returncode, done.stdout


def connect(port, receive_buffer=0):
    client = socket.socket()
    if receive_buffer:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    client.settimeout(PATIENCE)
    client.connect(("127.0.0.1", port))
    return client


def fetch(client):
    """All bytes up to the end."""
    pieces = []
    while piece := client.recv(1 << 20):
        pieces.append(piece)
    return b"".join(pieces)


class Place:
    """A folder for keys, and what the checks have said."""
    def __init__(self, folder):
        self.folder = folder
        self.checks = self.failures = 0

    def key(self, name):
        path = self.file(name)
        if not os.path.exists(path):
            subprocess.run([program("zcrp-keys"), "generate", "psk", name, path], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return path

    def file(self, name):
        return os.path.join(self.folder, name)

    def check(self, name, is_fine):
        self.checks += 1
        if not is_fine:
            self.failures += 1
            print("FAIL", name, flush=True)

    @staticmethod
    def soon(question, limit=10.0):
        end = time.monotonic() + limit
        while not question():
            if time.monotonic() > end:
                return False
            time.sleep(0.1)
        return True


class Target:
    """A TCP server: each client is served by a thread."""
    def __init__(self, serve):
        self.serve = serve
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port = self.listener.getsockname()[1]
        self.threads = []
        threading.Thread(target=self.accept, daemon=True).start()

    @classmethod
    def echo(cls):
        def serve(client):
            while data := client.recv(1 << 16):
                client.sendall(data)
        return cls(serve)

    @staticmethod
    def reset(client):
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        client.close()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self.run, args=(client,), daemon=True)
            self.threads.append(thread)
            thread.start()

    def run(self, client):
        with client:
            try:
                self.serve(client)
            except OSError:
                pass

    def wait(self):
        for thread in self.threads:
            while thread.ident is None:
                time.sleep(0.01)
            thread.join(PATIENCE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


class End:
    """One zcrp-tunnel."""
    started_by = ()

    def __init__(self, place):
        self.place = place
        self.lines = []
        self.process = None

    def launch(self, *arguments):
        self.process = subprocess.Popen([*self.started_by, program("zcrp-tunnel"), *arguments],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        threading.Thread(target=self.listen, args=(self.process.stdout,), daemon=True).start()

    def listen(self, stream):
        for line in stream:
            self.lines.append(line.rstrip("\n"))

    def said(self, text, limit=10.0):
        return self.place.soon(lambda: any(text in line for line in self.lines), limit)

    def wait_for(self, pattern, count=1):
        def found():
            return [m for m in (re.search(pattern, line) for line in list(self.lines)) if m]
        if not self.place.soon(lambda: len(found()) >= count or self.process.poll() is not None,
                               PATIENCE) or len(found()) < count:
            raise RuntimeError(f"no {pattern}: {self.lines}")
        return [int(m.group(1)) for m in found()]

    def counts(self):
        """What it says to SIGUSR1."""
        known = len(self.lines)
        self.process.send_signal(signal.SIGUSR1)
        self.place.soon(lambda: any(line.startswith("{") for line in self.lines[known:]))
        return json.loads(next(line for line in self.lines[known:] if line.startswith("{")))

    def resident(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return int(re.search(r"RssAnon:\s*(\d+)", status.read()).group(1)) << 10

    def link(self, fd):
        """What a descriptor of its is."""
        try:
            return os.readlink(f"/proc/{self.process.pid}/fd/{fd}")
        except OSError:
            return ""

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.place.check("it ends when it is asked to", False)
                self.kill()
        if kind is not None or self.process.returncode not in (0, 143, -signal.SIGKILL):
            self.place.check(f"its end, with {self.process.returncode}: {self.lines[-20:]}", False)


class Far(End):
    """A standing far end that allows one target."""
    def __init__(self, place, target, *more):
        super().__init__(place)
        allowed = [f"127.0.0.1:{target.port}"] if target is not None else []
        self.arguments = [a for target in allowed for a in ("--allow", target)] + list(more)
        self.start(0)

    def start(self, port):
        self.lines.clear()
        self.launch("--serve", f"127.0.0.1:{port}", "--keys", self.place.key("key"),
                    *self.arguments)
        self.port = self.wait_for(r"serves UDP port (\d+)")[0]
        self.address = f"127.0.0.1:{self.port}"


class Near(End):
    """A near end; with a target it listens for that, else as its arguments say."""
    def __init__(self, far, target, *more):
        super().__init__(far.place)
        local = ["-L", f"0:127.0.0.1:{target.port}"] if target is not None else []
        self.launch("--keys", far.place.key("key"), far.address, *local, *more)
        count = (local + list(more)).count("-L") + more.count("--socks")
        self.ports = self.wait_for(r"listens on port (\d+)$", count) if count else []
        self.port = self.ports[0] if count else None

    @classmethod
    def by_shell(cls, place, target, rsh, *more):
        """Through a far end that a remote shell starts."""
        near = cls.__new__(cls)
        End.__init__(near, place)
        near.launch("-e", rsh, "--far-program", program("zcrp-tunnel"), "user@127.0.0.1", "-L",
                    f"0:127.0.0.1:{target.port}", *more)
        near.port = near.wait_for(r"listens on port (\d+)$")[0]
        return near

    def listens_far(self):
        return self.wait_for(r" listens on port (\d+) for ")[0]


def run_test(place, test):
    start = time.monotonic()
    try:
        test(place)
    except Exception:  # pylint: disable=broad-except
        traceback.print_exc()
        place.check(test.__name__, False)
    if os.environ.get("V") == "1":
        print(f"{test.__name__}: {time.monotonic() - start:.1f} s", flush=True)


def main(needed, place_of, tests, at_once=4):
    """Runs the tests, several at once, or those that the command line names."""
    if not os.access(needed, os.X_OK):
        print(f"no {needed}: run make first")
        sys.exit(SKIP)
    chosen = [t for t in tests if t.__name__ in sys.argv[1:] or len(sys.argv) == 1]
    with tempfile.TemporaryDirectory() as folder:
        place = place_of(folder)
        try:
            place.key("key")
        except subprocess.CalledProcessError:
            print("the library was built without keys")
            sys.exit(SKIP)
        with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
            list(pool.map(lambda test: run_test(place, test), chosen))
    print(f"{place.checks - place.failures} of {place.checks} checks passed")
    sys.exit(place.failures > 0)
