"""zcrp-plot: draws the life of a transfer, as zcrp-bench --trace wrote it. See docs/zcrp-plot.1."""

import argparse
import os
import subprocess
import sys

from drawing import script
from reading import Failure, read


def command_line(arguments):
    parser = argparse.ArgumentParser(
        prog="zcrp-plot", allow_abbrev=False,
        description="Draws what zcrp-bench --trace wrote: a picture (SVG, by gnuplot).",
        epilog="Status: 0 done; 1 something failed; 2 the command line is wrong.")
    add = parser.add_argument
    add("trace", metavar="TRACE", help="the file; - is standard input")
    add("--output", metavar="FILE", help="the picture (TRACE with .svg behind; of - standard output)")
    add("--measurement", type=int, default=1, metavar="N", help="which one of the trace (1)")
    add("--from", type=float, dest="first", default=0, metavar="SECONDS", help="from then on (0)")
    add("--to", type=float, dest="last", default=float("inf"), metavar="SECONDS",
        help="until then (the end)")
    add("--version", action="version", version="zcrp-plot @VERSION@")
    options = parser.parse_args(arguments)
    if not 0 <= options.first < options.last:
        parser.error("--from is not before --to")
    if options.output is None:
        options.output = "-" if options.trace == "-" else options.trace + ".svg"
    return options


def read_trace(path, wanted):
    if path == "-":
        return read(sys.stdin, wanted)
    with open(path, encoding="ascii", errors="replace") as file:
        return read(file, wanted)


def draw(text, path):
    try:
        done = subprocess.run(["gnuplot"], input=text.encode(), capture_output=True, check=False)
    except FileNotFoundError:
        raise Failure("needs gnuplot, and there is none") from None
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
        measurement = read_trace(options.trace, options.measurement)
        measurement.cut(options.first, options.last)
        draw(script(measurement), options.output)
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
