"""UCX between two processes of this host, by its own ucx_perftest (Debian's ucx-utils): what
docs/lab/tables.md compares the memory channel with."""

import os
import shutil
import socket
import subprocess
import time

PROGRAM = "ucx_perftest"
MEBIBYTE = 1 << 20
PATIENCE_S = 120
TRIES = 50 # to reach the server, a tenth of a second apart


class Failed(Exception):
    """It did not run, or said something else than figures."""


def is_there():
    return shutil.which(PROGRAM) is not None


def cores():
    """For the two ends; the same one if there is no other."""
    ours = sorted(os.sched_getaffinity(0))
    return ours[0], ours[min(1, len(ours) - 1)]


def arguments(test, size, count):
    """What both ends are called with, ports and cores aside."""
    return ["-t", test, "-s", str(size), "-n", str(count), "-w", str(count // 10 + 1)]


def command_text(test, size, count):
    return f"`{' '.join([PROGRAM, *arguments(test, size, count)])}`"


def read_figures(text):
    """The figures of a run with -f -v: `bytes_per_s`, `messages_per_s`, and `latency_us`, the median of half a
    round trip. Raises Failed if they are not there."""
    lines = [line.split(",") for line in text.splitlines() if "," in line]
    if len(lines) < 2 or lines[-2][0] != "iterations" or len(lines[-1]) != len(lines[-2]):
        raise Failed(f"{PROGRAM} said: {text.strip()}")
    said = dict(zip(lines[-2], lines[-1]))
    try:
        return {"bytes_per_s": float(said["overall_bw"]) * MEBIBYTE,
                "messages_per_s": float(said["overall_mr"]),
                "latency_us": float(said["50.0_percentile_lat"])}
    except (KeyError, ValueError) as error:
        raise Failed(f"{PROGRAM} said: {text.strip()}") from error


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def run_client(command):
    """The first words of a server come late."""
    done = None
    for _ in range(TRIES):
        time.sleep(0.1)
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        if done.returncode == 0:
            return done.stdout
    raise Failed(f"{PROGRAM} failed: {done.stderr.strip()}")


def run(test, size, count):
    """The figures of one run, each end on a core of its own. Raises Failed."""
    server_core, client_core = cores()
    common = [*arguments(test, size, count), "-p", str(free_port())]
    with subprocess.Popen([PROGRAM, *common, "-c", str(server_core)], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as server:
        try:
            return read_figures(run_client([PROGRAM, "127.0.0.1", *common, "-c", str(client_core),
                                            "-f", "-v"]))
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Failed(str(error)) from error
        finally:
            server.kill()
