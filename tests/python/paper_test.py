"""Units of tools/lab: the page and its findings, from measurements that nobody made."""

import contextlib
import io
import json
import os
import re
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "tools", "lab"))
sys.path.insert(1, os.path.join(sys.path[0], "..", "common"))

import findings
import groups
import machines
import page
import paper
import run

SIZES = (64, 1 << 14, 50000, 1 << 20)
CONDITIONS = {
    "when": "1998-06-01", "processor": "a <processor>", "cores": 2, "kernel": "6.1", "version": "1",
    "quotas": 2, "rate": "155M", "delay": "100us", "payload": 9180, "repeat": 3, "count": 10,
    "bytes": 1000, "tcp": "cubic",
}


def one_run(transport, channel, size, rate):
    return {"transport": transport, "channel": channel, "size": size, "mbit_per_s": rate,
            "sender_cpu_s_per_gb": 1.5, "receiver_cpu_s_per_gb": 2.5}


def runs(zcrp, tcp):
    """Three runs of each size; rates by size, in Mbit/s."""
    return [one_run(transport, channel, size, rates[i] + more)
            for transport, channel, rates in (("zcrp", "aal5-udp", zcrp), ("zcrp", "udp", zcrp),
                                              ("tcp", "tcp/cubic", tcp))
            for i, size in enumerate(SIZES) for more in (0.0, 1e-3, -1e-3)]


def results(zcrp=(10, 50, 100, 100), tcp=(40, 80, 80, 80), loaded=1.0, **unlike):
    """What paper.json would hold; unlike says the rates of some figures, as f15=(zcrp, tcp)."""
    figures = []
    for figure in machines.FIGURES:
        share = loaded if any(figure.load) else 1.0
        rates = unlike.get(f"f{figure.number}",
                           ([share * rate for rate in zcrp], [share * rate for rate in tcp]))
        figures.append(figure._asdict() | {"runs": runs(*rates)})
    return {"conditions": CONDITIONS, "machines": paper.machines(), "figures": figures}


def summaries(found):
    return {figure["number"]: findings.summarize(figure) for figure in found["figures"]}


def verdicts(words, found):
    """Of the finding with these words in it, by series."""
    (finding,) = (f for f in findings.judge(summaries(found)) if words in f.claim)
    return {judgement.series: judgement.verdict for judgement in finding.judgements}


