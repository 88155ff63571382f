"""Measures the package beside zcrp-bench and beside sockets of Python, between two processes on this host.

    make python-bench                    # five rounds; the medians, and the ratios
    make python-bench BENCH='--rounds 9'

Each round measures everything once, so what disturbs the machine disturbs all of it. Ratios are of one round.

Round trips are measured twice. Where the kernel is free to, it often runs both ends of a TCP connection on one core,
and then waking the other end is cheap: that is the faster case for TCP, and the slower one for ends that look for an
answer before they sleep. So there is also a round trip with each end on a core of its own, for both.
"""
from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import numpy

import zcrp
import zcrp.asyncio

HOST = "127.0.0.1"
LARGE, SMALL = 1 << 20, 64
MEMORY = 64 << 20  # that large messages cycle through, as zcrp-bench's do
LARGE_COUNT, SMALL_COUNT, PINGS, WARM = 1024, 200_000, 10_000, 128
BATCH = 64


def arrays(size: int, count: int) -> list[numpy.ndarray]:
    """The rows of a large array, which NumPy gives large pages, as zcrp-bench's memory has."""
    return list(numpy.ones((count, size), "u1"))


def timed(work):
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


# Each case moves a little first: what connecting and fresh memory cost is not measured. It returns the seconds of
# the rest.

# ---- calls that wait

def keep_posted(post, blocks, count, depth):
    """Has `depth` messages under way, until `count` have ended."""
    under_way = [post(blocks[i % len(blocks)]) for i in range(min(depth, count))]
    for i in range(count):
        under_way[i % depth].wait()
        if i + depth < count:
            under_way[i % depth] = post(blocks[(i + depth) % len(blocks)])


