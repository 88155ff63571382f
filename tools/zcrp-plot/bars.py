"""Groups of bars, which are read from JSON, as a script for gnuplot. A bar is as high as the median of its
values, and has a mark from the least to the most."""

import statistics

from colours import AXES, GRID, of_lines
from reading import Failure
from sweep import quoted

GROUP_WIDTH = 0.84   # of the room that a group has

SCENE = """set terminal svg size 800,460 enhanced background '#ffffff' font 'sans-serif,14'
set ylabel {label} noenhanced
set yrange [0:*] noextend
set offsets 0, 0, graph 0.06, 0
set grid ytics lc '{grid}'
set border 3 lc '{axes}'
set tics nomirror
set xtics scale 0 noenhanced ({tics})
set xrange [-0.5:{last}]
set key outside top center horizontal Left reverse noenhanced
set style fill solid 1 noborder
set boxwidth {width}
set bmargin 4
"""


def is_bars(results):
    return isinstance(results, dict) and "groups" in results


def tics(groups):
    """Labels; a new line in one begins a second line."""
    kept = str.maketrans({"\\": "", '"': "", "%": "%%", "\n": "\\n"})
    return ", ".join(f'"{group["label"].translate(kept)}" {number}' for number, group in enumerate(groups))


def rows(groups, name, offset):
    """Of the bars of a name: place, median, least, most."""
    for number, group in enumerate(groups):
        for bar in group["bars"]:
            if bar["name"] == name and bar["values"]:
                values = bar["values"]
                yield (number + offset, statistics.median(values), min(values), max(values))


def plots(groups, names, width):
    text, parts, colours = "", [], of_lines(names)
    for number, name in enumerate(names):
        offset = (number - (len(names) - 1) / 2) * width
        lines = (" ".join(f"{value:.6g}" for value in row) for row in rows(groups, name, offset))
        text += "\n".join([f"$b{number} << END", *lines, "END", ""])
        parts += [f"$b{number} using 1:2 with boxes lc '{colours[name]}' title {quoted(name)}",
                  f"$b{number} using 1:3:(0):($4-$3) with vectors nohead lc '{AXES}' notitle",
                  f"$b{number} using 1:4:(sprintf('%.3g', $2)) with labels offset 0,0.6 "
                  "font ',11' notitle"]
    return text + "plot " + ", ".join(parts) + "\n"


def script(results):
    try:
        groups = results["groups"]
        names = list(dict.fromkeys(bar["name"] for group in groups for bar in group["bars"]))
        width = GROUP_WIDTH / len(names)
        return SCENE.format(label=quoted(results["ylabel"]), tics=tics(groups), last=len(groups) - 0.5,
                            width=f"{0.92 * width:.4g}", grid=GRID, axes=AXES) + \
            plots(groups, names, width)
    except (LookupError, TypeError, AttributeError, ZeroDivisionError) as error:
        raise Failure("these are no groups of bars") from error
