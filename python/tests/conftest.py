"""Two ends of a connection in this process, and processes of their own for what a process does once."""
import faulthandler
import os
import signal
import subprocess
import sys
import textwrap
import threading
import warnings

import pytest

import zcrp
from zcrp import _door, _zcrp

HOST = "127.0.0.1"
LONG = 20.0

#: Both ends give up soon.
IMPATIENT = zcrp.Options(idle_timeout=1, linger=0.3, connect_timeout=0.5)


@pytest.fixture(autouse=True)
def no_hang():
    """A test that hangs says where."""
    faulthandler.dump_traceback_later(100, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


def meet(options=None, host=HOST):
    """The two ends of a connection."""
    with zcrp.listen(host, options=options) as listener:
        there = []
        thread = in_thread(lambda: there.append(zcrp.connect(host, listener.port, options)))
        here = listener.accept(LONG)
        thread.join()
    return here, there[0]


class StoppedPeer:
    """The library, with a peer on this host that is stopped amid a copy to whatever is cancelled. For a few looks."""

    def __init__(self):
        self.looks = 0

    def door_post_cancel(self, post, has_cancelled):
        self.looks += 1
        assert self.looks < 100, "it waits for the peer"
        return _door.BUSY

    def __getattr__(self, name):
        return getattr(_zcrp.lib, name)


def in_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def in_child(work):
    """Runs it in a child. Its exit status."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # from Python 3.12 on: a process with threads
        child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.fixture
def pair():
    one, other = meet()
    yield one, other
    one.close()
    other.close()


@pytest.fixture
def impatient():
    one, other = meet(IMPATIENT)
    yield one, other
    one.close()
    other.close()


def run_program(text, *arguments, status=0, timeout=60, **options):
    """Runs a program of Python with these tests' warnings. What it printed. Ctrl-C reaches it, also where a shell has
    started the tests in the background, which ignores that."""
    done = subprocess.run([sys.executable, "-B", "-X", "faulthandler", "-c", textwrap.dedent(text), *arguments],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout, check=False,
                          encoding="utf-8", preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), **options)
    assert done.returncode == status, f"status {done.returncode}\n{done.stdout}"
    return done.stdout
