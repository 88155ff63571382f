"""Two network namespaces joined by a virtual ethernet. Root only; they are gone when the block ends."""

import contextlib
import os
import signal
import subprocess
import sys
import time

ADDRESSES = "198.18.0.1", "198.18.0.2"


def ip(*words):
    return subprocess.run(["ip", *words], stdout=subprocess.PIPE, text=True, check=True).stdout


@contextlib.contextmanager
def joined(mtu=9000):
    """What a command begins with that runs in one of them, and its interface, for each of the two."""
    names = [f"zcrp-lab-{os.getpid()}-{i}" for i in range(2)]
    ends = [(["ip", "netns", "exec", name], f"zl{i}") for i, name in enumerate(names)]
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: sys.exit(128 + received))
    try:
        for name in names:
            ip("netns", "add", name)
        ip("link", "add", "zl0", "mtu", str(mtu), "netns", names[0],
           "type", "veth", "peer", "name", "zl1", "mtu", str(mtu), "netns", names[1])
        for name, address, (_, interface) in zip(names, ADDRESSES, ends):
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "address", "add", f"{address}/24", "dev", interface)
            ip("-n", name, "link", "set", interface, "up")
        for name, (_, interface) in zip(names, ends):  # some programs leave out one that does not run yet
            while "state UP" not in ip("-n", name, "link", "show", interface):
                time.sleep(0.01)
        yield ends
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], stderr=subprocess.DEVNULL, check=False)
