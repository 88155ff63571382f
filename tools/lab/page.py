"""The page, in Markdown: what was found, and every figure as a picture, by zcrp-plot, and as a table."""

import json
import os
import shutil
import subprocess

import document
from attempts import Failure
from document import table
from machines import FIGURES, LOADED, MACHINES, WITHOUT_LOAD
from run import find
from summary import bytes_text, label, large_rate, missing_runs, summarize

PAGE = "index.md"
WITHOUT_QUOTAS = "This system does not permit processor quotas (control groups), so all machines here " \
    "are as fast as the processor; they differ in the number of cores alone. What is said of unequal " \
    "machines says nothing."
QUICK = "A quick look: fewer sizes, and too few repetitions to quote. make paper measures properly."
MISSING = "Some runs failed twice. What they would have said is missing: a dash, and a line below."


def check():
    """Before all the measuring."""
    find("zcrp-plot")
    if not shutil.which("gnuplot"):
        raise Failure("needs gnuplot: apt install gnuplot-nox")


def number(value):
    """Three digits for what is large, two for what is small."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def cells_of(point):
    """Of a size, for a series: rate, least and most, processor time of sender and receiver."""
    if point is None:
        return ["-"] * 3
    return [f"**{number(point.mbit_per_s)}**", f"{number(point.low)} to {number(point.high)}",
            f"{number(point.sender_cpu)} + {number(point.receiver_cpu)}"]


def figure_table(measured, tcp):
    """A row for every size that was measured, or is missing."""
    own = summarize(measured)
    sizes = sorted({run["size"] for run in measured["runs"]} |
                   {size for one in measured.get("missing", []) for size in one["sizes"]})
    head = ["bytes"] + [word for series in own for word in
                        (f"{label(series, tcp)}, Mbit/s", "least to most", "CPU s/GB")]
    return table(head, ([bytes_text(size)] + [cell for points in own.values()
                                              for cell in cells_of(points.get(size))]
                        for size in sizes))


def pair_text(figure):
    return f"from {MACHINES[figure.sender].name} to {MACHINES[figure.receiver].name}"


def load_text(figure):
    """Where how many processes count."""
    return " and ".join(f"{count} beside the {end}"
                        for count, end in zip(figure.load, ("sender", "receiver")) if count)


def curves(figure, figures, tcp):
    """What a picture shows, as results of zcrp-bench; under load also the same machines without."""
    own = {label(series, tcp): points for series, points in figures[figure.number].items()}
    if figure in LOADED:
        base = figures.get(WITHOUT_LOAD, {})
        own = {label(series, tcp): points for series, points in base.items()} | \
            {f"{name}, with load": points for name, points in own.items()}
    return {"runs": [{"transport": name, "size": size, "gbit_per_s": rate / 1e3, "round_trip_us": None}
                     for name, points in own.items() for size, point in points.items()
                     for rate in (point.low, point.mbit_per_s, point.high)]}


def draw(path, results):
    """The picture beside the file of what it shows; nothing, if there is nothing to draw."""
    if not results["runs"]:
        return ""
    with open(path + ".json", "w", encoding="ascii") as file:
        json.dump(results, file)
    done = subprocess.run([find("zcrp-plot"), path + ".json", "--output", path + ".svg"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure(done.stderr.strip())
    return f"![]({os.path.basename(path)}.svg)\n\n"


def figure_text(directory, measured, figure, figures, tcp):
    load = f", with and without load: {load_text(figure)}" if any(figure.load) else ""
    picture = draw(os.path.join(directory, f"figure{figure.number}"), curves(figure, figures, tcp))
    return f"### Figure {figure.number}: {pair_text(figure)}{load}\n\n" + picture + \
        figure_table(measured, tcp)


def approximate(figures, tcp):
    """The paper's figures 13 and 14: a rate for each pair of machines."""
    series = list(dict.fromkeys(name for figure in figures.values() for name in figure))
    rows = []
    for figure in (figure for figure in FIGURES if figure.number in figures):
        rates = [large_rate(figures[figure.number].get(name, {})) for name in series]
        rows.append([pair_text(figure) + (", load: " + load_text(figure)) * any(figure.load)] +
                    ["-" if rate is None else number(rate) for rate in rates])
    return table(["Mbit/s"] + [label(name, tcp) for name in series], rows)


def warnings(results):
    conditions = results["conditions"]
    said = [WITHOUT_QUOTAS] * (not conditions["quotas"]) + [QUICK] * (conditions["repeat"] < 3) + \
        [MISSING] * bool(missing_runs(results))
    return "".join(f"**{words}**\n\n" for words in said)


def method(results):
    said = results["conditions"]
    machines = table(["in the place of", "which had", "share of a core"], (
        [m["name"], f"{m['cpus']} x {m['mhz']} MHz", f"{m['share']:.1%}"]
        for m in results["machines"].values()))
    return f"A link of {said['rate']}bit/s and {said['delay']} each way. A point is the median of " \
        f"{said['repeat']}, with {said['count']:,} messages or {said['bytes']:,} bytes, whichever is " \
        "less. docs/evaluation.md tells the rest.\n\n" + machines


def page(directory, results):
    """The whole page, from what paper.json holds; its pictures are drawn into the directory."""
    conditions, tcp = results["conditions"], results["conditions"]["tcp"]
    measured = {figure["number"]: figure for figure in results["figures"]}
    figures = {number: summarize(figure) for number, figure in measured.items()}
    drawn = [figure_text(directory, measured[figure.number], figure, figures, tcp)
             for figure in FIGURES if figure.number in figures]
    return "\n".join([
        "# ZCRP beside TCP, as in 1998\n",
        f"{conditions['when']}, libzcrp {conditions['version']}. {document.conditions(results)}"
        "The measurements are in [paper.json](paper.json).\n",
        warnings(results) + "## Findings\n", document.findings(results),
        "## Large messages (figures 13 and 14)\n", approximate(figures, tcp),
        "## Throughput over message size\n", *drawn, "## Method\n", method(results)])
