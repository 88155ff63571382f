"""Units of tools/lab/ucx.py: what ucx_perftest says."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "tools", "lab"))

import tables
import ucx

HEADS = "iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr\n"


class Figures(unittest.TestCase):
    def test_a_run_is_said_as_zcrp_bench_says_it(self):
        run = ucx.read_figures(HEADS + "100000,0.185,0.200,0.201,1.75,2.00,28694,18573\n")
        self.assertAlmostEqual(run["gbit_per_s"], 2 * 1048576 * 8e-9)
        self.assertEqual(tables.messages(run), 18573)
        self.assertEqual(tables.half_a_trip(run), 0.185)

    def test_the_last_line_counts(self):
        text = "a word, first\n" + HEADS + "5,0.5,1,1,1,4,1,8\n"
        self.assertEqual(ucx.read_figures(text)["msg_per_s"], 8)

    def test_no_figures(self):
        for text in ("", "connection refused\n", HEADS, HEADS + "1,2\n", HEADS + "1,x,1,1,1,1,1,1\n",
                     HEADS.replace("overall_mr", "rate") + "1,1,1,1,1,1,1,1\n"):
            with self.assertRaises(tables.NotMeasured):
                ucx.read_figures(text)


class Command(unittest.TestCase):
    def test_warms_up_by_a_tenth(self):
        self.assertEqual(ucx.command_text("--ping --size 64 --pin 0,1"),
                         "`ucx_perftest -t tag_lat -s 64 -n 300000 -w 30001`")

    def test_large_messages_are_fewer(self):
        self.assertEqual(ucx.command_text("--size 64M --memory 128M"),
                         "`ucx_perftest -t tag_bw -s 67108864 -n 24 -w 3`")


if __name__ == "__main__":
    unittest.main()
