#!/usr/bin/env python3
# load: alone
# stage: check-all
"""zcrp-tunnel with the programs that people use, over a zcrp-link of 100 Mb/s and 40 ms that loses 1 %: each copies
what it can copy, whole. A program that is not here is passed over, by name.

    tunnel_programs_test.py [NAME...]           all, or these
    tunnel_programs_test.py --near FOLDER ...   one end, as zcrp-link runs it
"""
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "support"), os.path.join(HERE, "..", "..", "..", "tools", "lab")]
import services  # noqa: E402
import tunnel  # noqa: E402

LINK = ["--rate", "100M", "--delay", "20ms", "--loss", "1%", "--quiet"]
FAR = f"198.18.0.2:{services.FAR_PORT}"
LOCAL = {name: port + 10000 for name, port in services.PORTS.items()}
LIMIT = 120


class Near:
    """What the tests share: folders, and how clients are run."""
    def __init__(self, folder):
        self.www = os.path.join(folder, "www")
        self.key = os.path.join(folder, "key")
        self.user_key = os.path.join(folder, "user_key")
        self.got = tempfile.mkdtemp(dir=folder)

    def path(self, name):
        return os.path.join(self.got, name)

    def ssh(self):
        """The command of ssh, for programs that start it."""
        return (f"ssh -q -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null "
                f"-i {self.user_key} -o 'ProxyCommand={services.TUNNEL} --keys {self.key} --stdio {FAR} "
                f"127.0.0.1:{services.PORTS['ssh']}'")


def ran(*words, **more):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=LIMIT, check=False, **more)
    if done.returncode != 0:
        print(*words, done.stdout[-2000:], flush=True)
    return done.returncode == 0


def is_same(one, other):
    return ran("diff", "-r", "-q", "--exclude=.git", one, other)


def curl(near):
    big = os.path.join(near.www, services.BIG)
    yield "1.1", ran("curl", "-sSf", "-o", near.path("big"), f"http://127.0.0.1:{LOCAL['http']}/big") and \
        is_same(big, near.path("big"))
    words = ["curl", "-sSf", "-k", "--http2", "--parallel", "--parallel-max", "20"]
    for i in range(20):
        words += ["-o", near.path(f"h2-{i}"), f"https://127.0.0.1:{LOCAL['h2']}/{services.MANY}/0/file{i}"]
    yield "HTTP/2, 20 streams", ran(*words) and all(
        is_same(os.path.join(near.www, services.MANY, "0", f"file{i}"), near.path(f"h2-{i}")) for i in range(20))


def rsync(near):
    tree = os.path.join(near.www, services.MANY)
    yield "daemon", ran("rsync", "-a", f"rsync://127.0.0.1:{LOCAL['rsync']}/www/{services.MANY}/",
                        near.path("daemon")) and is_same(tree, near.path("daemon"))
    yield "by ssh", ran("rsync", "-a", "-e", near.ssh(), f"localhost:{tree}/", near.path("by-ssh")) and \
        is_same(tree, near.path("by-ssh"))


def scp(near):
    big = os.path.join(near.www, services.BIG)
    script = services.write(near.path("ssh"), f'#!/bin/sh\nexec {near.ssh()} "$@"\n')
    os.chmod(script, 0o755)
    yield "scp", ran("scp", "-q", "-S", script, f"localhost:{big}", near.path("scp")) and is_same(big, near.path("scp"))
    batch = services.write(near.path("batch"),
                           f"get {big} {near.path('sftp')}\nput {near.path('sftp')} {near.path('back')}\n")
    yield "sftp, both ways", ran("sftp", "-q", "-S", script, "-b", batch, "localhost") and \
        is_same(big, near.path("back"))


def git(near):
    tree = os.path.join(near.www, services.MANY)
    yield "http", ran("git", "clone", "-q", f"http://127.0.0.1:{LOCAL['http']}/repo.git", near.path("http")) and \
        is_same(tree, near.path("http"))
    yield "ssh", ran("git", "clone", "-q", f"ssh://localhost{near.www}/repo.git", near.path("git-ssh"),
                     env=dict(os.environ, GIT_SSH_COMMAND=near.ssh())) and is_same(tree, near.path("git-ssh"))


def pgbench(near):
    yield "8 clients", ran(services.find("pgbench"), "-n", "-S", "-c", "8", "-T", "3", "-h", "127.0.0.1",
                           "-p", str(LOCAL["postgres"]), "-U", "x", "postgres", cwd=near.got)


def iperf3(near):
    for name, more in (("sends", []), ("receives", ["-R"])):
        time.sleep(1)  # the server is done with the one before
        yield name, ran("iperf3", "-c", "127.0.0.1", "-p", str(LOCAL["iperf3"]), "-P", "8", "-t", "3", *more,
                        cwd=near.got)


PROGRAMS = {curl: "nginx", rsync: "rsync", scp: "sshd", git: "nginx", pgbench: "postgres", iperf3: "iperf3"}


def near_end(folder, names):
    """Runs the clients beside a near end, and tells how each went: a line each."""
    place = tunnel.Place(folder)
    if not place.soon(lambda: os.path.exists(f"{folder}/started"), 60):
        sys.exit("the servers do not start")
    with open(f"{folder}/started", encoding="utf-8") as file:
        started = file.read().split()
    forwards = [word for name, port in services.PORTS.items() for word in ("-L", f"{LOCAL[name]}:127.0.0.1:{port}")]
    with subprocess.Popen([services.TUNNEL, "--keys", f"{folder}/key", FAR, *forwards]) as process:
        place.soon(lambda: services.listens(LOCAL["http"]))
        for program, server in PROGRAMS.items():
            if names and program.__name__ not in names:
                continue
            if server not in started or services.find(program.__name__) is None:
                print(f"passed over: {program.__name__}", flush=True)
                continue
            start = time.monotonic()
            for name, is_fine in program(Near(folder)):
                place.check(f"{program.__name__}, {name}", is_fine)
            print(f"{program.__name__}: {time.monotonic() - start:.1f} s", flush=True)
        process.terminate()
    print(f"{place.checks - place.failures} of {place.checks} checks passed")
    sys.exit(place.failures > 0)


def main():
    link = os.path.join(services.BUILD, "zcrp-link")
    if not all(os.access(program, os.X_OK) for program in (services.TUNNEL, link)):
        print("no zcrp-tunnel: run make first")
        sys.exit(tunnel.SKIP)
    with tempfile.TemporaryDirectory() as folder:
        services.make_data(folder)
        end = [sys.executable, "-B"]
        done = subprocess.run([link, *LINK, "--port", str(services.FAR_PORT), "--", *end, __file__, "--near", folder,
                               *sys.argv[1:], "--", *end, services.__file__, folder], check=False)
    if done.returncode == 125:
        print("no link: this needs root")
        sys.exit(tunnel.SKIP)
    sys.exit(done.returncode)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--near"]:
        near_end(sys.argv[2], sys.argv[3:])
    else:
        main()