class Findings(unittest.TestCase):
    def test_threshold(self):
        rows = (
            ((10, 50, 100, 100), (40, 80, 80, 80), findings.HOLDS),  # above it from 50,000 on
            ((10, 80, 80, 80), (40, 80, 80, 80), findings.NOT),  # never above it
            ((50, 90, 100, 100), (40, 80, 80, 80), findings.NOT),  # above it everywhere
            ((10, 50, 70, 100), (40, 80, 80, 80), findings.NOT),  # only far above 50,000
            ((10, 50, 100, 70), (40, 80, 80, 80), findings.NOT),  # below it with the largest
        )
        for zcrp, tcp, expected in rows:
            found = verdicts("a threshold", results(zcrp, tcp))
            self.assertEqual(found, {"zcrp/aal5-udp": expected, "zcrp/udp": expected}, zcrp)

    def test_threshold_in_most_cases_is_in_more_than_half(self):
        never = ((10, 80, 80, 80), (40, 80, 80, 80))
        for count, expected in ((5, findings.HOLDS), (6, findings.PARTLY), (11, findings.PARTLY),
                                (12, findings.NOT)):
            unlike = {f"f{number}": never for number in range(15, 15 + count)}
            self.assertEqual(verdicts("a threshold", results(**unlike))["zcrp/udp"], expected)

    def test_threshold_says_where(self):
        found = results(f15=((10, 80, 80, 80), (40, 80, 80, 80)),
                        f16=((10, 10, 10, 80), (40, 80, 80, 80)),
                        f17=((10, 10, 10, 10), (40, 80, 80, 80)))
        reason = findings.judge(summaries(found))[0].judgements[0].reason
        self.assertEqual(reason, "of 12 pairs: as fast as TCP, or faster, from 50000 on in 9; as fast"
                         " as TCP from 16K to 1M on in 2; slower than TCP even with the largest"
                         " messages in 1")

    def test_equal_behaviour(self):
        tcp = (40, 80, 80, 80)
        for rate, expected in ((91, findings.HOLDS), (89, findings.NOT), (120, findings.NOT)):
            found = results(f18=((10, 50, rate, rate), tcp))
            self.assertEqual(verdicts("behaves equally", found)["zcrp/udp"], expected)

    def test_load(self):
        for kept, expected in ((1.0, findings.HOLDS), (0.91, findings.HOLDS), (0.89, findings.NOT)):
            found = results(loaded=kept)
            self.assertEqual(verdicts("unchanged by a competing", found)["zcrp/udp"], expected)
            self.assertEqual(verdicts("TCP's too", found), {"tcp": expected})

    def test_load_in_one_place_of_four(self):
        found = results(f27=((10, 50, 60, 60), (40, 80, 80, 80)))
        self.assertEqual(verdicts("unchanged by a competing", found)["zcrp/udp"], findings.PARTLY)

    def test_equal_tcp(self):
        zcrp, slow = (10, 50, 100, 100), (40, 60, 60, 60)
        self.assertEqual(verdicts("TCP is equally fast", results()), {"tcp": findings.NOT})
        self.assertEqual(verdicts("TCP is equally fast", results(f15=(zcrp, slow))),
                         {"tcp": findings.HOLDS})
        self.assertEqual(verdicts("TCP is equally fast", results(f15=(zcrp, slow), f19=(zcrp, slow))),
                         {"tcp": findings.NOT})

    def test_one_way_faster(self):
        slow = ((5, 25, 50, 50), (40, 80, 80, 80))
        self.assertEqual(verdicts("20 to Ultra 2", results(f24=slow)), {
            "zcrp/aal5-udp": findings.HOLDS, "zcrp/udp": findings.HOLDS, "tcp": findings.NOT})
        self.assertEqual(verdicts("exceeds from Ultra", results(f21=slow))["zcrp/udp"], findings.NOT)

    def test_what_was_not_measured(self):
        found = results()
        found["figures"] = [f for f in found["figures"] if f["number"] == 26]
        for finding in findings.judge(summaries(found)):
            for judgement in finding.judgements:
                is_known = "a threshold" in finding.claim
                self.assertEqual(judgement.verdict == findings.UNKNOWN, not is_known, finding)

    def test_says_where_all_fill_the_link(self):
        alike = results((10, 80, 80, 80))
        for found, is_full in ((alike, True), (results(f18=((1, 1, 1, 1), (40, 80, 80, 80))), False)):
            (finding,) = (f for f in findings.judge(summaries(found)) if "behaves" in f.claim)
            self.assertEqual("fill the link" in finding.judgements[0].reason, is_full)


class Summary(unittest.TestCase):
    def test_a_point_is_the_median_and_what_lies_about_it(self):
        rates = [one_run("zcrp", "udp", 64, rate) for rate in (3.0, 1.0, 8.0)]
        self.assertEqual(findings.summarize({"runs": rates}),
                         {"zcrp/udp": {64: findings.Point(3.0, 1.0, 8.0, 1.5, 2.5)}})

    def test_large_messages(self):
        points = findings.summarize({"runs": runs((1, 2, 30, 50), (1, 1, 1, 1))})["zcrp/udp"]
        self.assertAlmostEqual(findings.large_rate(points), 40)

    def test_bytes_text(self):
        for size, expected in ((64, "64"), (50000, "50000"), (1 << 14, "16K"), (1 << 22, "4M")):
            self.assertEqual(findings.bytes_text(size), expected)


