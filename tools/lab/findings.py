"""What remains of the runs of a figure; the paper's findings, and whether they hold here. What holds is decided by
figures alone: two rates are equal within a tenth, and large messages are those of 50,000 bytes and more."""

import collections
import statistics

from machines import LOADED, PAIRS, WITHOUT_LOAD

# ---- a figure: medians, and what lies about them

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


# ---- findings

EQUAL = 0.1  # rates differ by no more than this share of the greater one
MARGIN = 0.05  # a line lies above another one if it does by more than this
FULL = 0.95  # of the greatest rate anywhere, and the link is full
AREA = 5  # "in the area of": this factor either way

HOLDS, NOT, PARTLY, UNKNOWN = "holds", "does not hold", "holds in part", "not measured"

# The paper's words, shortened; for each protocol that it is about, verdict and reason.
Finding = collections.namedtuple("Finding", "claim judgements")
Judgement = collections.namedtuple("Judgement", "series verdict reason")


def is_equal(a, b):
    return abs(a - b) <= EQUAL * max(a, b)


def crossing(ours, theirs):
    """From which size on ours is never below theirs, and whether it is above them anywhere there;
    None for the size if it is below at the largest."""
    start = None
    is_above = False
    for size in sorted(set(ours) & set(theirs), reverse=True):
        ratio = ours[size].mbit_per_s / theirs[size].mbit_per_s
        if ratio < 1 - MARGIN:
            break
        start = size
        is_above = is_above or ratio > 1 + MARGIN
    return start, is_above


def threshold_of_pair(ours, theirs):
    """Is there a threshold near the paper's, above which ours is faster; what there is, and where."""
    start, is_above = crossing(ours, theirs)
    if start is None:
        return False, "slower than TCP even with the largest messages", None
    words = "as fast as TCP, or faster," if is_above else "as fast as TCP"
    is_near = LARGE / AREA <= start <= LARGE * AREA and start != min(ours)
    return is_near and is_above, words, start


def kinds_text(found):
    """How many pairs are alike, and from which sizes on."""
    starts = collections.defaultdict(list)
    for _, words, start in found:
        starts[words].append(start)
    said = []
    for words, sizes in sorted(starts.items(), key=lambda item: -len(item[1])):
        ends = [] if None in sizes else sorted({min(sizes), max(sizes)})
        place = " from " + " to ".join(map(bytes_text, ends)) + " on" if ends else ""
        said.append(f"{words}{place} in {len(sizes)}")
    return "; ".join(said)


def threshold(rates, series):
    found = [threshold_of_pair(pair[series], pair["tcp"]) for pair in rates.pairs()
             if large_rate(pair.get(series, {})) and large_rate(pair.get("tcp", {}))]
    if not found:
        return Judgement(series, UNKNOWN, "")
    count = sum(holds for holds, *_ in found)
    verdict = HOLDS if count > len(found) / 2 else PARTLY if count else NOT
    return Judgement(series, verdict, f"of {len(found)} pairs: {kinds_text(found)}")


class Rates:
    """Figures by number, each a summary: series, then size, then point."""

    def __init__(self, figures):
        self.figures = figures

    def pairs(self):
        return [self.figures[pair.number] for pair in PAIRS if pair.number in self.figures]

    def series(self):
        """All lines that there are, in the order of the figures."""
        return list(dict.fromkeys(s for figure in self.figures.values() for s in figure))

    def best(self):
        """The rate of large messages where it is greatest: what the link carries."""
        rates = (large_rate(points) for figure in self.figures.values()
                 for points in figure.values())
        return max(rate for rate in rates if rate is not None)

    def points(self, sender, receiver, series):
        """From a machine to another; empty if it was not measured."""
        (pair,) = (pair for pair in PAIRS if (pair.sender, pair.receiver) == (sender, receiver))
        return self.figures.get(pair.number, {}).get(series, {})


def compare(rates, series, pairs, decide):
    """Looks at the rates of some pairs of machines; decide(*rates) says whether it is so."""
    values = [large_rate(rates.points(*pair, series)) for pair in pairs]
    if None in values:
        return Judgement(series, UNKNOWN, "")
    said = ", ".join(f"{a} to {b} {value:.3g}" for (a, b), value in zip(pairs, values))
    full = "; all fill the link" if min(values) >= FULL * rates.best() else ""
    return Judgement(series, HOLDS if decide(*values) else NOT, f"Mbit/s: {said}{full}")


