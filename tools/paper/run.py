"""Two machines, the link between them, and zcrp-bench on both: one run, and what it says."""

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import tempfile

from machines import MACHINES

CHANNELS = ["aal5-udp", "udp"]  # of ZCRP; AAL5 first, as in the paper
RATE = "155M"
DELAY = "100us"
PAYLOAD = 9180  # of a PDU of AAL5, and of IP over ATM: the MTU of RFC 2225
AAL5_EXTRA = 36 + 20 + 8 + 8  # up to whole cells, and what carries the PDU over IP and UDP
PORT = 7000
TIMEOUT_S = 60  # nothing moves for so long
TRIED = "1K,64K"  # bytes of the messages that decide which TCP is the best

ENTER = 'test -z "$0" || echo 0 >"$0/cgroup.procs" || exit; exec "$@"'
PR_SET_PDEATHSIG = 1


class Failure(Exception):
    pass


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


def end_command(figure, end, group, options):
    """What one end runs: 0 sends, 1 receives."""
    command = ["sh", "-c", ENTER, group, find("zcrp-bench"), "--quiet", "--timeout", str(TIMEOUT_S)]
    core = MACHINES[figure[1 + end]].core(end, sorted(os.sched_getaffinity(0)))
    if core is not None:
        command += ["--pin", str(core)]
    if figure.load[end]:
        command += ["--load", str(figure.load[end])]
    return command + options


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


@contextlib.contextmanager
def running(command, **streams):
    """A child, which is over at the latest with this block or this process, and may tidy up."""
    with subprocess.Popen(command, preexec_fn=die_with_parent, **streams) as child:
        try:
            yield child
        except BaseException:
            child.terminate()
            raise


def linked(command):
    """Runs zcrp-link."""
    with tempfile.TemporaryFile("w+") as said:
        with running(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said) as child:
            status = child.wait()
        if status != 0:
            said.seek(0)
            raise Failure(said.read().strip()[-2000:] or f"zcrp-link ended with {status}")


def measure(groups, figure, channel, options):
    """The runs that zcrp-bench reports of these transports and sizes between these machines."""
    with contextlib.ExitStack() as stack:
        ends = [stack.enter_context(groups.group(name, MACHINES[figure[1 + end]].quota_us))
                for end, name in enumerate(("sender", "receiver"))]
        path = stack.enter_context(tempfile.NamedTemporaryFile("r", suffix=".json")).name
        sender = ["--connect", f"198.18.0.2:{PORT}", "--channel", channel, "--json", path, *options]
        linked([*link_command(channel),
                "--", *end_command(figure, 0, ends[0], sender),
                "--", *end_command(figure, 1, ends[1], ["--listen", f":{PORT}"])])
        with open(path, encoding="ascii") as file:
            return json.load(file)["runs"]


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


def figure_runs(groups, scale, figure, channel, tcp):
    """A figure's runs over a channel; TCP takes its turns with ZCRP over UDP."""
    transports = ["zcrp"] if is_aal5(channel) else ["zcrp", f"tcp:{tcp}+whole"]
    runs = []
    for sizes, amount in scale.batches():
        options = ["--transport", ",".join(transports), "--size", ",".join(map(str, sizes)),
                   "--repeat", str(scale.repeat), *amount]
        runs += measure(groups, figure, channel, options)
    return [slim(run) for run in runs]


def best_tcp(groups, scale, figure):
    """The congestion control with which TCP is fastest over this link: the one with the greatest
    product of rates, which is as far from the best at each size as it may be."""
    with open("/proc/sys/net/ipv4/tcp_available_congestion_control", encoding="ascii") as file:
        names = file.read().split()
    options = ["--transport", ",".join(f"tcp:{name}+whole" for name in names), "--size", TRIED,
               "--bytes", str(scale.bytes), "--repeat", str(scale.repeat)]
    products = dict.fromkeys(names, 1.0)
    for run in measure(groups, figure, "udp", options):
        products[run["transport"].partition(":")[2].partition("+")[0]] *= run["gbit_per_s"]
    return max(products, key=products.get)
