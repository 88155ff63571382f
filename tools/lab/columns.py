"""Columns of tables: their heads, and what the runs of a row come to.

A row's runs are zcrp-bench's, in turns, by the name of their transport. A figure is computed from a run; a
cell is text, `-` if a transport was not measured. `own` is the figure that suits the row, with its unit."""

import collections
import statistics

from tables import short

Column = collections.namedtuple("Column", "head cell")
Figure = collections.namedtuple("Figure", "of unit")


class NotMeasured(Exception):
    """What a row needs is not here: it has dashes."""


def rate(run):
    return run["gbit_per_s"]


def messages(run):
    return run["msg_per_s"]


def cpu_s_per_gb(run):
    return run["sender"]["cpu_s_per_gb"] + run["receiver"]["cpu_s_per_gb"]


def trip(run):
    return run["round_trip_us"]["median"]


def slow_trip(run):
    return run["round_trip_us"]["p99"]


def half_a_trip(run):
    return trip(run) / 2


def median(runs, figure):
    return statistics.median(figure(run) for run in runs)


def paired(runs, others, figure):
    """Median of the ratios of each run to the other of the same turn."""
    return statistics.median(figure(a) / figure(b) for a, b in zip(runs, others))


def own_figure(arguments):
    """What a row with these arguments of zcrp-bench tells: small messages are counted."""
    if "--ping" in arguments:
        return Figure(half_a_trip, " us")
    if "--size 64 " in arguments or "--size 1K " in arguments:
        return Figure(messages, " messages/s")
    return Figure(rate, " Gbit/s")


def middle(head, name, figure=None):
    """The median; without a figure, of the row's own one."""
    def cell(by, own):
        if name not in by:
            return "-"
        return short(median(by[name], figure)) if figure else short(median(by[name], own.of)) + own.unit
    return Column(head, cell)


def ratio(head, name, other, figure=None, is_bold=True):
    """The median of the ratios within the turns."""
    def cell(by, own):
        if name not in by or other not in by:
            return "-"
        text = f"{paired(by[name], by[other], figure or own.of):.2f}"
        return f"**{text}**" if is_bold else text
    return Column(head, cell)


def which(head, name):
    """The channel: which of the ways of a transport was the best."""
    return Column(head, lambda by, _: by[name][0]["channel"].removeprefix("tcp/"))
