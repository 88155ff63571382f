"""What remains of the runs of a figure: medians, and what lies about them."""

import collections
import statistics

LARGE = 50000  # bytes of a message from which it is large: the paper's threshold

Point = collections.namedtuple("Point", "mbit_per_s low high sender_cpu receiver_cpu")

ORDER = ("zcrp/aal5", "zcrp/aal5-udp", "zcrp/udp", "tcp")


def series_of(run):
    return "tcp" if run["transport"] == "tcp" else f"zcrp/{run['channel']}"


def label(series, tcp="tcp"):
    return {"tcp": f"TCP ({tcp})", "zcrp/udp": "ZCRP over UDP"}.get(series, "ZCRP over AAL5")


def point(runs):
    def values(name):
        return [run[name] for run in runs]
    rates = values("mbit_per_s")
    return Point(statistics.median(rates), min(rates), max(rates),
                 statistics.median(values("sender_cpu_s_per_gb")),
                 statistics.median(values("receiver_cpu_s_per_gb")))


def summarize(figure):
    """Points by series, and in these by size; series in a fixed order, sizes ascending. Of what is
    missing there are no points."""
    groups = collections.defaultdict(list)
    for run in figure["runs"]:
        groups[series_of(run), run["size"]].append(run)
    missing = {series for one in figure.get("missing", []) for series in one["series"]}
    found = sorted({series for series, _ in groups} | missing, key=ORDER.index)
    sizes = sorted({size for _, size in groups})
    return {series: {size: point(groups[series, size]) for size in sizes
                     if (series, size) in groups} for series in found}


def large_rate(points):
    """One figure for a series: the median rate of large messages, in Mbit/s; None if there are none."""
    rates = [point.mbit_per_s for size, point in points.items() if size >= LARGE]
    return statistics.median(rates) if rates else None


def missing_runs(results):
    """Those that failed twice, of all figures."""
    return results.get("missing", []) + \
        [one for figure in results["figures"] for one in figure.get("missing", [])]


def missing_text(one, tcp):
    """What is missing without a run."""
    if one["figure"] is None:
        return f"which TCP is the best ({tcp} is this machine's own)"
    sizes = " to ".join(dict.fromkeys(bytes_text(size) for size in
                                      (one["sizes"][0], one["sizes"][-1])))
    series = " and ".join(label(name, tcp) for name in one["series"])
    return f"figure {one['figure']}, {series}, {sizes}"


def bytes_text(size):
    for unit, name in ((1 << 20, "M"), (1 << 10, "K")):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{name}"
    return str(size)
