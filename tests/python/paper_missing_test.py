"""Units of tools/lab: what becomes of runs that failed, on the page and in the document."""

import tempfile
import unittest
import unittest.mock

from paper_test import SIZES, results, summaries, verdicts

import findings
import machines
import page


class Missing(unittest.TestCase):
    """Runs that failed twice: the large messages of TCP and ZCRP over UDP, and all of AAL5."""

    def results(self, number=18):
        found = results()
        figure = next(f for f in found["figures"] if f["number"] == number)
        figure["runs"] = [run for run in figure["runs"]
                          if run["channel"] != "aal5-udp" and run["size"] < 50000]
        figure["missing"] = [
            {"figure": number, "series": ["zcrp/aal5-udp"], "sizes": list(SIZES),
             "command": "zcrp-link -- a", "said": "a <failed>"},
            {"figure": number, "series": ["zcrp/udp", "tcp"], "sizes": [50000, 1 << 20],
             "command": "zcrp-link -- b", "said": "b\nfailed"}]
        return found

    def page(self, found):
        with tempfile.TemporaryDirectory() as place, \
                unittest.mock.patch.object(page, "draw", return_value=""):
            return page.page(place, found)

    def figure(self, found, number=18):
        return self.page(found).partition(f"### Figure {number}:")[2].partition("###")[0]

    def test_page_has_a_dash(self):
        figure = self.figure(self.results())
        (small,), (large,) = ([line for line in figure.splitlines() if line.startswith(f"| {size} |")]
                              for size in ("64", "50000"))
        self.assertEqual((small.count(" -"), large.count(" -")), (3, 9))

    def test_page_names_command_and_message(self):
        drawn = self.page(self.results())
        self.assertIn(page.MISSING, drawn)
        self.assertIn("- figure 18, ZCRP over AAL5, 64 to 1M: `zcrp-link -- a`: a <failed>", drawn)
        self.assertNotIn(page.MISSING, self.page(results()))

    def test_figure_of_which_nothing_is_known(self):
        found = self.results()
        next(f for f in found["figures"] if f["number"] == 18)["runs"] = []
        self.assertIn("| 50000 |" + " - |" * 9, self.figure(found))

    def test_figure_without_load_of_which_nothing_is_known(self):
        found = self.results(machines.WITHOUT_LOAD)
        for finding in findings.judge(summaries(found)):
            if "competing" in finding.claim:
                self.assertEqual({j.verdict for j in finding.judgements}, {findings.UNKNOWN})
        self.assertIn("### Figure 27", self.page(found))

    def test_findings_leave_it_out(self):
        found = self.results()
        self.assertEqual(verdicts("behaves equally", found),
                         {"zcrp/aal5-udp": findings.UNKNOWN, "zcrp/udp": findings.UNKNOWN})
        reason = findings.judge(summaries(found))[0].judgements[1].reason
        self.assertRegex(reason, "^of 11 pairs: ")

    def test_sizes_that_only_one_way_has(self):
        found = results()
        figure = next(f for f in found["figures"] if f["number"] == 18)
        figure["runs"] = [run for run in figure["runs"] if run["size"] != 64]
        (finding,) = (f for f in findings.judge(summaries(found)) if "behaves" in f.claim)
        self.assertIn("equal at 3 of all 3 sizes", finding.judgements[0].reason)

    def test_document_has_footnotes(self):
        text = page.findings(self.results())
        self.assertIn("| ZCRP over UDP | **not measured** | - |\n", text)
        self.assertTrue(text.endswith(
            "\n\nMissing, for these runs failed twice:\n\n"
            "- figure 18, ZCRP over AAL5, 64 to 1M: `zcrp-link -- a`: a <failed>\n"
            "- figure 18, ZCRP over UDP and TCP (cubic), 50000 to 1M: `zcrp-link -- b`: b failed\n"))
        self.assertNotIn("Missing", page.findings(results()))

    def test_the_best_tcp(self):
        found = results() | {"missing": [{"figure": None, "series": [], "sizes": [],
                                          "command": "zcrp-link", "said": "no"}]}
        self.assertIn("which TCP is the best (cubic is this machine's own)", self.page(found))


if __name__ == "__main__":
    unittest.main()
