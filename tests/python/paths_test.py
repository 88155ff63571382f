"""Units of path-tables: what is computed and written, without laying a link."""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "lab")
sys.path.insert(0, TOOLS)

import tables

loader = importlib.machinery.SourceFileLoader("path_tables", os.path.join(TOOLS, "path-tables"))
path_tables = importlib.util.module_from_spec(
    importlib.util.spec_from_loader("path_tables", loader))
loader.exec_module(path_tables)
Path, Street = path_tables.Path, path_tables.Street

PATH = Path("a path", 100e6, 40, {"zcrp": 80, "cubic": 3, "bbr": 70}, mishaps="--loss 1%")


def run(transport="zcrp", gbit_per_s=0.048, **counts):
    """What both programs wrote; of 10000 packets the link lost 50, the queue dropped 50."""
    bench = {"transport": transport, "gbit_per_s": gbit_per_s, "bytes": 480000, "seconds": 0.16,
             "units": 1000, "repeated_units": 10}
    way = {"packets": 10000, "lost": 50, "dropped": 50, "queue_us": 20000.0, "late_us": 10.0}
    return {"bench": bench | counts, "link": {"a_to_b": way}}


class Figures(unittest.TestCase):
    def test_share_counts_the_heads_of_full_packets(self):
        self.assertAlmostEqual(path_tables.share(PATH, run()), 0.5)
        self.assertAlmostEqual(path_tables.share(PATH, run("tcp:bbr+whole", 0.1448)), 1.5)

    def test_ideal_is_a_round_trip_and_the_bytes_at_the_rate(self):
        self.assertAlmostEqual(path_tables.over_ideal(PATH, run()), 2.0)

    def test_repeated_of_lost_compares_shares(self):
        self.assertAlmostEqual(path_tables.repeated_of_lost(run()), 1.0)
        self.assertAlmostEqual(path_tables.repeated_of_lost(run(repeated_units=12)), 1.2)

    def test_repeated_of_lost_is_unknown_without_loss(self):
        result = run()
        result["link"]["a_to_b"] |= {"lost": 0, "dropped": 0}
        self.assertIsNone(path_tables.repeated_of_lost(result))

    def test_queue_is_in_round_trips(self):
        self.assertAlmostEqual(path_tables.queue(PATH, run()), 0.5)

    def test_jain(self):
        self.assertAlmostEqual(path_tables.jain([3, 3, 3]), 1)
        self.assertAlmostEqual(path_tables.jain([5, 0, 0, 0]), 0.25)

    def test_street_compares_the_first_with_the_mean_of_the_others(self):
        mixed = Street("mixed", 10e6, ["zcrp", "cubic", "cubic"], seconds=1)
        self.assertAlmostEqual(path_tables.street_figure(mixed, [6, 3, 5]), 1.5)

    def test_street_of_one_kind_has_an_index(self):
        same = Street("same", 10e6, ["zcrp", "zcrp"], seconds=1)
        self.assertAlmostEqual(path_tables.street_figure(same, [4, 4]), 1)

    def test_flows_are_not_together_if_they_add_up_to_more_than_the_link(self):
        street = Street("two", 20e6, ["zcrp"] * 2, seconds=7)
        self.assertTrue(path_tables.are_together(street, [10e6, 10.5e6]))
        self.assertFalse(path_tables.are_together(street, [18e6, 17e6]))


class Commands(unittest.TestCase):
    def test_path_runs_each_transport_with_its_count(self):
        runs = {name: (link, sender) for name, link, sender in PATH.runs()}
        self.assertEqual(list(runs), ["zcrp", "cubic", "bbr"])
        self.assertEqual(runs["cubic"][0], "--rate 100M --delay 20ms --loss 1%")
        self.assertIn("--transport tcp:cubic+whole --size 1M --count 3 ", runs["cubic"][1])

    def test_path_both_ways_and_queue(self):
        path = Path("slow back", 1e9, 5, {"zcrp": 1}, back=3e6, queue="1s")
        self.assertEqual(path.link, "--rate 1G/3M --delay 2.5ms --queue 1s")

    def test_path_command_repeats_zcrp(self):
        self.assertIn("--transport zcrp --size 1M --count 80 ", PATH.command())
        self.assertEqual(PATH.command().count(" -- "), 2)

    def test_street_command_has_a_port_for_each_flow(self):
        command = shlex.split(Street("two", 20e6, ["zcrp", "bbr"], seconds=7).command())
        self.assertEqual(command[0], "zcrp-link")
        self.assertEqual(command[command.index("--port") + 1], "7001")
        senders, listeners = command[-5], command[-1]
        self.assertIn(":7000 --transport zcrp ", senders)
        self.assertIn(":7001 --transport tcp:bbr+whole ", senders)
        self.assertEqual(listeners, "zcrp-bench --listen 198.18.0.2:7000 --once & "
                         "zcrp-bench --listen 198.18.0.2:7001 --once & wait")

    def test_street_writes_an_output_for_each_flow(self):
        command = Street("two", 20e6, ["zcrp"] * 2, seconds=7).command("b/zcrp-bench", "p/out")
        self.assertTrue(command.startswith("b/zcrp-link "))
        self.assertIn("--json p/out.0 ", command)
        self.assertIn("--json p/out.1 ", command)


