"""Control groups: a machine is a group that may use a processor only for its share of each period.
Both versions of the kernel's interface will do; without any, machines are all alike."""

import contextlib
import errno
import glob
import os
import time

from machines import PERIOD_US
from tables import read, write

PREFIX = "zcrp-paper"
PATIENCE_S = 5  # for the last process of a group to be gone


def limits(version, quota_us):
    """The files that say it, and what they say."""
    if version == 2:
        return {"cpu.max": f"{quota_us} {PERIOD_US}"}
    return {"cpu.cfs_period_us": str(PERIOD_US), "cpu.cfs_quota_us": str(quota_us)}


def candidates(mounts):
    """Where groups with limits might be made, by the text of /proc/mounts: version and place, the newer interface
    first."""
    found = [line.split()[1:4] for line in mounts.splitlines()]
    for place, kind, _ in found:
        if kind == "cgroup2" and "cpu" in read(f"{place}/cgroup.controllers").split():
            yield 2, place
    for place, kind, options in found:
        if kind == "cgroup" and "cpu" in options.split(","):
            yield 1, place


def enable(version, place):
    """Version 2 gives its children the limits only when told to; did this?"""
    control = f"{place}/cgroup.subtree_control"
    if version == 1 or "cpu" in read(control).split():
        return False
    write(control, "+cpu")
    return True


def remove(path):
    """Waits until its processes are gone."""
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            return os.rmdir(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > end:
                raise
        time.sleep(0.02)


def remove_orphans(place):
    """What a run left that was killed before it could remove it."""
    for path in glob.glob(f"{place}/{PREFIX}.*"):
        pid = path.split(".")[-2]
        if pid.isdigit() and not os.path.exists(f"/proc/{pid}"):
            remove(path)


class Groups:
    """Makes groups at a place; where the system permits none (no version), a machine is whatever this one is."""

    def __init__(self, version=None, place=""):
        self.version, self.place = version, place

    @contextlib.contextmanager
    def group(self, name, quota_us):
        """A group for as long as the block lasts; its path, or "" for none."""
        if self.version is None:
            yield ""
            return
        path = f"{self.place}/{PREFIX}.{os.getpid()}.{name}"
        os.mkdir(path)
        try:
            for file, text in limits(self.version, quota_us).items():
                write(f"{path}/{file}", text)
            yield path
        finally:
            remove(path)


def permits(groups):
    """Can groups be made there, and limited? Removes what a run left that was killed."""
    try:
        remove_orphans(groups.place)
        with groups.group("try", PERIOD_US):
            return True
    except OSError:
        return False


@contextlib.contextmanager
def available(mounts=None):
    """What this system permits, which is left as it was."""
    for version, place in candidates(read("/proc/mounts") if mounts is None else mounts):
        try:
            has_enabled = enable(version, place)
        except OSError:
            continue
        try:
            if permits(Groups(version, place)):
                yield Groups(version, place)
                return
        finally:
            if has_enabled:
                write(f"{place}/cgroup.subtree_control", "-cpu")
    yield Groups()
