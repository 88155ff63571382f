"""Two machines, the link between them, and zcrp-bench on both: one run, and what it says."""

import contextlib
import functools
import json
import os
import shlex
import signal
import subprocess
import tempfile

from attempts import Failure, RunFailed
from child import running
from machines import MACHINES

CHANNELS = ["aal5-udp", "udp"]  # of ZCRP; AAL5 first, as in the paper
RATE = "155M"
DELAY = "100us"
PAYLOAD = 9180  # of a PDU of AAL5, and of IP over ATM: the MTU of RFC 2225
AAL5_EXTRA = 36 + 20 + 8 + 8  # up to whole cells, and what carries the PDU over IP and UDP
PORT = 7000
TIMEOUT_S = 60  # nothing moves for so long
LIMIT_S = 900  # of a run of zcrp-bench, whatever moves
NO_LINK = 125  # status of zcrp-link: it would not get better
TRIED = "1K,64K"  # bytes of the messages that decide which TCP is the best

# In a shell: group, a command that competes (or nothing), and what to run beside it. The link ends
# all of it.
ENTER = 'test -z "$0" || echo 0 >"$0/cgroup.procs" || exit\n' \
    'test -z "$1" || eval "$1 >/dev/null &"\nshift\nexec "$@"'


def find(name):
    path = os.path.join(os.environ.get("ZCRP_BUILD", "build"), name)
    if not os.access(path, os.X_OK):
        raise Failure(f"there is no {path}: run make first")
    return os.path.abspath(path)


def is_aal5(channel):
    return channel.startswith("aal5")


def link_command(channel):
    mtu = PAYLOAD + (AAL5_EXTRA if is_aal5(channel) else 0)
    return [find("zcrp-link"), "--quiet", "--rate", RATE, "--delay", DELAY,
            "--mtu", str(mtu), "--port", str(PORT), "--wait", "20s", "--linger", "5s"]


def core_of(figure, end):
    """The core that an end runs on, or None."""
    return MACHINES[figure[1 + end]].core(end, sorted(os.sched_getaffinity(0)))


def competitor(figure, end):
    """A command line that counts beside an end, where it runs; "" if nothing does."""
    if not figure.load[end]:
        return ""
    core = core_of(figure, end)
    pin = [] if core is None else ["--pin", str(core)]
    return shlex.join([find("zcrp-load"), *pin, "--processes", str(figure.load[end])])


def enter(group, beside):
    """What a command starts with that runs in a group, beside a competitor."""
    return ["sh", "-c", ENTER, group, beside]


def end_command(figure, end, options):
    """What one end runs: 0 sends, 1 receives."""
    command = [find("zcrp-bench"), "--quiet", "--timeout", str(TIMEOUT_S)]
    core = core_of(figure, end)
    if core is not None:
        command += ["--pin", str(core)]
    return command + options


def shown(*commands):
    """What to type for these, which zcrp-link joins: programs by their names."""
    named = ([os.path.basename(command[0]), *command[1:]] for command in commands)
    return [word for command in named for word in ("--", *command)][1:]


def linked(command, as_shown):
    """Runs zcrp-link; a run that fails is told as it is shown."""
    with tempfile.TemporaryFile("w+") as said:
        try:
            with running(command, signal.SIGTERM, stdin=subprocess.DEVNULL, stdout=said,
                         stderr=said) as child:
                status = child.wait(LIMIT_S)
        except subprocess.TimeoutExpired as error:
            raise RunFailed(as_shown, f"not over after {LIMIT_S} s") from error
        said.seek(0)
        words = said.read().strip()[-2000:] or f"zcrp-link ended with {status}"
    if status == NO_LINK:
        raise Failure(words)
    if status != 0:
        raise RunFailed(as_shown, words)


def read_runs(path, as_shown):
    with open(path, encoding="ascii") as file:
        try:
            return json.load(file)["runs"]
        except (ValueError, KeyError) as error:
            raise RunFailed(as_shown, "zcrp-bench wrote no figures") from error


def measure(groups, figure, channel, options):
    """The runs that zcrp-bench reports of these transports and sizes between these machines."""
    link = link_command(channel)
    sender = end_command(figure, 0, ["--connect", f"198.18.0.2:{PORT}", "--channel", channel, *options])
    receiver = end_command(figure, 1, ["--listen", f":{PORT}", "--once"])
    as_shown = shown(link, sender, receiver)
    with contextlib.ExitStack() as stack:
        ends = [stack.enter_context(groups.group(name, MACHINES[figure[1 + end]].quota_us))
                for end, name in enumerate(("sender", "receiver"))]
        path = stack.enter_context(tempfile.NamedTemporaryFile("r", suffix=".json")).name
        linked([*link, "--", *enter(ends[0], competitor(figure, 0)), *sender, "--json", path,
                "--", *enter(ends[1], competitor(figure, 1)), *receiver], as_shown)
        return read_runs(path, as_shown)


def slim(run):
    """What is kept of a run: rates in Mbit/s, processor time in seconds for each GB (10^9 bytes)."""
    return {
        "transport": run["transport"].partition(":")[0], "channel": run["channel"],
        "size": run["size"], "bytes": run["bytes"], "seconds": run["seconds"],
        "mbit_per_s": run["gbit_per_s"] * 1e3,
        "sender_cpu_s_per_gb": run["sender"]["cpu_s_per_gb"],
        "receiver_cpu_s_per_gb": run["receiver"]["cpu_s_per_gb"],
        "repeated_units": run["repeated_units"],
    }


def series_of(channel):
    """Who takes turns over a channel: TCP with ZCRP over UDP."""
    return [f"zcrp/{channel}"] + ([] if is_aal5(channel) else ["tcp"])


def figure_runs(attempts, groups, scale, figure, channel, tcp):
    """A figure's runs over a channel, but for those that failed."""
    transports = ["zcrp", f"tcp:{tcp}+whole"][:len(series_of(channel))]
    runs = []
    for sizes, amount in scale.batches():
        options = ["--transport", ",".join(transports), "--size", ",".join(map(str, sizes)),
                   "--repeat", str(scale.repeat), *amount]
        runs += attempts(functools.partial(measure, groups, figure, channel, options),
                         figure=figure.number, series=series_of(channel), sizes=sizes) or []
    return [slim(run) for run in runs]


def words_of(name):
    with open(f"/proc/sys/net/ipv4/{name}", encoding="ascii") as file:
        return file.read().split()


def best_tcp(attempts, groups, scale, figure):
    """The congestion control with which TCP is fastest over this link: the one with the greatest
    product of rates, which is as far from the best at each size as it may be. If that cannot be
    found out, this machine's own."""
    names = words_of("tcp_available_congestion_control")
    options = ["--transport", ",".join(f"tcp:{name}+whole" for name in names), "--size", TRIED,
               "--bytes", str(scale.bytes), "--repeat", str(scale.repeat)]
    runs = attempts(functools.partial(measure, groups, figure, "udp", options),
                    figure=None, series=[], sizes=[])
    if runs is None:
        return words_of("tcp_congestion_control")[0]
    products = dict.fromkeys(names, 1.0)
    for run in runs:
        products[run["transport"].partition(":")[2].partition("+")[0]] *= run["gbit_per_s"]
    return max(products, key=products.get)
