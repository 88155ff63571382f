"""Draws a figure with gnuplot: throughput over the size of messages, as SVG."""

import shutil
import subprocess

from run import Failure
from summary import bytes_text, label

COLOURS = {"zcrp/aal5": "#1f5fa8", "zcrp/aal5-udp": "#1f5fa8", "zcrp/udp": "#2a9d8f",
           "tcp": "#d1495b"}
MARKS = {"zcrp/aal5": 7, "zcrp/aal5-udp": 7, "zcrp/udp": 5, "tcp": 9}
DASHED = 2  # with load
SOLID = 1

SCENE = """set terminal svg size 640,440 dynamic enhanced background '#ffffff' font 'sans-serif,13'
set logscale x 2
set xlabel 'message size, bytes (K, M: powers of 1024)'
set ylabel 'throughput, Mbit/s'
set yrange [0:{most}]
set offsets graph 0.03, graph 0.03, 0, 0
set grid lc '#dddddd'
set border lc '#444444'
set key outside top center horizontal noenhanced maxrows 3 width -2
set pointintervalbox 0
set bars small
set xtics rotate by -45
"""


def check():
    if not shutil.which("gnuplot"):
        raise Failure("gnuplot is needed, and there is none")


def block(name, points):
    lines = [f"{size} {p.mbit_per_s:.6g} {p.low:.6g} {p.high:.6g}" for size, p in points.items()]
    return "\n".join([f"${name} << END", *lines, "END", ""])


def line(name, series, dash, title):
    colour = f"lc rgb '{COLOURS[series]}'"
    mark = MARKS[series] - (dash == DASHED)
    return [f"${name} using 1:2:3:4 with yerrorbars pt 0 {colour} notitle",
            f"${name} using 1:2 with linespoints lw 2 pt {mark} ps 0.7 {colour} dt {dash} "
            f"title '{title}'"]


def ticks(sizes):
    """Where labels would touch, the smaller size keeps its own."""
    kept = []
    for size in sorted(sizes):
        if not kept or size >= 1.9 * kept[-1]:
            kept.append(size)
    return "set xtics (" + ", ".join(f"'{bytes_text(size)}' {size}" for size in kept) + ")\n"


def script(curves, tcp, most):
    """For gnuplot: curves are (series, points, is it with load), most the top of the y axis."""
    is_compared = any(is_loaded for *_, is_loaded in curves)
    text = SCENE.format(most=f"{most:.6g}")
    text += ticks({size for _, points, _ in curves for size in points})
    lines = []
    for i, (series, points, is_loaded) in enumerate(curves):
        text += block(f"c{i}", points)
        title = label(series, tcp) + (", with load" if is_loaded else ", without" * is_compared)
        lines += line(f"c{i}", series, DASHED if is_loaded else SOLID, title)
    return text + "plot " + ", ".join(lines) + "\n"


def draw(text):
    """The SVG of a script."""
    done = subprocess.run(["gnuplot"], input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure(f"gnuplot cannot draw: {done.stderr.strip()}")
    return done.stdout
