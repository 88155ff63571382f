"""Reads what zcrp-bench wrote. A trace is JSON lines, of which one with "measurement" begins each
measurement; results are one JSON object."""

import json

COUNTS = ("sent", "repeated", "lost", "spurious", "probes", "acknowledgements", "messages")
STATES = ("t", "arrived", "transit", "window", "rate", "rtt")


class Failure(Exception):
    """Something that the user is told."""


class Flow:
    """The changes of one flow, in the order of time: counts of what happened, states behind it."""

    def __init__(self):
        self.changes = []

    def total(self, count):
        return sum(change[count] for change in self.changes)

    def series(self, state):
        return [(change["t"], change[state]) for change in self.changes]

    def marks(self, count):
        """Where it happened: what is lost, on the line of what has arrived; what is sent, on that
        of what was sent."""
        transit = 0 if count == "lost" else 1
        return [(change["t"], change["arrived"] + transit * change["transit"])
                for change in self.changes if change[count]]


class Measurement:
    def __init__(self, number, size):
        self.number = number
        self.size = size
        self.flows = {}

    def add(self, line):
        change = {count: line.get(count, 0) for count in COUNTS}
        change.update((state, line[state]) for state in STATES)
        self.flows.setdefault(line["flow"], Flow()).changes.append(change)

    def cut(self, first, last):
        """Keeps what happened in [first, last]."""
        for flow in self.flows.values():
            flow.changes = [c for c in flow.changes if first <= c["t"] <= last]
        self.flows = {number: flow for number, flow in self.flows.items() if flow.changes}
        if not self.flows:
            raise Failure("nothing happened in that time")


def read(lines, wanted):
    """The measurement number `wanted`."""
    found = current = None
    for number, text in enumerate(lines, 1):
        try:
            line = json.loads(text)
            if "measurement" in line:
                current = Measurement(line["measurement"], line["size"])
                found = current if current.number == wanted else found
            elif current is found and found is not None:
                found.add(line)
            elif current is None:
                raise KeyError("measurement")
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise Failure(f"line {number} is not of a trace") from error
    if found is None:
        raise Failure(f"there is no measurement {wanted}")
    if not found.flows:
        raise Failure(f"nothing happened in measurement {wanted}")
    return found


def is_trace(line):
    """Whether a file that begins with this line is a trace."""
    try:
        return "t" in json.loads(line) or "measurement" in json.loads(line)
    except (ValueError, TypeError):
        return not line.startswith("{")  # and reading it says what is wrong


def read_results(lines):
    try:
        return json.loads("".join(lines))
    except ValueError as error:
        raise Failure(f"these are not the results of zcrp-bench: {error}") from error
