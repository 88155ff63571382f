"""Results of zcrp-bench (--json) as a script for gnuplot: a figure over the size of messages. A point is
the median, its bar goes from the least measurement to the most. The points of a size stand side by side, in
the order of the key, so that no bar hides another one."""

import math
import statistics

from colours import AXES, GRID, of_lines
from reading import Failure

MOST_TICS = 14
STEP = 1.05   # from a point to the one beside it: a factor, because the axis is logarithmic

SCENE = """set terminal svg size 800,460 enhanced background '#ffffff' font 'sans-serif,14'
set logscale x 2
set xlabel 'message size, bytes (K, M, G: powers of 1024)'
set ylabel '{label}'
set grid lc '{grid}'
set border 3 lc '{axes}'
set tics nomirror
set key outside top center horizontal Left reverse noenhanced samplen 2 width 1
"""

LINEAR = "set yrange [0:*]\nset offsets graph 0.02, graph 0.02, graph 0.05, 0\n"
LOGARITHMIC = "set logscale y\nset offsets graph 0.02, graph 0.02, 0, 0\n"


def bytes_text(size):
    for power, name in ((30, "G"), (20, "M"), (10, "K")):
        if size >= 1 << power and size % (1 << power) == 0:
            return f"{size >> power}{name}"
    return str(size)


def tics(sizes):
    """As the table writes them; of many sizes only some."""
    kept = sizes[::(len(sizes) - 1) // MOST_TICS + 1]
    return "set xtics (" + ", ".join(f"'{bytes_text(size)}' {size}" for size in kept) + ")\n"


def steps(least, most):
    """1, 2 and 5 times the powers of ten, from the last below `least` to the first above `most`."""
    powers = range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)
    all_of = [digit * 10 ** power for power in powers for digit in (1, 2, 5)]
    first = max(number for number, step in enumerate(all_of) if step <= least)
    last = min(number for number, step in enumerate(all_of) if step >= most)
    return all_of[first:last + 1]


def logarithmic(heights):
    """An axis that ends at a step near the least and the most."""
    heights = [height for height in heights if height > 0]
    if not heights:
        return LOGARITHMIC
    shown = steps(min(heights), max(heights))
    labels = ", ".join(f"'{step:g}' {step:g}" for step in shown)
    return LOGARITHMIC + f"set yrange [{shown[0]:g}:{shown[-1]:g}]\nset ytics ({labels})\n"


def trip(run):
    return run["round_trip_us"]["median"]


def processor_time(run):
    return run["sender"]["cpu_s_per_gb"] + run["receiver"]["cpu_s_per_gb"]


FIGURES = {
    "throughput": ("throughput, Gbit/s", lambda run: run["gbit_per_s"]),
    "messages": ("messages a second", lambda run: run["msg_per_s"]),
    "processor": ("processor time of both ends, s/GB", processor_time),
    "round-trip": ("round trip, us", trip),
}


def points(runs, height):
    """(size, median, least, most) for each size."""
    heights = {}
    for run in runs:
        heights.setdefault(run["size"], []).append(height(run))
    return [(size, statistics.median(all_of), min(all_of), max(all_of))
            for size, all_of in sorted(heights.items())]


def option(results, name):
    return name in results.get("command", [])


def name_of(run, results, all_results):
    """A transport's. Of several files, the name says what ZCRP went over, and whether it was asleep."""
    name = run["transport"]
    if len(all_results) == 1 or name != "zcrp":
        return name
    asleep = option(results, "--no-spin") and not all(option(one, "--no-spin") for one in all_results)
    return f"{name}/{run['channel']}" + (" --no-spin" if asleep else "")


def lines_of(all_results):
    """The runs of each line, by its name, in the order of the files."""
    lines = {}
    for results in all_results:
        for run in results["runs"]:
            lines.setdefault(name_of(run, results, all_results), []).append(run)
    return lines


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def draw_lines(lines, height):
    text, plots, colours = "", [], of_lines(lines)
    for number, (name, runs) in enumerate(lines.items()):
        rows = (" ".join(f"{value:.9g}" for value in point) for point in points(runs, height))
        text += "\n".join([f"$t{number} << END", *rows, "END", ""])
        place = f"($1*{STEP ** (number - (len(lines) - 1) / 2):.6g})"
        style, dashes = f"lc '{colours[name]}'", " dt 2" if name == "udp-limit" else ""
        plots.append(f"$t{number} using {place}:2 with linespoints lw 2 {style}{dashes} pt 7 ps 0.6 "
                     f"title {quoted(name)}")
        plots.append(f"$t{number} using {place}:3:(0):($4-$3) with vectors nohead lw 1.5 {style} notitle")
    return text + "plot " + ", ".join(plots) + "\n"


def script(all_results, figure=None, is_log=False):
    """Of one or several files; the figure is throughput or, with --ping, round trips."""
    try:
        lines = lines_of(all_results)
        runs = [run for line in lines.values() for run in line]
        default = "throughput" if runs[0]["round_trip_us"] is None else "round-trip"
        label, height = FIGURES[figure or default]
        text = SCENE.format(label=label, grid=GRID, axes=AXES)
        text += logarithmic([height(run) for run in runs]) if is_log else LINEAR
        return text + tics(sorted({run["size"] for run in runs})) + draw_lines(lines, height)
    except (LookupError, TypeError, AttributeError) as error:
        raise Failure("these are not the results of zcrp-bench" +
                      (f", or they have no {figure}" if figure else "")) from error