class Rows(unittest.TestCase):
    def test_path_has_medians_of_ratios_within_turns(self):
        turns = [{"zcrp": run(gbit_per_s=rate), "cubic": run("tcp:cubic", rate / ratio),
                  "bbr": run("tcp:bbr", rate)} for rate, ratio in
                 ((0.01, 2), (0.048, 20), (0.09, 3))]
        cells = path_tables.path_row(PATH, turns).split(" | ")
        self.assertEqual(cells[1:5], ["48.0, 5.00, 48.0", "**0.50**", "**3.00**", "**1.00**"])

    def test_path_that_was_not_measured(self):
        cells = path_tables.path_row(PATH, []).split(" | ")
        self.assertEqual(cells[1:3], ["-, -, -", "**-**"])

    def test_path_with_keys_is_beside_tls(self):
        path = Path("keyed", 100e6, 40, {"keys": 80, "tls cubic": 3, "tls bbr": 80})
        turn = {"keys": run(gbit_per_s=0.08), "tls cubic": run("tls:cubic", 0.004),
                "tls bbr": run("tls:bbr", 0.1)}
        cells = path_tables.keyed_row(path, [turn]).rstrip(" |\n").split(" | ")
        self.assertEqual(cells[1:], ["80.0, 4.00, 100.0", "**20.0**", "**0.80**"])
        self.assertIn("--transport zcrp --keys --size 1M", path.command())

    def test_street_that_was_not_measured(self):
        street = Street("two", 20e6, ["zcrp"] * 2, seconds=7)
        self.assertEqual(path_tables.street_row(street, []).split("|")[2:4], [" - ", " - "])

    def test_street_has_the_median_of_each_flow(self):
        street = Street("two", 20e6, ["zcrp"] * 2, seconds=7)
        turns = [[9e6, 9e6], [8e6, 10e6], [7e6, 11e6]]
        self.assertEqual(path_tables.street_row(street, turns).split("|")[2:4],
                         [" 8.00 + 10.0 ", " Jain's index: **0.988** "])


class Running(unittest.TestCase):
    def setUp(self):
        self.said = io.StringIO()

    def measure_all(self, measure_one, only=""):
        with contextlib.redirect_stderr(self.said):
            return path_tables.measure_all([PATH], measure_one, only, 2, 1)

    def test_command_that_fails(self):
        with self.assertRaisesRegex(path_tables.Failed, "no link here"):
            path_tables.run(["sh", "-c", "echo no link here >&2; exit 3"])

    def test_turn_that_fails_is_left_out_and_told(self):
        def fail(_):
            raise path_tables.Failed("no link here")
        self.assertEqual(self.measure_all(fail), {"a path": []})
        self.assertIn("a path: no link here", self.said.getvalue())

    def test_program_that_is_missing_is_told(self):
        self.assertEqual(self.measure_all(lambda _: path_tables.run(["/nowhere/zcrp-link"])),
                         {"a path": []})

    def test_signal_takes_the_links_away(self):
        script = os.path.join(tempfile.mkdtemp(prefix="paths_test."), "zcrp-link")
        with open(script, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\ntrap 'kill $sleep; rm $0; exit 1' TERM\necho >&2\n"
                       "sleep 60 & sleep=$!\ntouch $0.laid\nwait\n")
        os.chmod(script, 0o755)
        with subprocess.Popen([os.path.join(TOOLS, "path-tables"), "--only", "1 Gb/s", "--print"],
                              env=os.environ | {"ZCRP_BUILD": os.path.dirname(script)},
                              stderr=subprocess.DEVNULL) as process:
            self.wait_until(lambda: os.path.exists(script + ".laid"))
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(), 128 + signal.SIGTERM)
        self.wait_until(lambda: not os.path.exists(script))
        shutil.rmtree(os.path.dirname(script))

    def wait_until(self, is_so):
        for _ in range(1000):
            if is_so():
                return
            time.sleep(0.01)
        self.fail("waited in vain")

    def test_only_what_is_wanted(self):
        self.assertEqual(self.measure_all(lambda _: {"zcrp": 1}, "another"), {})
        self.assertEqual(self.measure_all(lambda _: {"zcrp": 1}, "path"),
                         {"a path": [{"zcrp": 1}, {"zcrp": 1}]})


