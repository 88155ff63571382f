"""A measurement as a script for gnuplot: four panels over the same time."""

from colours import COLOURS

COLUMNS = 600  # of the picture, that a series is thinned to
BINS = 100     # of the time, that goodput is a mean over

PALE, LOST, REPEATED, PROBED = "#9db9d1", "#c81e1e", "#e59400", "#222222"

SCENE = """set terminal svg size 960,1080 enhanced background '#ffffff' font 'sans-serif,13'
set multiplot layout 4,1 margins 0.09,0.975,0.055,0.925 spacing 0,0.06 title {title} font ',15'
set grid lc '#dddddd'
set border 3 lc '#444444'
set tics nomirror
set xrange [{first}:{last}]
set yrange [0:*]
set offsets 0, 0, graph 0.08, 0
set key at graph 1, graph 1.17 right top horizontal noenhanced samplen 1.5
set ylabel offset 1,0
"""


def thin(points, columns=COLUMNS):
    """At most four points a column of time: the first, the lowest, the highest, the last."""
    if len(points) <= 4 * columns:
        return points
    first, last = points[0][0], points[-1][0]
    width = (last - first) / columns or 1
    kept, column = [], []
    for at, point in enumerate(points):
        if column and int((point[0] - first) / width) != int((column[0][1][0] - first) / width):
            kept.extend(extremes(column))
            column = []
        column.append((at, point))
    kept.extend(extremes(column))
    return kept


def extremes(column):
    low = min(column, key=lambda entry: entry[1][1])
    high = max(column, key=lambda entry: entry[1][1])
    return [entry[1] for entry in sorted({column[0], low, high, column[-1]})]


def thin_marks(points, columns=COLUMNS):
    """One mark a column of time."""
    if len(points) <= columns:
        return points
    first, last = points[0][0], points[-1][0]
    width = (last - first) / columns or 1
    kept = {int((point[0] - first) / width): point for point in reversed(points)}
    return [kept[column] for column in sorted(kept)]


def goodput(points, bins=BINS):
    """Bits a second that arrived in each part of the time: a staircase of its ends."""
    first, last = points[0][0], points[-1][0]
    width = (last - first) / bins
    if width <= 0:
        return []
    stairs, at, before = [], 0, points[0][1]
    for part in range(bins):
        end = first + (part + 1) * width
        while at + 1 < len(points) and (points[at + 1][0] <= end or part == bins - 1):
            at += 1
        stairs.append((end, 8 * (points[at][1] - before) / width))
        before = points[at][1]
    return stairs


def sent(flow):
    return [(c["t"], c["arrived"] + c["transit"]) for c in flow.changes]


def unit(most, names, step):
    """What to divide by, and its name, so that figures are short."""
    power = 0
    while most >= step and power + 1 < len(names):
        most /= step
        power += 1
    return step ** power, names[power]


class Panel:
    """Lines and marks with the same axes."""

    def __init__(self, label, names, step):
        self.label, self.names, self.step = label, names, step
        self.entries = []

    def line(self, points, title, colour, style="lines", width=1.5):
        self.entries.append((thin(points), f"with {style} lw {width} lc '{colour}'", title))

    def marks(self, points, title, colour, shape):
        if points:
            self.entries.append(
                (thin_marks(points), f"with points pt {shape} ps 0.55 lc '{colour}'", title))

    def script(self, is_last):
        most = max((y for points, _, _ in self.entries for _, y in points), default=0)
        scale, name = unit(most, self.names, self.step)
        out, plots = [f"set ylabel '{self.label}, {name}'"], []
        out.append("set xlabel 'time, s'" if is_last else "unset xlabel")
        for number, (points, style, title) in enumerate(self.entries):
            out.append(f"$d{number} << END")
            out.extend(f"{x:.9g} {y / scale:.9g}" for x, y in points or [(0, float("nan"))])
            out.append("END")
            title = f"title '{title}'" if title else "notitle"
            plots.append(f"$d{number} using 1:2 {style} {title}")
        out.append("plot " + ", ".join(plots))
        return "\n".join(out) + "\n"


BYTES = ("bytes", "kB", "MB", "GB")
BINARY = ("bytes", "KiB", "MiB", "GiB")
BITS = ("bit/s", "kbit/s", "Mbit/s", "Gbit/s")
MICROSECONDS = ("us", "ms", "s")


def panels(measurement):
    progress, window = Panel("data", BYTES, 1000), Panel("in transit", BINARY, 1024)
    rate, trip = Panel("rate", BITS, 1000), Panel("round trip", MICROSECONDS, 1000)
    is_alone = len(measurement.flows) == 1
    for number, flow in sorted(measurement.flows.items()):
        colour = COLOURS[number % len(COLOURS)]
        name = (lambda text: text) if is_alone else (lambda text, n=number: f"flow {n}")
        if is_alone:
            progress.line(sent(flow), "sent", PALE)
            window.line(flow.series("transit"), "in transit", PALE)
            rate.line([(t, 8 * r) for t, r in flow.series("rate")], "pace", PALE, "steps")
        progress.line(flow.series("arrived"), name("acknowledged"), colour)
        window.line(flow.series("window"), name("window"), colour, "steps")
        rate.line(goodput(flow.series("arrived")), name("acknowledged"), colour, "fsteps")
        trip.line([(t, 1e6 * r) for t, r in flow.series("rtt") if r > 0], name("smoothed"), colour, "steps")
    add_marks(progress, measurement)
    return progress, window, rate, trip


def add_marks(panel, measurement):
    for count, colour, shape in (("repeated", REPEATED, 6), ("lost", LOST, 2), ("probes", PROBED, 8)):
        flows = measurement.flows.values()
        points = sorted(point for flow in flows for point in flow.marks(count))
        panel.marks(points, f"{count}: {sum(flow.total(count) for flow in flows)}", colour, shape)


def title_of(measurement):
    flows, arrived = measurement.flows.values(), 0
    for flow in flows:
        arrived += flow.changes[-1]["arrived"]
    scale, name = unit(arrived, BYTES, 1000)
    several = f" in {len(flows)} flows" if len(flows) > 1 else ""
    return (f"ZCRP, measurement {measurement.number}: messages of {measurement.size} bytes,"
            f" {arrived / scale:.4g} {name}{several}")


def script(measurement):
    times = [change["t"] for flow in measurement.flows.values() for change in flow.changes]
    first, last = min(times), max(times)
    out = SCENE.format(title=f"'{title_of(measurement)}'", first=f"{first:.9g}",
                       last=f"{last if last > first else first + 1e-6:.9g}")
    drawn = panels(measurement)
    return out + "".join(panel.script(panel is drawn[-1]) for panel in drawn) + "unset multiplot\n"
