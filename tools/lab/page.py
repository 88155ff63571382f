"""What was measured, in Markdown: a page with every figure as a picture, by zcrp-plot, and as a table; and, as a
program, what `make paper` and zcrp-cpuload have measured, in docs/evaluation.md between its marks:

    page.py DIRECTORY DOCUMENT [OUTPUT]     DIRECTORY has paper.json and load.json
"""

import json
import os
import shutil
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))

from attempts import Failure
from findings import bytes_text, label, large_rate, missing_runs, missing_text, rows, summarize
from machines import FIGURES, LOADED, MACHINES, WITHOUT_LOAD
from run import find
from tables import line, read, replace, write

# ---- what the page and the document have

def table(head, rows):
    return line(head) + line(["---"] * len(head)) + "".join(map(line, rows))


def footnotes(missing):
    """What the dashes of a table are for: what is missing, and the run that failed."""
    lines = [f"- {what}: `{one['command']}`: {' '.join(one['said'].split())}\n"
             for what, one in missing]
    return "\nMissing, for these runs failed twice:\n\n" + "".join(lines) if lines else ""


def findings(results):
    """The paper's findings, a line for each protocol."""
    tcp = results["conditions"]["tcp"]
    figures = {figure["number"]: summarize(figure) for figure in results["figures"]}
    lines = [[claim, name, f"**{verdict}**", reason] for claim, name, verdict, reason in
             rows(figures, tcp)]
    said = ((missing_text(one, tcp), one) for one in missing_runs(results))
    return table(["the paper's finding", "", "here", ""], lines) + footnotes(said)


def conditions(results):
    said = results["conditions"]
    quotas = "" if said["quotas"] else "; no quotas, so all machines are alike"
    return f"{said['processor']}, {said['cores']} cores, Linux {said['kernel']}; " \
        f"medians of {said['repeat']}{quotas}.\n"


def estimate_text(estimate, has_spread=False):
    if estimate is None:
        return "-"
    text = f"{estimate['median']:.3g}"
    return f"{text} [{estimate['low']:.2f}, {estimate['high']:.2f}]" if has_spread else text


def name_of(figures):
    """A transport; TCP's channel has its name."""
    channel = figures["channel"]
    return channel if channel.startswith("tcp") else f"{figures['transport']}/{channel}"


def load(results):
    """What zcrp-cpuload found, a table for each setting."""
    text = ""
    for setting in results["settings"]:
        a, b = setting["cores"]
        where = "both ends on one core" if a == b else "an end on each of two cores"
        text += f"\n{setting['path']}, {where}; paced to {setting['paced_to_gbit_per_s']:.3g} Gbit/s:\n\n"
        rows = [[one["phase"], name_of(one), estimate_text(one["gbit_per_s"]), estimate_text(one["own_ms_per_gb"]),
                 estimate_text(one["host_ms_per_gb"]), estimate_text(one["counter_kept"], True),
                 estimate_text(one["gbit_per_s_to_tcp"], True), estimate_text(one["counter_kept_to_tcp"], True)]
                for one in setting["summary"]]
        text += table(["phase", "", "Gbit/s", "processes, ms/GB", "host, ms/GB", "counter kept",
                       "speed / TCP", "counter / TCP"], rows)
        text += footnotes((f"{one['transport']}, {one['phase']}", one)
                          for one in setting.get("missing", []))
    return text + "\n"


# ---- the page

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
    write(path + ".json", json.dumps(results))
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
    here = results["conditions"]
    said = [WITHOUT_QUOTAS] * (not here["quotas"]) + [QUICK] * (here["repeat"] < 3) + \
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
    here, tcp = results["conditions"], results["conditions"]["tcp"]
    measured = {figure["number"]: figure for figure in results["figures"]}
    figures = {number: summarize(figure) for number, figure in measured.items()}
    drawn = [figure_text(directory, measured[figure.number], figure, figures, tcp)
             for figure in FIGURES if figure.number in figures]
    return "\n".join([
        "# ZCRP beside TCP, as in 1998\n",
        f"{here['when']}, libzcrp {here['version']}. {conditions(results)}"
        "The measurements are in [paper.json](paper.json).\n",
        warnings(results) + "## Findings\n", findings(results),
        "## Large messages (figures 13 and 14)\n", approximate(figures, tcp),
        "## Throughput over message size\n", *drawn, "## Method\n", method(results)])


# ---- the document

SOURCES = {  # of each mark: file, and what is made of it
    "conditions": ("paper.json", conditions),
    "findings": ("paper.json", findings),
    "load": ("load.json", load),
}


def update(text, directory):
    """The document with new figures; what was not measured stays as it is."""
    for name, (source, make) in SOURCES.items():
        path = os.path.join(directory, source)
        if os.path.exists(path):
            text = replace(text, name, make(json.loads(read(path))))
    return text


def main(directory, document, output=None):
    """Rewrites the document, or writes what it would be to another file."""
    write(output or document, update(read(document), directory))


if __name__ == "__main__":
    main(*sys.argv[1:])
