"""The programs that are run: where they are, and zcrp-load."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys

from attempts import Failure
from child import running


def find(name):
    """The program that lies beside this one, or else on the path."""
    beside = os.path.join(os.path.dirname(os.path.realpath(sys.argv[0])), name)
    found = beside if os.access(beside, os.X_OK) else shutil.which(name)
    if not found:
        raise Failure(f"there is no {name} beside this program or on the path")
    return found


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
    with running(command, signal.SIGKILL, stdout=subprocess.PIPE, text=True) as child:
        yield Load(child)
