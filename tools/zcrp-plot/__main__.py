"""zcrp-plot: draws what zcrp-bench wrote: results (--json) or the life of a transfer (--trace), or groups of
bars. See docs/zcrp-plot.1."""

import argparse
import itertools
import os
import subprocess
import sys

import bars
import drawing
import sweep
from colours import with_dark_scheme
from reading import Failure, Measurement, is_trace, read, read_results


def command_line(arguments):
    parser = argparse.ArgumentParser(
        prog="zcrp-plot", allow_abbrev=False,
        description="Draws what zcrp-bench wrote with --json or --trace: a picture (SVG, by gnuplot).",
        epilog="Status: 0 done; 1 something failed; 2 the command line is wrong.")
    add = parser.add_argument
    add("files", metavar="FILE", nargs="+",
        help="results (several files: one picture), a trace, or groups of bars; - is standard input")
    add("--figure", choices=sweep.FIGURES,
        help="what of results to draw (throughput; of round trips round-trip)")
    add("--log", action="store_true", help="a logarithmic axis for the figure")
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
        first = options.files[0]
        options.output = "-" if first == "-" else first + ".svg"
    return options


def read_lines(lines, options):
    """A measurement of a trace, or the JSON object of the file."""
    first = next(lines, "")
    lines = itertools.chain([first], lines)
    if not is_trace(first):
        return read_results(lines)
    measurement = read(lines, options.measurement)
    measurement.cut(options.first, options.last)
    return measurement


def read_file(name, options):
    if name == "-":
        return read_lines(iter(sys.stdin), options)
    with open(name, encoding="utf-8", errors="replace") as file:
        return read_lines(iter(file), options)


def script_of(contents, options):
    """What gnuplot is to do about the files."""
    if len(contents) == 1 and isinstance(contents[0], Measurement):
        return drawing.script(contents[0])
    if len(contents) == 1 and bars.is_bars(contents[0]):
        return bars.script(contents[0])
    return sweep.script(contents, options.figure, options.log)


def draw(text, path):
    try:
        done = subprocess.run(["gnuplot"], input=text.encode(), capture_output=True, check=False)
    except FileNotFoundError:
        raise Failure("needs gnuplot: apt install gnuplot-nox") from None
    if done.returncode != 0:
        raise Failure("gnuplot fails: " + done.stderr.decode(errors="replace").strip()[-200:])
    picture = with_dark_scheme(done.stdout.decode()).encode()
    if path == "-":
        sys.stdout.buffer.write(picture)
        sys.stdout.buffer.flush()
        return
    with open(path, "wb") as file:
        file.write(picture)


def main(arguments):
    options = command_line(arguments)
    try:
        contents = [read_file(name, options) for name in options.files]
        draw(script_of(contents, options), options.output)
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
