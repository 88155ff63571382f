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
LEAST_CONTRAST = 5  # of a line on it
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


def luminance(colour):
    """Of "#rrggbb": 0 for black to 1 for white (WCAG 2.2)."""
    parts = [int(colour[at:at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(colour, other):
    """1 to 21 (WCAG 2.2)."""
    dark, light = sorted((luminance(colour), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def mirrored(red, green, blue):
    """The same hue, as light on black as it was dark on white; and a little lighter, to be read. Greys may be faint."""
    hue, lightness, saturation = colorsys.rgb_to_hls(red / 255, green / 255, blue / 255)
    lightness = min(1, 1 - 0.92 * lightness)
    while True:
        turned = "#" + "".join(f"{round(255 * part):02x}" for part in colorsys.hls_to_rgb(hue, lightness, saturation))
        if saturation == 0 or contrast(turned, DARK_BACKGROUND) >= LEAST_CONTRAST:
            return turned
        lightness += 0.01


def with_dark_scheme(svg):
    """A picture of gnuplot's that also suits a reader who prefers a dark colour scheme. Programs that know
    no style sheet draw it as it was."""
    rules = ["#gnuplot_canvas>rect:first-child{fill:" + DARK_BACKGROUND + "}"]
    for name, value in sorted(set(COLOUR.findall(svg))):
        parts = [0, 0, 0] if value == "black" else [int(part) for part in re.findall(r"\d+", value)]
        rules.append(f'[{name}="{value}"]{{{name}:{mirrored(*parts)}}}')
    style = "<style>@media (prefers-color-scheme: dark) {\n" + "\n".join(rules) + "\n}</style>\n"
    return svg.replace("<g id=\"gnuplot_canvas\">", style + "<g id=\"gnuplot_canvas\">", 1)
