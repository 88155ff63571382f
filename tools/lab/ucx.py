"""UCX between two processes of this host, by its own ucx_perftest (Debian's ucx-utils): what
docs/lab/tables.md compares the memory channel with."""

import shutil
import socket
import subprocess
import time

from tables import NotMeasured

PROGRAM = "ucx_perftest"
CORES = "0", "1"
MOST_MESSAGES, MOST_BYTES = 300000, 3 << 29
PATIENCE_S = 120
TRIES = 50  # to reach the server, a tenth of a second apart


def is_there():
    return shutil.which(PROGRAM) is not None


def test_of(arguments):
    """What both ends are called with, ports and cores aside, beside a zcrp-bench with these arguments."""
    words = arguments.split()
    size = words[words.index("--size") + 1]
    size = int(size.rstrip("KM")) << {"K": 10, "M": 20}.get(size[-1], 0)
    count = min(MOST_MESSAGES, MOST_BYTES // size)
    return ["-t", "tag_lat" if "--ping" in words else "tag_bw", "-s", str(size), "-n", str(count),
            "-w", str(count // 10 + 1)]


def command_text(arguments):
    return f"`{' '.join([PROGRAM, *test_of(arguments)])}`"


def read_figures(text):
    """What a run with -f -v says, as zcrp-bench says it. Raises NotMeasured if it says something else."""
    lines = [line.split(",") for line in text.splitlines() if "," in line]
    try:
        said = dict(zip(lines[-2], lines[-1], strict=True))
        return {"gbit_per_s": float(said["overall_bw"]) * (1 << 20) * 8e-9, "msg_per_s": float(said["overall_mr"]),
                "round_trip_us": {"median": 2 * float(said["50.0_percentile_lat"])}}
    except (LookupError, ValueError) as error:
        raise NotMeasured(f"{PROGRAM} said: {text.strip()}") from error


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
    raise NotMeasured(f"{PROGRAM} failed: {done.stderr.strip()}")


def run(arguments):
    """The figures of one run, each end on a core of its own. Raises NotMeasured."""
    common = [*test_of(arguments), "-p", str(free_port())]
    with subprocess.Popen([PROGRAM, *common, "-c", CORES[0]], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as server:
        try:
            return read_figures(run_client([PROGRAM, "127.0.0.1", *common, "-c", CORES[1], "-f", "-v"]))
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NotMeasured(str(error)) from error
        finally:
            server.kill()
