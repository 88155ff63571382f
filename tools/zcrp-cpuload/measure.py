"""One measurement: zcrp-bench, perhaps beside the counter, and what happened in its midst."""

import collections
import contextlib
import functools
import json
import os
import re
import selectors
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from accounts import between, sample, within
from attempts import Failure, RunFailed
from child import die_with_parent, running

PATIENCE_S = 300  # for a run of zcrp-bench: beside what it measures it tries all of TCP's manners
TRIALS = 3  # of each transport before anything counts, at most


Setting = collections.namedtuple("Setting", "path cores")


# ---- the programs that are run

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


def bench_command(options, setting, transport, *more):
    command = [find("zcrp-bench"), "--transport", transport, "--size", options.size]
    command += ["--repeat", "1", "--pin", ",".join(map(str, setting.cores)), "--json"]
    command += ["--channel", "udp", *more]  # also between two ends of one host
    if setting.path == "veth":
        command += ["--netns"] + (["--mtu", str(options.mtu)] if options.mtu else [])
    return command + options.bench


def complaint(options, setting):
    """What zcrp-bench has against these options; "" if nothing."""
    command = bench_command(options, setting, ",".join(options.transports), "--help")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr.strip() if done.returncode else ""


def timed(options, rate):
    return ["--duration", str(options.duration)] + (["--rate", f"{rate:.0f}"] if rate else [])


def shown(command):
    return ["zcrp-bench", *command[1:]]


def result(child, output, errors, command):
    """The one run that zcrp-bench reports."""
    if child.wait() != 0:
        errors.seek(0)
        raise RunFailed(shown(command), errors.read().strip() or "zcrp-bench failed")
    try:
        return json.loads(output)["runs"][0]
    except (ValueError, KeyError) as error:
        raise RunFailed(shown(command), "zcrp-bench wrote no figures") from error


def limit_of(options):
    """Longer than this no run takes."""
    return PATIENCE_S + 20 * options.duration


def step_of(options):
    return min(0.1, options.duration / 20)


def watch(child, step, load, limit_s):
    """Samples until the child has said all it has to say: samples, when it said it, what. None
    if it says nothing for too long."""
    samples = [sample(child.pid, load)]
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        while not selector.select(step):
            samples.append(sample(child.pid, load))
            if samples[-1].at - samples[0].at > limit_s:
                return None
    said_at = time.monotonic()
    samples.append(sample(child.pid, load))
    return samples, said_at, child.stdout.read()


def summary_of(run, samples):
    """What a run of zcrp-bench and the samples in the midst of it say, for each GB."""
    figures = between(samples[0], samples[-1])
    gb = run["bytes"] / 1e9
    own_s = run["sender"]["cpu_s"] + run["receiver"]["cpu_s"]
    figures |= {
        "gbit_per_s": run["gbit_per_s"],
        "channel": run["channel"],
        "own_ms_per_gb": own_s / gb * 1e3,
        "host_ms_per_gb": figures["host_cores"] / (run["gbit_per_s"] / 8) * 1e3,
        "switches_per_gb": figures["switches_per_s"] / (run["gbit_per_s"] / 8),
        "intervals": [between(a, b) for a, b in zip(samples, samples[1:])],
    }
    return figures


def measure(options, setting, transport, rate, load):
    """One run of zcrp-bench, and what happened in the middle of it."""
    command = bench_command(options, setting, transport, *timed(options, rate))
    with tempfile.TemporaryFile("w+") as errors:
        with running(command, signal.SIGKILL, stdout=subprocess.PIPE, stderr=errors) as child:
            watched = watch(child, step_of(options), load, limit_of(options))
            if watched is None:
                raise RunFailed(shown(command), f"not over after {limit_of(options):.0f} s")
            samples, said_at, output = watched
            run = result(child, output, errors, command)
    margin = run["seconds"] / 10
    return summary_of(run, within(samples, said_at - run["seconds"] + margin, said_at - margin))


def observe(options, load):
    """The same without zcrp-bench: the idle machine, or the counter alone. It looks as often, so
    that what that costs is in it, too."""
    samples = [sample(None, load)]
    while samples[-1].at - samples[0].at < options.duration:
        time.sleep(step_of(options))
        samples.append(sample(None, load))
    return between(samples[0], samples[-1])


def system_calls_per_gb(options, setting, transport, rate):
    """Of both ends, by perf, in a run of its own since counting them takes time; None without perf,
    or the right to use it, or if it failed."""
    perf = shutil.which("perf")
    if not perf:
        return None
    command = bench_command(options, setting, transport, *timed(options, rate))
    with tempfile.NamedTemporaryFile("r") as counted:
        count = [perf, "stat", "-x", ",", "-o", counted.name, "-e", "raw_syscalls:sys_enter", "--"]
        try:
            done = subprocess.run(count + command, capture_output=True, preexec_fn=die_with_parent,
                                  check=False, timeout=limit_of(options))
        except subprocess.TimeoutExpired:
            return None
        found = re.search(r"^(\d+),,raw_syscalls:sys_enter", counted.read(), re.M)
    if done.returncode != 0 or not found:
        return None
    return int(found[1]) / (json.loads(done.stdout)["runs"][0]["bytes"] / 1e9)


def exact(transport, channel):
    """What makes zcrp-bench use at once the TCP that it found to be the best."""
    if not transport.startswith("tcp") or transport == "tcp:default":
        return transport
    name = channel.partition("/")[2]
    return f"tcp:{name}" if "+" in name else f"tcp:{name}+whole"


def common_rate(options, reached):
    """Half of what TCP reaches, unless another one is so slow that it is not sure to reach that.
    reached: rates by transport, of those that have any."""
    medians = {transport: statistics.median(rates) for transport, rates in reached.items()}
    rates = [0.9 * rate for rate in medians.values()]
    if options.reference in medians:
        rates.append(medians[options.reference] / 2)
    return min(rates)


def calibrate(options, setting, attempts):
    """How each transport is to be called from now on, and the rate that all can hold."""
    called = {transport: transport for transport in options.transports}
    reached = collections.defaultdict(list)
    for _ in range(min(TRIALS, options.repeat)):
        for transport in options.transports:
            figures = attempts(functools.partial(measure, options, setting, called[transport], None,
                                                 None), phase="trial", transport=transport)
            if figures is None:
                continue
            called[transport] = exact(transport, figures["channel"])
            reached[transport].append(figures["gbit_per_s"] * 1e9)
    if not reached:
        raise Failure(attempts.missing[-1]["said"])
    return called, options.rate or common_rate(options, reached)
