"""What the programs that write docs/lab/ share: figures as text, tables in Markdown, and two pages, tables.md
and commands.md, in which the text between `<!-- name -->` and `<!-- end -->` is a table's."""

import os
import platform
import re
import sys

LAB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "lab")
PAGE = os.path.join(LAB, "tables.md")
COMMANDS = os.path.join(LAB, "commands.md")


def short(value):
    """Three significant digits."""
    for power, suffix in (1e6, " M"), (1e3, " k"):
        if value >= power:
            return f"{value / power:#.3g}".rstrip(".") + suffix
    return f"{value:#.3g}".rstrip(".") if value else "0"


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
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = re.findall(r"^model name\s*: (.*)$", file.read(), re.M)
    return names[0] if names else platform.machine()


def conditions(repeat):
    return (f"{processor()}, {len(os.sched_getaffinity(0))} cores, Linux {platform.release()}; "
            f"medians of {repeat} turns.\n")


def read_page():
    with open(PAGE, encoding="utf-8") as file:
        return file.read()


def write_page(page, is_printed):
    """To its file, or to standard output only."""
    if is_printed:
        sys.stdout.write(page)
        return
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(page)


def write_commands(texts):
    """The commands of tables, by the tables' names."""
    with open(COMMANDS, encoding="utf-8") as file:
        page = file.read()
    for name, text in texts.items():
        page = replace(page, name, text)
    with open(COMMANDS, "w", encoding="utf-8") as file:
        file.write(page)


def options_of(parser):
    """Both programs have these."""
    parser.add_argument("--commands", action="store_true", help="only write docs/lab/commands.md")
    parser.add_argument("--only", default="", metavar="WORD", help="rows whose name contains it")
    parser.add_argument("--print", action="store_true", help="do not write the page")
    return parser.parse_args()
