"""Servers that people use, at one end of a zcrp-link, for tests and measurements of zcrp-tunnel.

    services.py FOLDER [NAME...]   starts those whose programs are there, then zcrp-tunnel --serve; ends with SIGTERM

All belong to the caller, in FOLDER, and end with it. They listen at all addresses: their network is the link's.
ZCRP_TCP names the congestion control of that network's TCP. FOLDER/started has their names, a line each, as soon as
they listen.
"""
import glob
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time

PORTS = {"http": 8080, "h2": 8081, "rsync": 8730, "ssh": 2222, "postgres": 5433, "iperf3": 5201}
FAR_PORT, KCP_PORT = 7000, 4000
KCP = ["--mode", "fast3", "--crypt", "aes-128", "--key", "x", "--nocomp", "--sndwnd", "2048", "--rcvwnd", "2048"]
BUILD = os.path.abspath(os.environ.get("ZCRP_BUILD", "build"))
TUNNEL = os.path.join(BUILD, "zcrp-tunnel")
BIG, MANY, FILES = "big", "tree", 2000


def find(name):
    """The path of a program, also where a user's PATH does not lead."""
    places = os.environ["PATH"] + ":/usr/sbin:" + ":".join(sorted(glob.glob("/usr/lib/postgresql/*/bin")))
    return shutil.which(name, path=places)


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def quietly(*words, **more):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)


