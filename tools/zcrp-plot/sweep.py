"""The results of zcrp-bench (--json) as a script for gnuplot: throughput, or round trips, over the
size of messages. A point is the median, its bar goes from the least measurement to the most."""

import statistics

from reading import Failure

MOST_TICS = 14

SCENE = """set terminal svg size 800,500 enhanced background '#ffffff' font 'sans-serif,14'
set logscale x 2
set xlabel 'message size, bytes (K, M, G: powers of 1024)'
set ylabel '{label}'
set yrange [0:*]
set offsets graph 0.02, graph 0.02, graph 0.05, 0
set grid
set key outside top center horizontal noenhanced
set bars small
"""


def bytes_text(size):
    for power, name in ((30, "G"), (20, "M"), (10, "K")):
        if size >= 1 << power and size % (1 << power) == 0:
            return f"{size >> power}{name}"
    return str(size)


def tics(sizes):
    """As the table writes them; of many sizes only some."""
    kept = sizes[::(len(sizes) - 1) // MOST_TICS + 1]
    return "set xtics (" + ", ".join(f"'{bytes_text(size)}' {size}" for size in kept) + ")\n"


def height(run):
    trips = run["round_trip_us"]
    return trips["median"] if trips else run["gbit_per_s"]


def points(runs, transport):
    """(size, median, least, most) for each size."""
    heights = {}
    for run in runs:
        if run["transport"] == transport:
            heights.setdefault(run["size"], []).append(height(run))
    return [(size, statistics.median(all_of), min(all_of), max(all_of))
            for size, all_of in sorted(heights.items())]


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def script(results):
    try:
        runs = results["runs"]
        is_ping = runs[0]["round_trip_us"] is not None
        transports = list(dict.fromkeys(run["transport"] for run in runs))
        sizes = sorted({run["size"] for run in runs})
        text = SCENE.format(label="round trip, us" if is_ping else "throughput, Gbit/s") + tics(sizes)
        plots = []
        for number, transport in enumerate(transports):
            lines = (" ".join(f"{value:.9g}" for value in point) for point in points(runs, transport))
            text += "\n".join([f"$t{number} << END", *lines, "END", ""])
            plots.append(f"$t{number} using 1:2 with linespoints lw 2 lc {number + 1} pt 7 ps 0.6 "
                         f"title {quoted(transport)}")
            plots.append(f"$t{number} using 1:2:3:4 with yerrorbars lc {number + 1} pt -1 notitle")
    except (LookupError, TypeError) as error:
        raise Failure("these are not the results of zcrp-bench") from error
    return text + "plot " + ", ".join(plots) + "\n"
