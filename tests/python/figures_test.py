"""Units of tools/lab/figures: what is kept of a measurement, and the numbers that are written of it, without
measuring or drawing anything."""

import importlib.machinery
import importlib.util
import json
import os
import sys
import unittest

TOOLS = os.path.join(os.path.dirname(__file__), "..", "..", "tools", "lab")
sys.path.insert(0, TOOLS)


import tables

sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("figures", os.path.join(TOOLS, "figures"))
figures = importlib.util.module_from_spec(importlib.util.spec_from_loader("figures", loader))
loader.exec_module(figures)


def run(transport, rate, size=64, trip=None):
    end = {"cpu_s": 1, "cpu_s_per_gb": 1 / rate, "stats": {"a": 1}}
    trips = {"median": trip, "p99": 2 * trip, "histogram": [[0, 1, 2]]} if trip else None
    return {"transport": transport, "channel": f"{transport}/cubic", "size": size, "gbit_per_s": rate,
            "bytes": 10, "seconds": 1, "sender": end, "receiver": end, "round_trip_us": trips}


def results(*runs):
    return {"processor": "P", "cores": 2, "kernel": "K", "date": "D", "command": ["zcrp-bench", "-x"],
            "runs": list(runs), "summary": []}


class Measuring(unittest.TestCase):
    def test_counters_and_histograms_are_left_out(self):
        kept = json.loads(figures.text_of(results(run("zcrp", 4), run("zcrp", 4, trip=7))))
        self.assertEqual([one["gbit_per_s"] for one in kept["runs"]], [4, 4])
        self.assertEqual(kept["runs"][0]["sender"], {"cpu_s": 1, "cpu_s_per_gb": 0.25})
        self.assertIsNone(kept["runs"][0]["round_trip_us"])
        self.assertEqual(kept["runs"][1]["round_trip_us"], {"median": 7, "p99": 14})
        self.assertEqual(kept["processor"], "P")
        self.assertNotIn("summary", kept)

    def test_what_is_drawn_is_measured(self):
        measured = {file for file, *_ in figures.FILES} | {figures.PATHS}
        self.assertEqual({file for _, files, _ in figures.PICTURES for file in files}, measured)


class Numbers(unittest.TestCase):
    def test_ratios_are_those_within_the_turns(self):
        turns = [run(name, rate) for turn in ((2, 1), (30, 10), (4, 1))
                 for name, rate in zip(("zcrp", "tcp"), turn)]
        by = figures.by_size(results(*turns))[64]
        self.assertEqual(tables.ratio("", "zcrp", "tcp", tables.rate).cell(by, None), "**3.00**")

    def test_what_was_not_measured_is_a_dash(self):
        self.assertEqual([column.cell({}, None) for column in (tables.middle("", "quic", tables.rate),
                                                               tables.ratio("", "zcrp", "quic"))], ["-", "-"])

    def test_a_row_has_its_own_figure(self):
        by = {"zcrp": [run("zcrp", 4, trip=7)]}
        self.assertEqual([tables.middle("", "zcrp").cell(by, tables.own_figure(arguments))
                          for arguments in ("--size 1M", "--ping --size 64")], ["4.00 Gbit/s", "3.50 us"])

    def test_every_column_has_a_figure(self):
        by = {name: [run(name, 2, trip=9)] for name in ("zcrp", "tcp", "udp-limit", "unix", "pipe")}
        for file, _, row in figures.TABLES:
            self.assertNotIn("-", [column.cell(by, None) for column in row], file)

    def test_conditions_count_the_turns(self):
        text = figures.conditions(results(*[run("zcrp", 1)] * 3, run("tcp", 1), run("zcrp", 1, 128)))
        self.assertEqual(text, "P, 2 cores, Linux K, D; medians of 3 turns. `zcrp-bench -x`\n")

    def test_paths(self):
        bars = [{"name": name, "command": f"run {name}", "values": [value], "mbit_per_s": [value]}
                for name, value in zip(figures.PATH_NAMES, (90, 3, 45))]
        text = figures.paths_text({"conditions": "P\n", "groups": [{"label": "100 Mb/s\n1 %", "bars": bars}]})
        self.assertIn("| 100 Mb/s, 1 % | 90 | 3 | 45 | 90 | 3 | 45 | **30.00** | **2.00** |\n", text)
        self.assertIn("# 100 Mb/s, 1 %: tcp/bbr\nrun tcp/bbr\n", text)


if __name__ == "__main__":
    unittest.main()