class Page(unittest.TestCase):
    def page(self, found):
        with tempfile.TemporaryDirectory() as place, \
                unittest.mock.patch.object(page, "draw", return_value="![](picture)\n\n"):
            return page.page(place, found)

    def test_all_figures_and_findings_are_there(self):
        drawn = self.page(results())
        for number in range(15, 31):
            self.assertEqual(drawn.count(f"### Figure {number}: from "), 1)
        self.assertEqual(drawn.count("![](picture)"), 16)
        for words, _, _ in findings.CLAIMS:
            self.assertRegex(drawn, re.escape(f"| {words} |") +
                             r"[^|]*\| \*\*(holds|does not hold|holds in part)\*\* \|")
        self.assertIn("| 64 | **10.0** | 10.0 to 10.0 | 1.5 + 2.5 | **10.0** |", drawn)

    def test_warnings(self):
        found = results()
        found["conditions"] = CONDITIONS | {"quotas": None, "repeat": 1}
        for words in page.QUICK, page.WITHOUT_QUOTAS:
            self.assertNotIn(words, self.page(results()))
            self.assertIn(words, self.page(found))

    def test_a_page_of_a_few_figures(self):
        found = results()
        found["figures"] = [f for f in found["figures"] if f["number"] in (18, 29)]
        self.assertEqual(self.page(found).count("### Figure"), 2)

    def test_load_is_drawn_beside_no_load(self):
        figure = next(f for f in machines.FIGURES if f.number == 29)
        runs_ = page.curves(figure, summaries(results()), "cubic")["runs"]
        names = {run["transport"] for run in runs_}
        self.assertEqual(len(names), 6)
        self.assertLess({"TCP (cubic)", "TCP (cubic), with load"}, names)
        rates = [run["gbit_per_s"] for run in runs_ if run["transport"] == "TCP (cubic)"][:3]
        self.assertEqual([round(rate * 1e6) for rate in rates], [39999, 40000, 40001])

    def test_zcrp_plot_draws(self):
        with tempfile.TemporaryDirectory() as place, \
                unittest.mock.patch.object(page, "find", return_value="false"), \
                self.assertRaises(page.Failure):
            self.assertEqual(page.draw(f"{place}/a", {"runs": []}), "")
            page.draw(f"{place}/a", {"runs": [1]})


class Machines(unittest.TestCase):
    def test_shares_are_by_clock_rate(self):
        self.assertEqual({name: machine.quota_us for name, machine in machines.MACHINES.items()},
                         {"5": 1000, "20": 1429, "Ultra 1": 2043, "Ultra 2": 4800})

    def test_cores(self):
        single, double = machines.MACHINES["5"], machines.MACHINES["20"]
        self.assertEqual([single.core(end, [2, 3]) for end in (0, 1)], [2, 3])
        self.assertEqual([single.core(end, [2]) for end in (0, 1)], [2, 2])
        self.assertIsNone(double.core(0, [2, 3]))

    def test_figures_of_the_paper(self):
        self.assertEqual([figure.number for figure in machines.FIGURES], list(range(15, 31)))

    def test_batches(self):
        made = machines.Scale([64, 1000, 2000], 10, 10000, 1, [])
        self.assertEqual(made.batches(), [([64], ["--count", "10"]),
                                          ([1000, 2000], ["--bytes", "10000"])])
        self.assertEqual(len(machines.SCALES["least"].batches()), 1)


class Commands(unittest.TestCase):
    def command(self, figure, end):
        with unittest.mock.patch.object(run, "find", str):
            return run.end_command(figure, end, ["--listen"])

    def test_load_is_beside_its_own_end(self):
        figure = machines.Figure(29, "Ultra 1", "20", (0, 2))
        with unittest.mock.patch.object(run, "find", str):
            self.assertEqual(run.competitor(figure, 0), "")
            self.assertEqual(run.competitor(figure, 1), "zcrp-load --processes 2")

    def test_one_processor_is_one_core(self):
        figure = machines.Figure(29, "Ultra 1", "20")
        self.assertIn("--pin", self.command(figure, 0))
        self.assertNotIn("--pin", self.command(figure, 1))

    def test_a_pdu_fits_the_link(self):
        with unittest.mock.patch.object(run, "find", str):
            links = [run.link_command(channel) for channel in ("udp", "aal5-udp")]
        mtus = [int(link[link.index("--mtu") + 1]) for link in links]
        self.assertEqual(mtus, [9180, 192 * 48 + 8 + 8 + 20])

    def test_what_a_failed_command_said(self):
        with self.assertRaisesRegex(run.Failure, "^so it goes$"):
            run.linked(["sh", "-c", "echo so it goes; exit 3"], [])
        with self.assertRaisesRegex(run.Failure, "ended with 3"):
            run.linked(["sh", "-c", "exit 3"], [])

    def test_what_would_not_get_better(self):
        with self.assertRaises(run.Failure) as failed:
            run.linked(["sh", "-c", "echo no rights; exit 125"], [])
        self.assertNotIsInstance(failed.exception, run.RunFailed)

    def test_what_does_not_end(self):
        with unittest.mock.patch.object(run, "LIMIT_S", 0.1), \
                self.assertRaisesRegex(run.RunFailed, "not over after 0.1 s") as failed:
            run.linked(["sleep", "60"], ["zcrp-link", "--", "b"])
        self.assertEqual(failed.exception.command, "zcrp-link -- b")

    def test_what_says_nothing(self):
        with tempfile.NamedTemporaryFile() as empty, \
                self.assertRaisesRegex(run.RunFailed, "wrote no figures"):
            run.read_runs(empty.name, [])

    def test_what_is_shown(self):
        self.assertEqual(run.shown(["/b/zcrp-link", "--quiet"], ["/b/zcrp-bench", "--x"], ["y"]),
                         ["zcrp-link", "--quiet", "--", "zcrp-bench", "--x", "--", "y"])

    def test_a_program_that_is_not_there(self):
        with unittest.mock.patch.dict(os.environ, ZCRP_BUILD="/nowhere"):
            self.assertRaisesRegex(run.Failure, "/nowhere/zcrp-link", run.find, "zcrp-link")


