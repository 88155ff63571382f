"""How far everything is, by the kernel's accounts and the counter's, and how fast it went."""

import collections
import os
import re
import time

TICKS = os.sysconf("SC_CLK_TCK")


def host_busy_s(text):
    """Seconds of processor time of all cores, but for idling, from the text of /proc/stat.
    Interrupts and packets are in it, whoever was running; what a hypervisor took is not."""
    fields = text.split("\n", 1)[0].split()
    user, nice, system, _idle, _iowait, irq, softirq = map(int, fields[1:8])
    return (user + nice + system + irq + softirq) / TICKS


def own_busy_s(text):
    """Seconds of processor time of a process, from the text of /proc/PID/stat."""
    fields = text.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def switches(text):
    """Context switches of a thread, from the text of its status file."""
    return sum(map(int, re.findall(r"^(?:non)?voluntary_ctxt_switches:\s*(\d+)", text, re.M)))


def read(path):
    """The text of a file; none if the process it is about is gone."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def processes_of(pid):
    """A process and its children."""
    return [str(pid)] + read(f"/proc/{pid}/task/{pid}/children").split()


def threads_of(pid):
    try:
        return os.listdir(f"/proc/{pid}/task")
    except (FileNotFoundError, ProcessLookupError):
        return []


Sample = collections.namedtuple("Sample", "at host_s own_s switches counts counted_s")


def sample(pid, load):
    """How far everything is at present."""
    own_s = count = 0
    for process in processes_of(pid) if pid else ():
        text = read(f"/proc/{process}/stat")
        own_s += own_busy_s(text) if text else 0
        for thread in threads_of(process):
            count += switches(read(f"/proc/{process}/task/{thread}/status"))
    counts, counted_s = load.ask() if load else (0, 0)
    host_s = host_busy_s(read("/proc/stat"))
    return Sample(time.monotonic(), host_s, own_s, count, counts, counted_s)


def between(first, last):
    """What happened from one sample to another, for each second."""
    seconds = last.at - first.at
    counted_s = last.counted_s - first.counted_s
    return {
        "seconds": seconds,
        "host_cores": (last.host_s - first.host_s) / seconds,
        "own_cores": (last.own_s - first.own_s) / seconds,
        "switches_per_s": (last.switches - first.switches) / seconds,
        "counts_per_s": (last.counts - first.counts) / counted_s if counted_s else None,
    }


def within(samples, begin, end):
    """The samples of a span of time; at least two, the nearest ones if it holds fewer."""
    inside = [s for s in samples if begin <= s.at <= end]
    if len(inside) >= 2:
        return inside
    middle = (begin + end) / 2
    return sorted(sorted(samples, key=lambda s: abs(s.at - middle))[:2], key=lambda s: s.at)