def make_data(folder, big=10 << 20, files=FILES, longest=4000, has_repository=True):
    """FOLDER/www: a large file, a tree of small ones, maybe a repository with these; FOLDER/key: the tunnel's."""
    www, chance = os.path.join(folder, "www"), random.Random(1)
    for i in range(files):
        path = os.path.join(www, MANY, str(i // 100), f"file{i}")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write(path, f"{chance.getrandbits(8 * chance.randint(10, longest)):x}\n")
    with open(os.path.join(www, BIG), "wb") as file:
        file.write(chance.randbytes(big))
    quietly(os.path.join(BUILD, "zcrp-keys"), "generate", "psk", "tunnel", os.path.join(folder, "key"))
    if has_repository and find("git"):
        tree, git = os.path.join(www, MANY), ["git", "-c", "user.name=x", "-c", "user.email=x@localhost"]
        quietly("git", "init", "-q", tree)
        quietly(*git, "add", ".", cwd=tree)
        quietly(*git, "commit", "-q", "-m", "all", cwd=tree)
        quietly("git", "clone", "-q", "--bare", tree, os.path.join(www, "repo.git"))
        quietly("git", "repack", "-q", "-a", "-d", cwd=os.path.join(www, "repo.git"))
        quietly("git", "update-server-info", cwd=os.path.join(www, "repo.git"))
    if find("openssl"):
        quietly("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                "/CN=localhost", "-keyout", os.path.join(folder, "tls.key"), "-out", os.path.join(folder, "tls.crt"))
    if find("ssh-keygen"):
        for name in ("host_key", "user_key"):
            quietly("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", os.path.join(folder, name))
        shutil.copy(os.path.join(folder, "user_key.pub"), os.path.join(folder, "authorized"))


def use_congestion(control):
    """TCP of this network uses this congestion control from now on; None: the system's."""
    for route in subprocess.run(["ip", "-o", "route", "show"], stdout=subprocess.PIPE, text=True,
                                check=True).stdout.splitlines() if control else ():
        quietly("ip", "route", "replace", *route.split(), "congctl", control)


def nginx(folder):
    # curl and nginx do not agree on HTTP/2 without TLS when there are several requests at once.
    place = "".join(f"{kind}_temp_path {folder}/tmp; " for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    user = "user root; " if os.geteuid() == 0 else ""
    return [find("nginx"), "-c", write(f"{folder}/nginx.conf", f"""
        {user}daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
        events {{ worker_connections 4096; }}
        http {{ access_log off; {place} root {folder}/www;
            server {{ listen {PORTS["http"]}; }} 
            server {{ listen {PORTS["h2"]} ssl http2;
                      ssl_certificate {folder}/tls.crt; ssl_certificate_key {folder}/tls.key; }} }}""")]


def rsync(folder):
    return [find("rsync"), "--daemon", "--no-detach", f"--port={PORTS['rsync']}", "--config=" + write(
        f"{folder}/rsyncd.conf", f"use chroot = no\nuid = {os.geteuid()}\ngid = {os.getegid()}\n"
        f"log file = {folder}/rsync.log\n[www]\npath = {folder}/www\nread only = yes\n")]


def sshd(folder):
    if os.geteuid() == 0:
        os.makedirs("/run/sshd", exist_ok=True)
    return [find("sshd"), "-D", "-f", write(
        f"{folder}/sshd.conf", f"Port {PORTS['ssh']}\nHostKey {folder}/host_key\n"
        f"AuthorizedKeysFile {folder}/authorized\nStrictModes no\nUsePAM no\nPidFile none\n"
        "PermitRootLogin yes\nMaxStartups 100\nSubsystem sftp internal-sftp\n")]


def postgres(folder):
    """Not root: it would refuse."""
    place, drop = f"{folder}/postgres", []
    shutil.rmtree(place, ignore_errors=True)
    os.mkdir(place)
    if os.geteuid() == 0:
        drop = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        os.chmod(folder, 0o711)
        shutil.chown(place, "postgres", "postgres")
    quietly(*drop, find("initdb"), "-D", f"{place}/data", "-A", "trust", "-N", "-U", "x", cwd=place)
    with open(f"{place}/data/pg_hba.conf", "a", encoding="utf-8") as file:
        file.write("host all all 0.0.0.0/0 trust\n")
    return [*drop, find("postgres"), "-D", f"{place}/data", "-p", str(PORTS["postgres"]), "-k", place, "-F",
            "-c", "listen_addresses=*"]


def iperf3(_):
    return [find("iperf3"), "-s", "-p", str(PORTS["iperf3"])]


NEEDED = {"nginx": ["openssl"], "sshd": ["ssh-keygen"], "postgres": ["initdb", "pgbench"]}
SERVICES = {"nginx": (nginx, ["http", "h2"]), "rsync": (rsync, ["rsync"]), "sshd": (sshd, ["ssh"]),
            "postgres": (postgres, ["postgres"]), "iperf3": (iperf3, ["iperf3"])}


def listens(port, limit=20.0):
    end = time.monotonic() + limit
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return True
        except OSError:
            time.sleep(0.05)
    return False


def serve(folder, only=tuple(SERVICES)):
    """Starts all, and waits for a signal to end."""
    processes, started = [], []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    use_congestion(os.environ.get("ZCRP_TCP"))
    if find("kcptun-server"):
        processes.append(subprocess.Popen(["kcptun-server", "-t", f"127.0.0.1:{PORTS['http']}", "-l", f":{KCP_PORT}",
                                           *KCP], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    os.makedirs(f"{folder}/tmp", exist_ok=True)
    with open(f"{folder}/log", "w", encoding="utf-8") as log:
        try:
            for name in only:
                start, ports = SERVICES[name]
                if any(find(program) is None for program in [name, *NEEDED.get(name, [])]):
                    continue
                processes.append(subprocess.Popen(start(folder), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                  cwd="/"))
                if all(listens(PORTS[port]) for port in ports):
                    started.append(name)
            if "postgres" in started:
                quietly(find("pgbench"), "-i", "-q", "-h", "127.0.0.1", "-p", str(PORTS["postgres"]), "-U", "x",
                        "postgres")
            write(f"{folder}/started", "\n".join(started))
            processes.append(subprocess.Popen([TUNNEL, "--serve", f"*:{FAR_PORT}", "--keys", f"{folder}/key",
                                               "--allow", "*:*"], stdin=subprocess.DEVNULL, stdout=log, stderr=log))
            write(f"{folder}/far.pid", str(processes[-1].pid))
            processes[-1].wait()
        finally:
            for process in processes:
                is_postgres = process.args[-1] == "listen_addresses=*"  # to a SIGTERM it would wait for its clients
                process.send_signal(signal.SIGINT if is_postgres else signal.SIGTERM)
            for process in processes:
                process.wait()


if __name__ == "__main__":
    serve(sys.argv[1], *([sys.argv[2:]] if len(sys.argv) > 2 else []))
