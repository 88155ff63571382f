"""zcrp-plot: draws what zcrp-bench wrote: results (--json) or the life of a transfer (--trace). See
docs/zcrp-plot.1."""

import argparse
import itertools
import os
import subprocess
import sys

import drawing
import sweep
from reading import Failure, is_trace, read, read_results


def command_line(arguments):
    parser = argparse.ArgumentParser(
        prog="zcrp-plot", allow_abbrev=False,
        description="Draws what zcrp-bench wrote with --json or --trace: a picture (SVG, by gnuplot).",
        epilog="Status: 0 done; 1 something failed; 2 the command line is wrong.")
    add = parser.add_argument
    add("file", metavar="FILE", help="results or a trace; - is standard input")
    add("--output", metavar="PICTURE", help="where to write it (FILE.svg; for - standard output)")
    add("--measurement", type=int, default=1, metavar="N", help="which one of a trace to draw (1)")
    add("--from", type=float, dest="first", default=0, metavar="SECONDS",
        help="where a trace is drawn from (0)")
    add("--to", type=float, dest="last", default=float("inf"), metavar="SECONDS",
        help="where a trace is drawn to (its end)")
    add("--version", action="version", version="zcrp-plot @VERSION@")
    options = parser.parse_args(arguments)
    if not 0 <= options.first < options.last:
        parser.error("--from is not before --to")
    if options.output is None:
        options.output = "-" if options.file == "-" else options.file + ".svg"
    return options


def script_of(lines, options):
    """What gnuplot is to do about a file."""
    first = next(lines, "")
    lines = itertools.chain([first], lines)
    if not is_trace(first):
        return sweep.script(read_results(lines))
    measurement = read(lines, options.measurement)
    measurement.cut(options.first, options.last)
    return drawing.script(measurement)


def read_file(options):
    if options.file == "-":
        return script_of(iter(sys.stdin), options)
    with open(options.file, encoding="utf-8", errors="replace") as file:
        return script_of(iter(file), options)


def draw(text, path):
    try:
        done = subprocess.run(["gnuplot"], input=text.encode(), capture_output=True, check=False)
    except FileNotFoundError:
        raise Failure("needs gnuplot: apt install gnuplot-nox") from None
    if done.returncode != 0:
        raise Failure("gnuplot fails: " + done.stderr.decode(errors="replace").strip()[-200:])
    if path == "-":
        sys.stdout.buffer.write(done.stdout)
        sys.stdout.buffer.flush()
        return
    with open(path, "wb") as file:
        file.write(done.stdout)


def main(arguments):
    options = command_line(arguments)
    try:
        draw(read_file(options), options.output)
    except OSError as error:
        place = f"cannot open '{error.filename}': " if error.filename else ""
        print(f"zcrp-plot: {place}{error.strerror}", file=sys.stderr)
        return 1
    except Failure as error:
        print(f"zcrp-plot: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except BrokenPipeError:
        os._exit(1)
