"""Measures zcrp:// beside tcp:// under Dask.

    make python-bench-dask                              # 256 MB from one worker to another on this host
    make python-bench-dask BENCH='--link "--rate 1G --delay 10ms --loss 1%" --rounds 1'    # over a link, as root
    make python-bench-dask BENCH='--case transpose'     # 1 GB transposed by four workers

The options of --link are those of zcrp-link. The scheduler and half of the workers are at one end, the other workers
at the other. Each result is checked.
"""
from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

import dask.array
import numpy
from distributed import Client, LocalCluster, wait

HERE, THERE, PORT = "198.18.0.1", "198.18.0.2", 8786  # the two ends of a link; the scheduler's port
BYTES = {"transfer": 256_000_000, "transpose": 1_000_000_000}
WORKERS = {"transfer": 2, "transpose": 4}
WARM_BYTES = 1_000_000  # before a measurement over a link
DESCRIPTORS = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}


# ---- the cases: each returns seconds

def make(size, key):
    return numpy.full(size, key % 251, "u1")


def look(array):
    return int(array[0]), int(array[-1]), array.nbytes


def transfer(client, size, key, here, there):
    """One worker has an array, another is to look at it."""
    array = client.submit(make, size, key, workers=[here], pure=False)
    wait(array)
    started = time.perf_counter()
    found = client.submit(look, array, workers=[there], pure=False).result()
    seconds = time.perf_counter() - started
    if found != (key % 251, key % 251, size):
        raise SystemExit("bench: the array is not what it was")
    return seconds


def transpose(client, size):
    """From bands of rows to bands of rows of what is transposed: each worker sends something to each."""
    n = int((size / 8) ** 0.5) // 16 * 16
    bands = (n // 16, n)
    rows = client.persist(dask.array.fromfunction(lambda i, j: i * n + j, chunks=bands, shape=(n, n), dtype="f8"))
    wait(rows)
    started = time.perf_counter()
    with dask.config.set({"array.rechunk.method": "tasks"}):
        turned = client.persist(rows.T.rechunk(bands))
    wait(turned)
    seconds = time.perf_counter() - started
    should = dask.array.fromfunction(lambda i, j: j * n + i, chunks=bands, shape=(n, n), dtype="f8")
    if not (turned == should).all().compute():
        raise SystemExit("bench: the array is not transposed")
    return seconds


def measure(client, arguments, warm_bytes):
    """The seconds of each repetition. What is done first is not counted."""
    if arguments.case == "transpose":
        transpose(client, warm_bytes)
        return [transpose(client, arguments.bytes)]
    # the scheduler's own host is first, because an address of B is larger
    here, there = sorted(client.scheduler_info(n_workers=-1)["workers"])
    transfer(client, warm_bytes, 0, here, there)
    return [transfer(client, arguments.bytes, key, here, there) for key in range(1, arguments.repeat + 1)]


# ---- where they run

def cluster_of(workers, protocol, **place):
    return LocalCluster(n_workers=workers, threads_per_worker=1, protocol=protocol, dashboard_address=None,
                        memory_limit=0, **place)


def on_this_host(protocol, arguments):
    with cluster_of(WORKERS[arguments.case], protocol) as cluster, Client(cluster) as client:
        return measure(client, arguments, arguments.bytes)


# What each Python process of a link does first: its TCP sockets have this congestion control. Sockets that a
# listening one accepts have it, too.
FIRST = '''
import socket

class Socket(socket.socket):
    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        if self.type == socket.SOCK_STREAM and self.family in (socket.AF_INET, socket.AF_INET6):
            self.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, {name!r})

socket.socket = Socket
'''


@contextlib.contextmanager
def congestion_control(name):
    """The environment of processes whose TCP is so controlled; None: as the system has it."""
    with tempfile.TemporaryDirectory() as place:
        if name:
            with open(os.path.join(place, "sitecustomize.py"), "w", encoding="utf-8") as file:
                file.write(FIRST.format(name=name.encode()))
        yield os.environ | {"PYTHONPATH": os.pathsep.join([place, os.environ.get("PYTHONPATH", "")])}


def over_link(protocol, arguments):
    """Runs the two ends in the two namespaces of a link."""
    itself = [sys.executable, "-B", __file__, "--case", arguments.case, "--bytes", str(arguments.bytes),
              "--repeat", str(arguments.repeat), "--near", protocol]
    workers = [sys.executable, "-m", "distributed.cli.dask_worker", f"{protocol}://{HERE}:{PORT}",
               "--protocol", protocol, "--host", THERE, "--nworkers", str(WORKERS[arguments.case] // 2),
               "--nthreads", "1", "--memory-limit", "0", "--no-dashboard"]
    link = [os.path.join(arguments.build, "zcrp-link"), *shlex.split(arguments.link)]
    with congestion_control(arguments.tcp_cc) as environment:
        done = subprocess.run([*link, "--", *itself, "--", *workers], **DESCRIPTORS, env=environment, text=True,
                              check=False)
    if not done.stdout.strip():
        raise SystemExit(f"bench: nothing came over the link\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def near_end(protocol, arguments):
    """The scheduler's end of a link."""
    workers = WORKERS[arguments.case]
    with cluster_of(workers // 2, protocol, host=HERE, scheduler_port=PORT) as cluster, Client(cluster) as client:
        client.wait_for_workers(workers, timeout=60)
        print(json.dumps(measure(client, arguments, WARM_BYTES)), flush=True)


# ---- what was found

def report(found, arguments):
    ratios = sorted(tcp / zcrp for tcp, zcrp in zip(found.get("tcp", ()), found.get("zcrp", ())))
    if arguments.json:
        print(json.dumps({"case": arguments.case, "bytes": arguments.bytes, "link": arguments.link, "seconds": found,
                          "ratios": ratios}))
        return
    for protocol, seconds in found.items():
        median = statistics.median(seconds)
        print(f"{protocol:<5} {arguments.bytes / median / 1e6:8.1f} MB/s   {median:.3f} s")
    if ratios:
        print(f"zcrp / tcp, medians of {arguments.rounds}: {statistics.median(ratios):.2f} "
              f"({ratios[0]:.2f} to {ratios[-1]:.2f})")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", choices=BYTES, default="transfer")
    parser.add_argument("--protocols", default="zcrp,tcp", help="measured in turn (zcrp,tcp)")
    parser.add_argument("--rounds", type=int, default=5, help="a cluster of each protocol for each (5)")
    parser.add_argument("--repeat", type=int, help="transfers in a round (3; over a link 1)")
    parser.add_argument("--bytes", type=int, help="of the array (transfer: 256 MB, transpose: 1 GB)")
    parser.add_argument("--link", help="options of zcrp-link; without it, all is on this host")
    parser.add_argument("--tcp-cc", help="TCP's congestion control over a link (as the system has it)")
    parser.add_argument("--build", default="build", help="the folder of zcrp-link")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--near", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.bytes = arguments.bytes or BYTES[arguments.case]
    arguments.repeat = arguments.repeat or (1 if arguments.link else 3)
    return arguments


def main():
    arguments = parse()
    if arguments.near:
        near_end(arguments.near, arguments)
        return
    run = over_link if arguments.link is not None else on_this_host
    found = {protocol: [] for protocol in arguments.protocols.split(",")}
    for _ in range(arguments.rounds):
        for protocol, seconds in found.items():
            seconds.append(statistics.median(run(protocol, arguments)))
    report(found, arguments)


if __name__ == "__main__":
    main()