def equal_behaviour(rates, series):
    pairs = [("Ultra 1", "5"), ("5", "Ultra 1")]
    judgement = compare(rates, series, pairs, is_equal)
    if judgement.verdict == UNKNOWN:
        return judgement
    there, back = (rates.points(*pair, series) for pair in pairs)
    sizes = set(there) & set(back)
    equal = sum(is_equal(there[size].mbit_per_s, back[size].mbit_per_s) for size in sizes)
    return judgement._replace(
        reason=f"{judgement.reason}; equal at {equal} of all {len(sizes)} sizes")


def equal_tcp(rates, series):
    def decide(a, b, c, slow):
        return is_equal(min(a, b, c), max(a, b, c)) and slow < min(a, b, c) * (1 - EQUAL)
    pairs = [("Ultra 1", "Ultra 1"), ("Ultra 1", "5"), ("5", "Ultra 1"), ("5", "5")]
    return compare(rates, series, pairs, decide)


def is_faster(there, back):
    return there > back * (1 + EQUAL)


def both_ways(a, b, decide):
    """Between two machines: decide(there, back)."""
    return lambda rates, series: compare(rates, series, [(a, b), (b, a)], decide)


def kept_under_load(points, base):
    """The median over large messages of what remains of the rate; None without any."""
    kept = [point.mbit_per_s / base[size].mbit_per_s for size, point in points.items()
            if size >= LARGE and size in base]
    return statistics.median(kept) if kept else None


def unchanged_by_load(rates, series):
    base = rates.figures.get(WITHOUT_LOAD, {}).get(series)
    kept = {f: kept_under_load(rates.figures[f.number][series], base) for f in LOADED
            if base and series in rates.figures.get(f.number, {})}
    kept = {figure: value for figure, value in kept.items() if value is not None}
    if not kept:
        return Judgement(series, UNKNOWN, "")
    said = ", ".join(f"{a} and {b} counters {value:.0%}" for (*_, (a, b)), value in kept.items())
    holds = [value >= 1 - EQUAL for value in kept.values()]
    verdict = HOLDS if all(holds) else PARTLY if any(holds) else NOT
    return Judgement(series, verdict, f"of its rate it keeps, beside sender and receiver: {said}")


CLAIMS = [  # words, who is judged, how
    ("ZCRP exceeds TCP when messages are larger than a threshold, in the area of 50,000 bytes, "
     "in most cases.", "zcrp", threshold),
    ("ZCRP behaves equally between Ultra and 5, whichever sends, despite the difference in "
     "computing power.", "zcrp", equal_behaviour),
    ("ZCRP's throughput is almost unchanged by a competing process.", "zcrp", unchanged_by_load),
    ("TCP's too (in the paper it was even greater, which its authors put down to the scheduler).",
     "tcp", unchanged_by_load),
    ("TCP is equally fast from Ultra to Ultra, from Ultra to 5 and from 5 to Ultra, and slower from "
     "5 to 5.", "tcp", equal_tcp),
    ("Both protocols are faster from 20 to Ultra 2 than from Ultra 2 to 20.", "",
     both_ways("20", "Ultra 2", is_faster)),
    ("From 5 to 20 and from 20 to 5 is roughly the same.", "", both_ways("5", "20", is_equal)),
    ("From 20 to Ultra exceeds from Ultra to 20.", "", both_ways("20", "Ultra 1", is_faster)),
]

def judge(figures):
    """All findings; figures by number, each a summary."""
    rates = Rates(figures)
    return [Finding(words, [how(rates, series) for series in rates.series()
                            if series.startswith(whom)]) for words, whom, how in CLAIMS]


def rows(figures, tcp):
    """Of a table: each claim once, and for each protocol a line: name, verdict, reason."""
    for finding in judge(figures):
        for i, one in enumerate(finding.judgements):
            yield finding.claim * (i == 0), label(one.series, tcp), one.verdict, one.reason or "-"


def sentence(judgement, tcp):
    reason = f" ({judgement.reason})" if judgement.reason else ""
    return f"{label(judgement.series, tcp)}: {judgement.verdict}{reason}"