class Page(unittest.TestCase):
    PAGE = ("before\n<!-- paths -->\n| t | u |\n| --- | --- |\n"
            "| a path | old |\n| b path | kept |\n<!-- end -->\nafter <!-- end -->\n")

    @staticmethod
    def table(rows):
        return path_tables.Table("paths", ["t", "u"], rows, None,
                                 lambda path, turns: f"{turns}\n", 1)

    def test_rows_that_were_not_measured_stay(self):
        rows = [PATH, Path("b path", 1e6, 1, {"zcrp": 1})]
        text = path_tables.make_table(self.table(rows), {"a path": ["new"]}, self.PAGE)
        self.assertEqual(text.splitlines()[2:], ["['new']", "| b path | kept |"])

    def test_row_that_was_never_measured_is_not_there(self):
        rows = [Path("c", 1e6, 1, {})]
        self.assertEqual(path_tables.make_table(self.table(rows), {}, self.PAGE).count("\n"), 2)

    def test_replace_touches_its_own_table(self):
        page = tables.replace(self.PAGE, "paths", "new\n")
        self.assertEqual(page, "before\n<!-- paths -->\nnew\n<!-- end -->\nafter <!-- end -->\n")

    def test_short_has_three_digits(self):
        self.assertEqual([tables.short(value) for value in (0, 0.0588, 95.44, 1.66e6, 43900)],
                         ["0", "0.0588", "95.4", "1.66 M", "43.9 k"])

    def test_head_has_figures_behind_the_name(self):
        self.assertEqual(tables.head(["a", "b", "c"]), "| a | b | c |\n| --- | ---: | ---: |\n")

    def test_page_has_the_tables_place(self):
        page = tables.read_page()
        for name in [table.name for table in path_tables.TABLES] + ["conditions of paths"]:
            self.assertIn(f"<!-- {name} -->", page)

    def test_page_of_commands_is_the_programs(self):
        with open(tables.COMMANDS, encoding="utf-8") as file:
            page = file.read()
        for name, text in path_tables.commands().items():
            self.assertIn(f"<!-- {name} -->\n{text}<!-- end -->", page)


class Figure(unittest.TestCase):
    """The paths of the figure of docs/performance.md, as zcrp-plot reads them."""

    def test_its_paths_are_there(self):
        self.assertLessEqual(path_tables.PATIENT, set(path_tables.FIGURE))
        self.assertLessEqual(set(path_tables.FIGURE), {path.name for path in path_tables.PATHS})

    def test_bars_have_a_value_for_each_turn(self):
        path = next(path for path in path_tables.PATHS if path.name in path_tables.FIGURE)
        rate = path.rate / 1e9
        turns = [{"zcrp": run(gbit_per_s=0.96 * rate), "cubic": run("tcp:cubic", part * rate),
                  "bbr": run("tcp:bbr", 0)} for part in (0.1, 0.2)]
        bars = path_tables.bars(path, turns)["bars"]
        self.assertEqual([bar["name"] for bar in bars], ["zcrp", "tcp/cubic", "tcp/bbr"])
        self.assertEqual(bars[0]["values"], [100, 100])
        self.assertEqual(bars[1]["mbit_per_s"], [path.rate / 1e7, path.rate / 5e6])
        self.assertIn("--transport tcp:cubic+whole", bars[1]["command"])

    def test_a_part_has_at_least_one_message(self):
        path = Path("b", 1e6, 1, {"zcrp": 50, "cubic": 1})
        self.assertEqual(path.part(0.1).counts, {"zcrp": 5, "cubic": 1})
        self.assertEqual(path.counts, {"zcrp": 50, "cubic": 1})


if __name__ == "__main__":
    unittest.main()
