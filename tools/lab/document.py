"""Writes what `make paper` and zcrp-cpuload have measured into docs/evaluation.md, between its marks."""

import json
import os
import sys

from findings import rows
from summary import missing_runs, missing_text, summarize
from tables import line, replace


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


def figure(estimate, has_spread=False):
    if estimate is None:
        return "-"
    text = f"{estimate['median']:.3g}"
    return f"{text} [{estimate['low']:.2f}, {estimate['high']:.2f}]" if has_spread else text


def name(figures):
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
        rows = [[one["phase"], name(one), figure(one["gbit_per_s"]), figure(one["own_ms_per_gb"]),
                 figure(one["host_ms_per_gb"]), figure(one["counter_kept"], True),
                 figure(one["gbit_per_s_to_tcp"], True), figure(one["counter_kept_to_tcp"], True)]
                for one in setting["summary"]]
        text += table(["phase", "", "Gbit/s", "processes, ms/GB", "host, ms/GB", "counter kept",
                       "speed / TCP", "counter / TCP"], rows)
        text += footnotes((f"{one['transport']}, {one['phase']}", one)
                          for one in setting.get("missing", []))
    return text + "\n"


SOURCES = {  # of each mark: file, and what is made of it
    "conditions": ("paper.json", conditions),
    "findings": ("paper.json", findings),
    "load": ("load.json", load),
}


def update(page, directory):
    """The page with new figures; what was not measured stays as it is."""
    for name, (source, make) in SOURCES.items():
        path = os.path.join(directory, source)
        if os.path.exists(path):
            with open(path, encoding="ascii") as file:
                page = replace(page, name, make(json.load(file)))
    return page


def main(directory, document, output=None):
    """Rewrites the document, or writes what it would be to another file."""
    with open(document, encoding="utf-8") as file:
        page = update(file.read(), directory)
    with open(output or document, "w", encoding="utf-8") as file:
        file.write(page)


if __name__ == "__main__":
    main(*sys.argv[1:])
