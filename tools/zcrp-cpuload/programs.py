"""The programs that are run, and end at the latest with this one."""

import contextlib
import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys

from attempts import Failure

PR_SET_PDEATHSIG = 1


def find(name):
    """The program that lies beside this one, or else on the path."""
    beside = os.path.join(os.path.dirname(os.path.realpath(sys.argv[0])), name)
    found = beside if os.access(beside, os.X_OK) else shutil.which(name)
    if not found:
        raise Failure(f"there is no {name} beside this program or on the path")
    return found


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


@contextlib.contextmanager
def running(command, **streams):
    """A child, which ends at the latest with this block or this process."""
    with subprocess.Popen(command, preexec_fn=die_with_parent, **streams) as child:
        try:
            yield child
        finally:
            child.kill()


def parse_counts(line):
    """Counts and seconds of a line of zcrp-load."""
    if not line:
        raise Failure("zcrp-load has ended")
    found = re.match(r"(\d+) counts in ([\d.]+) s", line)
    if not found:
        raise Failure(f"zcrp-load says nonsense: '{line.strip()}'")
    return int(found[1]), float(found[2])


class Load:
    """zcrp-load, running."""

    def __init__(self, child):
        self.child = child

    def ask(self):
        self.child.send_signal(signal.SIGUSR1)
        return parse_counts(self.child.stdout.readline())


@contextlib.contextmanager
def loading(cores, processes):
    """zcrp-load on these cores, so many processes each. It starts with the signal blocked, so that
    it can be asked at once."""
    command = [find("zcrp-load"), "--pin", ",".join(map(str, cores))]
    command += ["--processes", str(processes * len(cores))]
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    with running(command, stdout=subprocess.PIPE, text=True) as child:
        yield Load(child)
