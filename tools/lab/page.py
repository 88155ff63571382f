"""The page: what was found, every figure with its table, how it was measured."""

import base64
import html

import findings
import picture
from machines import FIGURES, LOADED, MACHINES, MHZ_OF_A_CORE, PERIOD_US, WITHOUT_LOAD
from summary import bytes_text, label, large_rate, missing_runs, missing_text, summarize

STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 sans-serif; color: #222; background: #fff; margin: 2em auto; max-width: 1480px;
  padding: 0 1.5em; }
h1 { font-size: 1.7em; margin-bottom: 0; } h2 { margin-top: 2em; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(620px, 100%), 1fr));
  gap: 2.5em; }
.wide { overflow-x: auto; }
figure { margin: 0; min-width: 0; } figure table { font-size: 12px; }
figure th, figure td { padding: 2px 3px; }
figcaption { font-weight: bold; } figure img { width: 100%; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: 2px 5px; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap; }
th:first-child, td:first-child, .findings th { text-align: left; }
th[colspan] { text-align: center; border-bottom: none; }
thead th { border-bottom: 1px solid #444; vertical-align: bottom; }
.findings td { white-space: normal; text-align: left; vertical-align: top; }
.whole { white-space: nowrap; }
.note { color: #555; max-width: 75em; } .warning { background: #fff3cd; padding: .6em 1em; }
"""


def element(name, content, **attributes):
    """Markup; the content is markup too."""
    said = "".join(f' {key.rstrip("_")}="{html.escape(str(value))}"'
                   for key, value in attributes.items())
    return f"<{name}{said}>{content}</{name}>"


def text(content):
    return html.escape(str(content))


def table(head, rows, above="", **attributes):
    """Of cells that are markup; above is a row that goes over the head."""
    def row(cells, kind):
        return element("tr", "".join(element(kind, cell) for cell in cells))
    body = "".join(row(cells, "td") for cells in rows)
    content = element("thead", above + row(head, "th")) + element("tbody", body)
    return element("table", content, **attributes)


def number(value):
    """Three digits for what is large, two for what is small."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def cells_of(point, note):
    """Of a size, for a series: rate, least and most, processor time of sender and receiver."""
    if point is None:
        return [f"-{note}"] * 3
    return [element("b", number(point.mbit_per_s)), f"{number(point.low)} to {number(point.high)}",
            f"{number(point.sender_cpu)} + {number(point.receiver_cpu)}"]


def notes_of(results, number):
    """Of what is missing in a figure, by series and size: the number of the run that failed."""
    return {(series, size): element("sup", note)
            for note, one in enumerate(missing_runs(results), 1) if one["figure"] == number
            for series in one["series"] for size in one["sizes"]}


def figure_table(curves, tcp, notes):
    sizes = sorted({size for _, points, _ in curves for size in points} | {size for _, size in notes})
    names = [text(label(series, tcp) + ", with load" * is_loaded) for series, _, is_loaded in curves]
    head = element("tr", element("th", "", colspan=1) +
                   "".join(element("th", name, colspan=3) for name in names))
    units = ["bytes"] + ["Mbit/s", "least to most", "CPU s/GB"] * len(curves)
    rows = [[bytes_text(size)] +
            [cell for series, points, _ in curves
             for cell in cells_of(points.get(size), notes.get((series, size), ""))]
            for size in sizes]
    return element("div", table(units, rows, head), class_="wide")


def pair_text(figure):
    return f"from {MACHINES[figure.sender].name} to {MACHINES[figure.receiver].name}"


def load_text(figure):
    """Where how many processes count."""
    beside = [f"{count} beside the {end}" for count, end in zip(figure.load, ("sender", "receiver"))
              if count]
    return " and ".join(beside)


def caption(figure):
    said = f"Figure {figure.number}: {pair_text(figure)}"
    return said + (f", with and without load: {load_text(figure)}" if any(figure.load) else "")


def curves_of(figure, figures):
    """What a picture shows; under load also the same machines without."""
    own = figures[figure.number]
    if figure not in LOADED:
        return [(series, points, False) for series, points in own.items()]
    base = figures.get(WITHOUT_LOAD, {})
    return [(series, points, False) for series, points in base.items()] + \
           [(series, points, True) for series, points in own.items()]


def image(figure, curves, tcp, most):
    """Nothing, if there is nothing to draw."""
    known = [curve for curve in curves if curve[1]]
    if not known:
        return ""
    svg = picture.draw(picture.script(known, tcp, most))
    source = "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
    return f'<img alt="{text(caption(figure))}" src="{source}">'


def figure_element(figure, figures, notes, tcp, most):
    curves = curves_of(figure, figures)
    own = [curve for curve in curves if curve[2] == (figure in LOADED)]
    return element("figure", element("figcaption", text(caption(figure))) +
                   image(figure, curves, tcp, most) + figure_table(own, tcp, notes),
                   id=f"figure{figure.number}")


def findings_table(figures, tcp):
    rows = [[text(claim), element("span", text(name), class_="whole"),
             element("b", text(verdict), class_="whole"), text(reason)]
            for claim, name, verdict, reason in findings.rows(figures, tcp)]
    return table(["The paper's finding", "", "Here", "Large messages, unless sizes are said"], rows,
                 class_="findings")


def large_text(points):
    rate = large_rate(points)
    return "-" if rate is None else number(rate)


def approximate(figures, tcp):
    """The paper's figures 13 and 14: a rate for each pair of machines."""
    series = list(dict.fromkeys(name for figure in figures.values() for name in figure))
    rows = [[text(pair_text(figure) + (", load: " + load_text(figure)) * any(figure.load))] +
            [large_text(figures[figure.number].get(name, {})) for name in series]
            for figure in FIGURES if figure.number in figures]
    return table(["Mbit/s"] + [text(label(name, tcp)) for name in series], rows)


def machines_table(machines):
    rows = [[text(m["name"]), f"{m['cpus']} x {m['mhz']} MHz", f"{m['share']:.1%}",
             "one core" if m["cpus"] == 1 else "all cores"] for m in machines.values()]
    return table(["In the place of", "which had", "share of a core", "on"], rows)


def method(conditions):
    amount = f"{conditions['count']:,} messages or {conditions['bytes']:,} bytes, whichever is less"
    return [
        f"Two machines are emulated on one: {conditions['processor']}, {conditions['cores']} cores, "
        f"Linux {conditions['kernel']}. Each is a control group that may use a processor for its "
        f"share of every {PERIOD_US // 1000} ms, and stands still for the rest: a slow machine by "
        f"quota, not by clock. Shares are by clock rate alone, {MHZ_OF_A_CORE} MHz for a core.",
        f"Between them is a link of {conditions['rate']}bit/s and {conditions['delay']} each way "
        f"(zcrp-link), with packets of {conditions['payload']} bytes for TCP and UDP; over AAL5 that "
        "is the payload of a PDU, which is carried in UDP. What the kernel does on the arrival of a "
        "packet is work of the link's relay here, which has no quota: receivers have it easier than "
        "they would with an interface of their own.",
        "A point is the median; bars and tables show the least and the most. The connection stays "
        "open over the sizes. TCP has the congestion control that was fastest here "
        f"({conditions['tcp']}), and writes a message at a time; ZCRP has its defaults. A point is "
        f"measured {conditions['repeat']} times, with {amount}.",
        "Processor time is that of the process at each end, for 10^9 bytes of messages. Large "
        "messages are those of 50,000 bytes and more, their rate the median over these sizes; equal "
        "is what differs by a tenth at most, above is what exceeds by more than a twentieth, and near "
        "50,000 is within a factor of five.",
    ]


WITHOUT_QUOTAS = "This system does not permit processor quotas (control groups), so all machines " \
    "here are as fast as the processor; they differ in the number of cores alone. What is said of " \
    "unequal machines says nothing."
QUICK = "A quick look: fewer sizes, and too few repetitions to quote. make paper measures properly."


MISSING = "Some runs failed twice. What they would have said is missing: a dash, with the number of " \
    "the run below."


def warnings(results):
    conditions = results["conditions"]
    said = [] if conditions["quotas"] else [WITHOUT_QUOTAS]
    said += [QUICK] if conditions["repeat"] < 3 else []
    said += [MISSING] if missing_runs(results) else []
    return [element("p", text(words), class_="warning") for words in said]


def missing(results, tcp):
    """The runs that failed, numbered: what they were for, how they were called, what they said."""
    found = missing_runs(results)
    if not found:
        return []
    items = (element("li", f"{text(missing_text(one, tcp))}: {element('code', text(one['command']))}: "
                     + text(one["said"])) for one in found)
    return [element("h2", "Missing"), element("ol", "".join(items), class_="note")]


def top(figures):
    """Of all y axes alike, so that figures can be compared."""
    return 1.08 * max(point.high for figure in figures.values() for points in figure.values()
                      for point in points.values())


def page(results):
    """The whole page, from what paper.json holds."""
    conditions, tcp = results["conditions"], results["conditions"]["tcp"]
    figures = {figure["number"]: summarize(figure) for figure in results["figures"]}
    most = top(figures)
    drawn = [figure_element(figure, figures, notes_of(results, figure.number), tcp, most)
             for figure in FIGURES if figure.number in figures]
    body = [
        element("h1", "ZCRP beside TCP, as in 1998"),
        element("p", f"{text(conditions['when'])}, libzcrp {text(conditions['version'])}. The "
                'measurements are in <a href="paper.json">paper.json</a>.', class_="note"),
        *warnings(results),
        element("h2", "Findings"), findings_table(figures, tcp),
        element("h2", "Large messages (figures 13 and 14)"), approximate(figures, tcp),
        element("h2", "Throughput over message size"), element("div", "".join(drawn), class_="figures"),
        *missing(results, tcp),
        element("h2", "Method"), machines_table(results["machines"]),
        *(element("p", text(words), class_="note") for words in method(conditions)),
    ]
    head = '<meta charset="utf-8"><title>ZCRP beside TCP, as in 1998</title>' \
        '<meta name="viewport" content="width=device-width">' + element("style", STYLE)
    return f"<!doctype html>\n<html lang=\"en\"><head>{head}</head>\n<body>" + "\n".join(body) + \
        "</body></html>\n"
