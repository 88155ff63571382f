"""Programs that this one runs, and that end at the latest with it."""

import contextlib
import ctypes
import signal
import subprocess

PR_SET_PDEATHSIG = 1


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


@contextlib.contextmanager
def running(command, ending, **streams):
    """A child, which is over at the latest with this block or this process. If it is not over at the
    end of the block it gets the signal `ending`, and is waited for; so with SIGTERM it may tidy up."""
    with subprocess.Popen(command, preexec_fn=die_with_parent, **streams) as child:
        try:
            yield child
        finally:
            child.send_signal(ending)
