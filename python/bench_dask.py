"""Measures zcrp:// beside tcp:// under Dask: an array goes from one worker to another on this host.

    make python-bench-dask                    # five rounds of 256 MB each; the medians, and the ratio
"""
from __future__ import annotations

import argparse
import statistics
import time

import numpy
from distributed import Client, LocalCluster, wait


def make(size, key):
    return numpy.full(size, key % 251, "u1")


def look(array):
    return int(array[-1])


def transfers(protocol, size, rounds):
    """Seconds of each: one worker has the array, the other is to look at it. The first one is not counted."""
    with LocalCluster(n_workers=2, threads_per_worker=1, protocol=protocol, dashboard_address=None,
                      memory_limit=0) as cluster, Client(cluster) as client:
        here, there = client.scheduler_info()["workers"]
        seconds = []
        for key in range(rounds + 1):
            array = client.submit(make, size, key, workers=[here], pure=False)
            wait(array)
            started = time.perf_counter()
            found = client.submit(look, array, workers=[there], pure=False).result()
            seconds.append(time.perf_counter() - started)
            if found != key % 251:
                raise SystemExit("bench: the array is not what it was")
        return seconds[1:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bytes", type=int, default=256_000_000)
    arguments = parser.parse_args()
    found = {"zcrp": [], "tcp": []}
    for _ in range(arguments.rounds):
        for protocol, seconds in found.items():
            seconds.append(statistics.median(transfers(protocol, arguments.bytes, 3)))
    ratios = sorted(tcp / zcrp for tcp, zcrp in zip(found["tcp"], found["zcrp"]))
    for protocol, seconds in found.items():
        print(f"{protocol:<5} {arguments.bytes / statistics.median(seconds) / 1e9:.2f} GB/s")
    print(f"zcrp / tcp, medians of {arguments.rounds}: {statistics.median(ratios):.2f} "
          f"({ratios[0]:.2f} to {ratios[-1]:.2f})")


if __name__ == "__main__":
    main()