class Document(unittest.TestCase):
    page = "a\n<!-- findings -->\nold\n<!-- end -->\nb\n<!-- load -->\nold load\n<!-- end -->\nc\n"

    def update(self, **files):
        with tempfile.TemporaryDirectory() as place:
            for name, found in files.items():
                groups.write(f"{place}/{name}.json", json.dumps(found))
            return page.update(self.page, place)

    def test_findings_come_between_their_marks(self):
        updated = self.update(paper=results())
        self.assertRegex(
            updated, r"(?s)^a\n<!-- findings -->\n\| the paper's finding \|.*<!-- end -->\nb\n")
        self.assertIn("| ZCRP over UDP | **holds** |", updated)
        self.assertIn("old load", updated, "what was not measured stays")

    def test_nothing_measured_changes_nothing(self):
        self.assertEqual(self.update(), self.page)

    def test_again_changes_nothing(self):
        with tempfile.TemporaryDirectory() as place:
            groups.write(f"{place}/paper.json", json.dumps(results()))
            updated = page.update(self.page, place)
            self.assertEqual(page.update(updated, place), updated)

    def test_load(self):
        estimate = {"median": 1.25, "low": 1.0, "high": 1.5}
        names = ("gbit_per_s", "own_ms_per_gb", "host_ms_per_gb", "counter_kept",
                 "gbit_per_s_to_tcp", "counter_kept_to_tcp")
        line = {"phase": "paced", "transport": "zcrp", "channel": "udp"} | dict.fromkeys(names, estimate)
        setting = {"path": "veth", "cores": [0, 1], "paced_to_gbit_per_s": 7.0,
                   "summary": [line | {"counter_kept": None}]}
        updated = self.update(load={"settings": [setting]})
        self.assertNotIn("Missing", updated)
        lost = {"phase": "full", "transport": "tcp", "command": "zcrp-bench --json", "said": "no"}
        self.assertIn("\n\nMissing, for these runs failed twice:\n\n- tcp, full: "
                      "`zcrp-bench --json`: no\n",
                      self.update(load={"settings": [setting | {"missing": [lost]}]}))
        self.assertIn("veth, an end on each of two cores; paced to 7 Gbit/s:", updated)
        self.assertIn("| paced | zcrp/udp | 1.25 | 1.25 | 1.25 | - | 1.25 [1.00, 1.50] |", updated)

    def test_the_document_has_the_marks(self):
        path = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "evaluation.md")
        text = groups.read(path)
        for name in page.SOURCES:
            filled = page.replace(text, name, "x\n")
            self.assertEqual(filled.count(f"<!-- {name} -->\nx\n<!-- end -->"), 1)


class Paper(unittest.TestCase):
    def main(self, *arguments):
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            status = paper.main(arguments)
        return status, said.getvalue()

    def test_draws_what_was_measured_before(self):
        with tempfile.TemporaryDirectory() as place, \
                unittest.mock.patch.object(page, "check"), \
                unittest.mock.patch.object(page, "draw", return_value=""):
            source = os.path.join(place, "old.json")
            groups.write(source, json.dumps(results()))
            status, said = self.main("--from", source, "--output", f"{place}/page")
            self.assertEqual(status, 0, said)
            self.assertEqual(sorted(os.listdir(f"{place}/page")), ["index.md", "paper.json"])
            self.assertIn("ZCRP over UDP: holds", said)

    def test_without_gnuplot(self):
        with unittest.mock.patch.object(page.shutil, "which", return_value=None), \
                unittest.mock.patch.object(page, "find"):
            status, said = self.main("--from", "/nowhere")
        self.assertEqual((status, said), (1, "paper: needs gnuplot: apt install gnuplot-nox\n"))


if __name__ == "__main__":
    unittest.main()
