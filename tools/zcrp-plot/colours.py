"""Colours: those of transports, and those of a dark colour scheme."""

import colorsys
import re

COLOURS = ("#1f6fb4", "#d1691c", "#3a8f3a", "#8b55b0", "#a8433c", "#5f6f7f", "#c45c9e", "#8a8a1e")
GREY = "#7f7f7f"
GRID, AXES = "#dddddd", "#444444"

# Of a transport's line or bar, whatever is drawn beside it.
OF_TRANSPORTS = {"zcrp": COLOURS[0], "tcp": COLOURS[1], "unix": COLOURS[2], "pipe": COLOURS[3],
                 "udp-limit": GREY, "zcrp/memory": COLOURS[6]}

DARK_BACKGROUND = "#0d1117"
COLOUR = re.compile(r"""\b(fill|stroke|color) ?= ?["'](rgb\( *\d+, *\d+, *\d+\)|black)["']""")


def of_lines(names):
    """A colour for each name. A transport has its own; a second line of it, or a stranger, has one that
    no line of this picture has."""
    chosen = {}
    for name in names:
        own = OF_TRANSPORTS.get(name, OF_TRANSPORTS.get(name.split("/")[0]))
        chosen[name] = own if own and own not in chosen.values() else None
    free = [colour for colour in COLOURS if colour not in chosen.values()]
    for number, name in enumerate(name for name in names if chosen[name] is None):
        chosen[name] = free[number % len(free)] if free else COLOURS[number % len(COLOURS)]
    return chosen


def mirrored(red, green, blue):
    """The same hue, as light on black as it was dark on white; and a little lighter, to be read."""
    hue, lightness, saturation = colorsys.rgb_to_hls(red / 255, green / 255, blue / 255)
    turned = colorsys.hls_to_rgb(hue, min(1, 1 - 0.92 * lightness), saturation)
    return "#" + "".join(f"{round(255 * part):02x}" for part in turned)


def with_dark_scheme(svg):
    """A picture of gnuplot's that also suits a reader who prefers a dark colour scheme. Programs that know
    no style sheet draw it as it was."""
    rules = ["#gnuplot_canvas>rect:first-child{fill:" + DARK_BACKGROUND + "}"]
    for name, value in sorted(set(COLOUR.findall(svg))):
        parts = [0, 0, 0] if value == "black" else [int(part) for part in re.findall(r"\d+", value)]
        rules.append(f'[{name}="{value}"]{{{name}:{mirrored(*parts)}}}')
    style = "<style>@media (prefers-color-scheme: dark) {\n" + "\n".join(rules) + "\n}</style>\n"
    return svg.replace("<g id=\"gnuplot_canvas\">", style + "<g id=\"gnuplot_canvas\">", 1)
