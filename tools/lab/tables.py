"""What the programs that write docs/lab/ share: figures as text, columns, and tables in Markdown. In two pages,
tables.md and commands.md, the text between `<!-- name -->` and `<!-- end -->` is a table's.

A row's runs are zcrp-bench's, in turns, by the name of their transport. A column has a head, and a cell: the text
that the runs come to, `-` if a transport was not measured. `own` is the figure that suits the row, with its unit."""

import collections
import os
import platform
import re
import statistics
import sys

LAB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "lab")
PAGE = os.path.join(LAB, "tables.md")
COMMANDS = os.path.join(LAB, "commands.md")

Column = collections.namedtuple("Column", "head cell")
Figure = collections.namedtuple("Figure", "of unit")


class NotMeasured(Exception):
    """What a row needs is not here: it has dashes."""


# ---- figures of a run

def rate(run):
    return run["gbit_per_s"]


def messages(run):
    return run["msg_per_s"]


def cpu_s_per_gb(run):
    return run["sender"]["cpu_s_per_gb"] + run["receiver"]["cpu_s_per_gb"]


def trip(run):
    return run["round_trip_us"]["median"]


def slow_trip(run):
    return run["round_trip_us"]["p99"]


def half_a_trip(run):
    return trip(run) / 2


def own_figure(arguments):
    """What a row with these arguments of zcrp-bench tells: small messages are counted."""
    if "--ping" in arguments:
        return Figure(half_a_trip, " us")
    if "--size 64 " in arguments or "--size 1K " in arguments:
        return Figure(messages, " messages/s")
    return Figure(rate, " Gbit/s")


def median(runs, figure):
    return statistics.median(figure(run) for run in runs)


def short(value):
    """Three significant digits."""
    for power, suffix in (1e6, " M"), (1e3, " k"):
        if value >= power:
            return f"{value / power:#.3g}".rstrip(".") + suffix
    return f"{value:#.3g}".rstrip(".") if value else "0"


# ---- columns

def middle(title, name, figure=None):
    """The median; without a figure, of the row's own one."""
    def cell(by, own):
        if name not in by:
            return "-"
        return short(median(by[name], figure)) if figure else short(median(by[name], own.of)) + own.unit
    return Column(title, cell)


def ratio(title, name, other, figure=None, is_bold=True):
    """The median of the ratios within the turns."""
    def cell(by, own):
        if name not in by or other not in by:
            return "-"
        of = figure or own.of
        text = f"{statistics.median(of(a) / of(b) for a, b in zip(by[name], by[other])):.2f}"
        return f"**{text}**" if is_bold else text
    return Column(title, cell)


def which(title, name):
    """The channel: which of the ways of a transport was the best."""
    return Column(title, lambda by, _: by[name][0]["channel"].removeprefix("tcp/"))


# ---- tables

def line(cells):
    return "| " + " | ".join(cells) + " |\n"


def head(titles, left=1):
    """The first two lines of a table: `left` columns of text, then figures."""
    return line(titles) + line(["---"] * left + ["---:"] * (len(titles) - left))


def commands_text(rows):
    """What to type for each row, of (name, command): it would be too long for a table."""
    return "```sh\n" + "".join(f"# {name}\n{command}\n" for name, command in rows) + "```\n"


def old_rows(page, table):
    """The rows of a table as they are in the page, by the text in their first column."""
    body = re.search(f"<!-- {table} -->\n(.*?)<!-- end -->", page, re.S)
    rows = body.group(1).splitlines(keepends=True)[2:] if body else []
    return {row.split("|")[1].strip(): row for row in rows if row.startswith("|")}


def replace(page, name, text):
    return re.sub(f"(<!-- {name} -->\n).*?(<!-- end -->)",
                  lambda match: match.group(1) + text + match.group(2), page, flags=re.S)


def processor():
    names = re.findall(r"^model name\s*: (.*)$", read("/proc/cpuinfo"), re.M)
    return names[0] if names else platform.machine()


def conditions(repeat):
    return (f"{processor()}, {len(os.sched_getaffinity(0))} cores, Linux {platform.release()}; "
            f"medians of {repeat} turns.\n")


# ---- pages

def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def read_page():
    return read(PAGE)


def write_page(page, is_printed):
    """To its file, or to standard output only."""
    if is_printed:
        sys.stdout.write(page)
    else:
        write(PAGE, page)


def write_commands(texts):
    """The commands of tables, by the tables' names."""
    page = read(COMMANDS)
    for name, text in texts.items():
        page = replace(page, name, text)
    write(COMMANDS, page)


def options_of(parser):
    """Both programs have these."""
    parser.add_argument("--commands", action="store_true", help="only write docs/lab/commands.md")
    parser.add_argument("--only", default="", metavar="WORD", help="rows whose name contains it")
    parser.add_argument("--print", action="store_true", help="do not write the page")
    return parser.parse_args()
