"""The paths that docs/lab/tables.md tells of, and what is computed from a run over one.

A run is what zcrp-bench and zcrp-link wrote (JSON). A turn is the runs of a path, by the name of
their transport. A figure is computed within a turn, from runs of that turn alone.
"""

import copy

# Bytes of a message in a full packet of 1500.
FULL = {"zcrp": 1440, "tcp": 1448}
MTU = 1500
PORT = 7000
THERE = "198.18.0.2"
TRANSPORTS = {"zcrp": "zcrp", "cubic": "tcp:cubic+whole", "bbr": "tcp:bbr+whole",
              "keys": "zcrp --keys", "tls cubic": "tls:cubic+whole", "tls bbr": "tls:bbr+whole"}


class Path:
    """A link and what is sent over it. counts: messages by transport; a slow one is sent fewer."""

    def __init__(self, name, rate, round_trip_ms, counts, *, back="", queue="", mishaps="",
                 bench="", at_once=3):
        self.name, self.rate, self.round_trip_ms = name, rate, round_trip_ms
        self.counts, self.bench, self.at_once = counts, bench, at_once
        self.link = words("--rate", mega(rate) + (f"/{mega(back)}" if back else ""),
                          "--delay", f"{round_trip_ms / 2:g}ms", queue and f"--queue {queue}",
                          mishaps)

    def runs(self):
        """What a turn runs: name, options of zcrp-link, of the sending zcrp-bench."""
        return [(name, self.link, self.sender(name, count)) for name, count in self.counts.items()]

    def sender(self, name, count):
        return words("--transport", TRANSPORTS[name], "--size 1M --count", str(count),
                     "--repeat 1 --timeout 60", self.bench)

    def part(self, share):
        """The same path, with a share of the messages, but at least one."""
        smaller = copy.copy(self)
        smaller.counts = {name: max(1, int(count * share)) for name, count in self.counts.items()}
        return smaller

    def command(self, name=None):
        """Of a transport; of the first one without a name."""
        there = f"{THERE}:{PORT}"
        name = name or next(iter(self.counts))
        return (f"zcrp-link {self.link} --wait 9s --port {PORT} -- zcrp-bench --connect {there} "
                f"{self.sender(name, self.counts[name])} -- zcrp-bench --listen {there} --once")


class Street:
    """Flows that share a link for so long. The first is compared with the others, or
    all with all."""

    def __init__(self, name, rate, flows, *, seconds, round_trip_ms=40):
        self.name, self.rate, self.flows, self.seconds = name, rate, flows, seconds
        self.link = words("--rate", mega(rate), "--delay", f"{round_trip_ms / 2:g}ms")

    def is_mixed(self):
        return len(set(self.flows)) > 1

    def senders(self):
        """Small messages, few of them under way: so all flows end soon after each other."""
        return [f"--connect {THERE}:{PORT + i} --transport {TRANSPORTS[flow]} --size 64K "
                f"--memory 1M --duration {self.seconds} --repeat 1 --timeout 60"
                for i, flow in enumerate(self.flows)]

    def command(self, program="zcrp-bench", outputs=None):
        """One for a shell. The last port that is listened at is the one that is waited for."""
        senders = [f"{program} {sender}" + (f" --json {outputs}.{i}" if outputs else "")
                   for i, sender in enumerate(self.senders())]
        listeners = [f"{program} --listen {THERE}:{PORT + i} --once" for i in range(len(self.flows))]
        last = PORT + len(self.flows) - 1
        link = program.replace("zcrp-bench", "zcrp-link")
        return (f"{link} {self.link} --wait 9s --port {last} -- sh -c '{' & '.join(senders)} & wait' "
                f"-- sh -c '{' & '.join(listeners)} & wait'")


def words(*parts):
    return " ".join(part for part in parts if part)


def mega(rate):
    return f"{rate / 1e9:g}G" if rate >= 1e9 else f"{rate / 1e6:g}M"


def goodput(run):
    """Bits of messages a second."""
    return run["bench"]["gbit_per_s"] * 1e9


def heads(run):
    """What a full packet has, of what it has for messages."""
    return MTU / FULL[run["bench"]["transport"].split(":")[0]]


def share(path, run):
    """Of the link's rate, with the heads of full packets. What is sent twice does not count."""
    return goodput(run) * heads(run) / path.rate


def over_ideal(path, run):
    """Time, of one round trip and what the bytes take at the link's rate."""
    ideal = path.round_trip_ms / 1e3 + run["bench"]["bytes"] * 8 * heads(run) / path.rate
    return run["bench"]["seconds"] / ideal


def repeated_of_lost(run):
    """Units that ZCRP repeated, for each that the link lost or dropped while they were sent. The
    link counts the whole run, of which the measurement has the largest part of the packets."""
    way = run["link"]["a_to_b"]
    lost = (way["lost"] + way["dropped"]) / way["packets"]
    bench = run["bench"]
    return bench["repeated_units"] / bench["units"] / lost if lost else None


def queue(path, run):
    """Round trips that a packet waits and is sent, in the mean."""
    return run["link"]["a_to_b"]["queue_us"] / 1e3 / path.round_trip_ms


def are_together(street, rates):
    """Flows whose rates add up to much more than the link's were not under way at the same time. One
    that begins a second or two earlier, or ends later, makes them add up to a little more."""
    return sum(rates) < 1.05 * street.rate


def jain(values):
    """1 if all have the same, 1/n if one has all."""
    return sum(values) ** 2 / (len(values) * sum(value * value for value in values))


def street_figure(street, rates):
    """Of goodputs: the first over the mean of the others, or the index of Jain."""
    if not street.is_mixed():
        return jain(rates)
    return rates[0] / (sum(rates[1:]) / len(rates[1:]))
