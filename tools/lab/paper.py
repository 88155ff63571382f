"""The paper's evaluation again: its figures 15 to 30, between emulated machines. See docs/evaluation.md.

`make paper` runs it. It writes a page, index.md with its pictures, and what was measured, paper.json."""

import argparse
import datetime
import json
import os
import platform
import signal
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))

import groups
import page
import run
from attempts import Attempts
from findings import judge, sentence, summarize
from machines import MACHINES, SCALES, Figure
from progress import Progress
from tables import processor, read, write

HARDEST = Figure(15, "5", "5")  # where the best TCP is looked for


def conditions(scale, made, tcp):
    return {
        "when": datetime.date.today().isoformat(), "processor": processor(),
        "cores": len(os.sched_getaffinity(0)), "kernel": platform.release(),
        "version": os.environ.get("ZCRP_VERSION", ""), "quotas": made.version, "rate": run.RATE,
        "delay": run.DELAY, "payload": run.PAYLOAD, "repeat": scale.repeat,
        "count": scale.count, "bytes": scale.bytes, "tcp": tcp,
    }


def machines():
    return {key: machine._asdict() | {"share": machine.share} for key, machine in MACHINES.items()}


def missing_of(attempts, number):
    return [one for one in attempts.missing if one["figure"] == number]


def evaluate(scale, made, attempts):
    """Measures everything; what paper.json holds."""
    progress = Progress(1 + len(scale.figures) * len(run.CHANNELS))
    progress("the best TCP")
    tcp = run.best_tcp(attempts, made, scale, HARDEST)
    figures = []
    for figure in scale.figures:
        runs = []
        for channel in run.CHANNELS:
            progress(f"figure {figure.number}, {channel}")
            runs += run.figure_runs(attempts, made, scale, figure, channel, tcp)
        figures.append(figure._asdict() |
                       {"runs": runs, "missing": missing_of(attempts, figure.number)})
    progress.clear()
    if not any(figure["runs"] for figure in figures):
        raise run.Failure(f"nothing could be measured: {attempts.missing[-1]['said']}")
    return {"conditions": conditions(scale, made, tcp), "machines": machines(),
            "figures": figures, "missing": missing_of(attempts, None)}


def save(directory, results):
    os.makedirs(directory, exist_ok=True)
    write(os.path.join(directory, "paper.json"), json.dumps(results, indent=1) + "\n")
    write(os.path.join(directory, page.PAGE), page.page(directory, results))


def say(results, directory):
    figures = {figure["number"]: summarize(figure) for figure in results["figures"]}
    for finding in judge(figures):
        print(finding.claim)
        for judgement in finding.judgements:
            print(f"    {sentence(judgement, results['conditions']['tcp'])}")
    print(os.path.join(directory, page.PAGE))


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--scale", choices=SCALES, default="full", help="how much is measured")
    parser.add_argument("--output", default="build/paper", metavar="DIRECTORY",
                        help="where the page goes (build/paper)")
    parser.add_argument("--from", dest="source", metavar="FILE",
                        help="measure nothing, draw what this paper.json holds")
    return parser.parse_args(arguments)


def results_of(options, attempts):
    if options.source:
        return json.loads(read(options.source))
    with groups.available() as made:
        return evaluate(SCALES[options.scale], made, attempts)


def main(arguments):
    options, attempts = parse(arguments), Attempts()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        page.check()
        results = results_of(options, attempts)
        save(options.output, results)
        say(results, options.output)
    except (run.Failure, OSError) as error:
        print(f"paper: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return attempts.status("paper")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