def posting(connection, is_sender):
    blocks = arrays(LARGE, MEMORY // LARGE)
    post = connection.post_send if is_sender else connection.post_receive
    keep_posted(post, blocks, WARM, len(blocks))
    return timed(lambda: keep_posted(post, blocks, LARGE_COUNT, len(blocks)))


def one_by_one(connection, is_sender):
    blocks = arrays(LARGE, MEMORY // LARGE)
    call = connection.send if is_sender else connection.receive_into

    def pass_on(count):
        for i in range(count):
            call(blocks[i % len(blocks)])

    pass_on(WARM)
    return timed(lambda: pass_on(LARGE_COUNT))


def ping(connection, is_first):
    """The buffer for the answer is posted before the question is sent."""
    out, back = bytes(SMALL), bytearray(SMALL)
    posted = [connection.post_receive(back)]

    def pass_on(count):
        for _ in range(count):
            if is_first:
                connection.post_send(out)
            posted[0].wait()
            if not is_first:
                connection.post_send(out)
            posted[0] = connection.post_receive(back)

    pass_on(WARM)
    return timed(lambda: pass_on(PINGS))


def ping_tcp(sock, is_first):
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    out, back = bytes(SMALL), bytearray(SMALL)

    def pass_on(count):
        for _ in range(count):
            if is_first:
                sock.sendall(out)
            if sock.recv_into(back, SMALL, socket.MSG_WAITALL) != SMALL:
                raise ConnectionError("a short answer")
            if not is_first:
                sock.sendall(out)

    pass_on(WARM)
    return timed(lambda: pass_on(PINGS))


def apart(case):
    """The same with each end on a core of its own."""
    def pinned(end, is_first):
        allowed = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {sorted(allowed)[is_first % len(allowed)]})
        try:
            return case(end, is_first)
        finally:
            os.sched_setaffinity(0, allowed)
    return pinned


# ---- calls that are awaited

async def posted_ahead(connection, is_sender, depth=16):
    blocks = arrays(LARGE, MEMORY // LARGE)
    post = connection.send if is_sender else connection.receive_into

    async def pass_on(count):
        under_way = [post(blocks[i % len(blocks)]) for i in range(depth)]
        for i in range(count):
            await under_way[i % depth]
            if i + depth < count:
                under_way[i % depth] = post(blocks[(i + depth) % len(blocks)])

    await pass_on(WARM)
    started = time.perf_counter()
    await pass_on(LARGE_COUNT)
    return time.perf_counter() - started


async def batches(connection, is_sender, depth=4):
    data = [bytes(SMALL)] * BATCH
    rooms = [[bytearray(SMALL) for _ in range(BATCH)] for _ in range(depth)]

    async def pass_on(count):
        under_way = []
        for i in range(count):
            if len(under_way) == depth:
                await under_way.pop(0)
            under_way.append(connection.send_batch(data) if is_sender else connection.receive_batch(rooms[i % depth]))
        for one in under_way:
            await one

    await pass_on(WARM)
    started = time.perf_counter()
    await pass_on(SMALL_COUNT // BATCH)
    return time.perf_counter() - started


# ---- a measurement: this process listens and receives, a child connects and sends

CASES = {
    "blocking": posting,
    "one by one": one_by_one,
    "asyncio": posted_ahead,
    "batches": batches,
    "ping": ping,
    "tcp ping": ping_tcp,
    "ping apart": apart(ping),
    "tcp ping apart": apart(ping_tcp),
}


def is_tcp(case):
    return case.startswith("tcp")


def child(case, port):
    if is_tcp(case):
        with socket.create_connection((HOST, port)) as sock:
            CASES[case](sock, True)
    elif asyncio.iscoroutinefunction(CASES[case]):
        async def work():
            async with await zcrp.asyncio.connect(HOST, port) as connection:
                await CASES[case](connection, True)
        asyncio.run(work())
    else:
        with zcrp.connect(HOST, port) as connection:
            CASES[case](connection, True)


def start(case, port):
    return subprocess.Popen([sys.executable, __file__, "--child", case, str(port)])


def measure(case):
    """The seconds that the receiving end took."""
    if is_tcp(case):
        with socket.create_server((HOST, 0)) as server:
            peer = start(case, server.getsockname()[1])
            with server.accept()[0] as sock:
                seconds = CASES[case](sock, False)
    elif asyncio.iscoroutinefunction(CASES[case]):
        async def work():
            async with await zcrp.asyncio.listen(HOST) as listener:
                peer = start(case, listener.port)
                async with await listener.accept() as connection:
                    return peer, await CASES[case](connection, False)
        peer, seconds = asyncio.run(work())
    else:
        with zcrp.listen(HOST) as listener:
            peer = start(case, listener.port)
            with listener.accept() as connection:
                seconds = CASES[case](connection, False)
    if peer.wait() != 0:
        raise SystemExit(f"bench: the peer of {case!r} failed")
    return seconds


def measure_bench(program):
    """Seconds that zcrp-bench takes for as much."""
    with tempfile.NamedTemporaryFile() as file:
        subprocess.run([program, "--size", "1M", "--count", str(LARGE_COUNT), "--transport", "zcrp", "--repeat", "1",
                        "--json", file.name, "--quiet"], check=True, stdout=subprocess.DEVNULL)
        return json.load(open(file.name, encoding="utf-8"))["runs"][0]["seconds"]


# ---- what it comes to

ROWS = (  # name, floor, unit, of a round's seconds
    ("1 MiB into NumPy, 64 posted, of zcrp-bench's rate", 0.85, "x", lambda s: s["bench"] / s["blocking"]),
    ("1 MiB into NumPy, one by one, of zcrp-bench's rate", None, "x", lambda s: s["bench"] / s["one by one"]),
    ("asyncio, 1 MiB, 16 posted, of zcrp-bench's rate", 0.7, "x", lambda s: s["bench"] / s["asyncio"]),
    ("asyncio, 64 B in batches of 64, messages a second", 200_000, "/s", lambda s: SMALL_COUNT / s["batches"]),
    ("round trip of 64 B, each end on a core, of TCP's", 0.6, "x, at most",
     lambda s: s["ping apart"] / s["tcp ping apart"]),
    ("round trip of 64 B, each end on a core, us", None, "us", lambda s: s["ping apart"] / PINGS * 1e6),
    ("round trip of 64 B, on any core, of TCP's", None, "x", lambda s: s["ping"] / s["tcp ping"]),
    ("round trip of 64 B, on any core, us", None, "us", lambda s: s["ping"] / PINGS * 1e6),
)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bench", default=os.environ.get("ZCRP_BENCH", "build/zcrp-bench"), help="zcrp-bench")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        return child(arguments.child[0], int(arguments.child[1]))
    rounds = []
    for _ in range(arguments.rounds):
        rounds.append({"bench": measure_bench(arguments.bench), **{case: measure(case) for case in CASES}})
    print(f"{'':<52} {'median':>9} {'least':>9} {'most':>9}   floor")
    for name, floor, unit, of in ROWS:
        found = sorted(of(seconds) for seconds in rounds)
        figures = [f"{value:,.0f}" if value > 100 else f"{value:.2f}"
                   for value in (statistics.median(found), found[0], found[-1])]
        print(f"{name:<52} {figures[0]:>9} {figures[1]:>9} {figures[2]:>9}   {floor or '-'} {unit if floor else ''}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
