"""Units of zcrp-cpuload: what is computed, without running anything."""

import argparse
import contextlib
import io
import os
import sys
import time
import types
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "tools", "zcrp-cpuload"))
sys.path.insert(1, os.path.join(sys.path[0], "..", "common"))

import accounts
import evaluate
import measure
import options
import show


class Estimate(unittest.TestCase):
    def test_interval_holds_the_median(self):
        values = [5.0, 1.0, 4.0, 2.0, 3.0]
        low, high = evaluate.interval(values)
        self.assertLessEqual(low, 3.0)
        self.assertGreaterEqual(high, 3.0)
        self.assertGreaterEqual(low, 1.0)
        self.assertLessEqual(high, 5.0)

    def test_interval_is_the_same_each_time(self):
        values = [0.3, 0.1, 0.9, 0.4, 0.8, 0.2, 0.7]
        self.assertEqual(evaluate.interval(values), evaluate.interval(values))

    def test_interval_of_equal_values_is_a_point(self):
        self.assertEqual(evaluate.interval([2.5] * 5), (2.5, 2.5))

    def test_interval_of_one_value_is_a_point(self):
        self.assertEqual(evaluate.interval([7.0]), (7.0, 7.0))

    def test_interval_is_narrower_for_more_values(self):
        few = [float(n) for n in range(5)]
        many = [n / 100 for n in range(500)]
        width = [high - low for low, high in map(evaluate.interval, (few, many))]
        self.assertLess(width[1], width[0] / 2)

    def test_interval_covers_the_median_about_19_times_in_20(self):
        draw = evaluate.random.Random(2)
        hits = 0
        for seed in range(200):
            low, high = evaluate.interval([draw.gauss(0, 1) for _ in range(21)], 200, seed)
            hits += low <= 0 <= high
        self.assertGreaterEqual(hits, 200 * 0.88)
        self.assertLess(hits, 200)

    def test_estimate_leaves_out_what_is_not_known(self):
        self.assertEqual(evaluate.estimate([None, 2.0, None])["median"], 2.0)
        self.assertIsNone(evaluate.estimate([None]))

    def test_ratio(self):
        self.assertEqual(evaluate.ratio(1, 4), 0.25)
        self.assertEqual(evaluate.ratio(0, 4), 0)
        self.assertIsNone(evaluate.ratio(None, 4))
        self.assertIsNone(evaluate.ratio(1, 0))
        self.assertIsNone(evaluate.ratio(1, None))


class Accounts(unittest.TestCase):
    def test_host_busy_leaves_out_idling_and_the_hypervisor(self):
        text = "cpu  100 20 300 4000 50 6 70 8 0 0\ncpu0 9 9 9 9 9 9 9 9 0 0\n"
        self.assertAlmostEqual(accounts.host_busy_s(text) * accounts.TICKS, 100 + 20 + 300 + 6 + 70)

    def test_own_busy_reads_behind_any_name(self):
        text = "12 (a) b (c)) S 1 12 12 0 -1 4194304 97 0 0 0 31 14 0 0 20 0 1 0 100 8 3"
        self.assertAlmostEqual(accounts.own_busy_s(text) * accounts.TICKS, 31 + 14)

    def test_switches_of_both_kinds(self):
        text = "Name:\tx\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n"
        self.assertEqual(accounts.switches(text), 695)
        self.assertEqual(accounts.switches(""), 0)

    def test_accounts_of_this_process(self):
        self.assertIn(str(os.getpid()), accounts.processes_of(os.getpid()))
        self.assertIn(str(os.getpid()), accounts.threads_of(os.getpid()))
        time.sleep(0.01)  # a process that never waited has no switch to its name
        self.assertGreater(accounts.sample(os.getpid(), None).switches, 0)

    def test_nothing_of_a_process_that_is_gone(self):
        self.assertEqual(accounts.read("/proc/0/stat"), "")
        self.assertEqual(accounts.threads_of(0), [])
        self.assertEqual(accounts.sample(0, None).own_s, 0)

    def test_between(self):
        first = accounts.Sample(10.0, 1.0, 0.5, 100, 1000, 7.0)
        last = accounts.Sample(12.0, 4.0, 1.5, 300, 9000, 9.0)
        self.assertEqual(accounts.between(first, last), {
            "seconds": 2.0, "host_cores": 1.5, "own_cores": 0.5, "switches_per_s": 100.0,
            "counts_per_s": 4000.0})

    def test_between_without_a_counter(self):
        first = accounts.Sample(10.0, 1.0, 0.5, 100, 0, 0)
        self.assertIsNone(accounts.between(first, first._replace(at=11.0))["counts_per_s"])

    def test_within(self):
        samples = [accounts.Sample(float(n), 0, 0, 0, 0, 0) for n in range(10)]
        rows = ((2.5, 6.5, [3, 4, 5, 6]), (3, 4, [3, 4]), (3.2, 4.4, [3, 4]), (5.9, 6.0, [5, 6]),
                (20, 30, [8, 9]), (-3, -2, [0, 1]))
        for begin, end, expected in rows:
            found = [sample.at for sample in accounts.within(samples, begin, end)]
            self.assertEqual(found, expected, (begin, end))


class Programs(unittest.TestCase):
    def test_counts_of_a_line(self):
        self.assertEqual(measure.parse_counts("12 counts in 0.500 s, 24 a second\n"), (12, 0.5))

    def test_what_is_no_line_of_counts(self):
        for line in "", "counts\n", "x counts in 1 s\n":
            self.assertRaises(measure.Failure, measure.parse_counts, line)

    def test_a_program_that_is_not_there(self):
        self.assertRaises(measure.Failure, measure.find, "zcrp-none-of-that-name")


class Measure(unittest.TestCase):
    def test_the_same_tcp_again(self):
        rows = (("tcp", "tcp/cubic", "tcp:cubic+whole"), ("zcrp", "udp", "zcrp"),
                ("tcp", "tcp/reno+128K", "tcp:reno+128K"), ("tcp:reno", "tcp/reno", "tcp:reno+whole"),
                ("tcp:default", "tcp/cubic", "tcp:default"))
        for transport, channel, expected in rows:
            self.assertEqual(measure.exact(transport, channel), expected)

    def test_figures_for_each_gb(self):
        run = {"bytes": 2e9, "gbit_per_s": 8.0, "channel": "udp",
               "sender": {"cpu_s": 0.25}, "receiver": {"cpu_s": 0.75}}
        samples = [accounts.Sample(float(n), n * 0.5, 0, n * 100, 0, 0) for n in range(3)]
        figures = measure.summary_of(run, samples)
        self.assertAlmostEqual(figures["own_ms_per_gb"], 500)
        self.assertAlmostEqual(figures["host_ms_per_gb"], 500)
        self.assertAlmostEqual(figures["switches_per_gb"], 100)
        self.assertEqual(len(figures["intervals"]), 2)


def turn_of(kept):
    """A turn in which the counter keeps these shares of 1000 counts beside a and tcp."""
    turn = {"idle": {"host_cores": 0.25}, "counter": {"counts_per_s": 1000.0}}
    for phase in evaluate.PHASES:
        for transport, share in zip(("a", "tcp"), kept):
            figures = {"gbit_per_s": 8.0, "host_cores": 1.0, "host_ms_per_gb": 1000.0, "channel": "c",
                       "own_ms_per_gb": 1.0, "switches_per_gb": 1.0, "counts_per_s": 1000.0 * share}
            turn[phase, transport] = evaluate.account(figures, turn)
    return turn


class Evaluate(unittest.TestCase):
    options = types.SimpleNamespace(transports=["a", "tcp"], reference="tcp")

    def digest(self, *shares):
        lines = evaluate.digest(self.options, list(map(turn_of, shares)), {"a": 7.0, "tcp": None})
        return {(line["phase"], line["transport"]): line for line in lines}

    def test_what_the_idle_machine_does_is_taken_off(self):
        figures = turn_of((0.5, 0.25))["full", "a"]
        self.assertAlmostEqual(figures["host_cores"], 0.75)
        self.assertAlmostEqual(figures["host_ms_per_gb"], 750)

    def test_what_the_counter_keeps(self):
        line = self.digest((0.5, 0.25), (0.6, 0.3), (0.7, 0.4))["paced, loaded", "a"]
        self.assertAlmostEqual(line["counter_kept"]["median"], 0.6)

    def test_ratios_are_those_of_a_turn(self):
        line = self.digest((0.2, 0.1), (0.9, 0.3), (0.8, 0.8))["paced, loaded", "a"]
        self.assertAlmostEqual(line["counter_kept_to_tcp"]["median"], 2)

    def test_system_calls_belong_to_the_paced_run(self):
        lines = self.digest((0.5, 0.25))
        self.assertEqual(lines["paced", "a"]["system_calls_per_gb"], 7.0)
        self.assertIsNone(lines["full", "a"]["system_calls_per_gb"])

    def test_the_host_is_not_asked_while_the_counter_runs(self):
        lines = self.digest((0.5, 0.25))
        self.assertIsNone(lines["full, loaded", "a"]["host_ms_per_gb"])
        self.assertAlmostEqual(lines["full", "a"]["host_ms_per_gb"]["median"], 750)


    def test_a_run_that_is_missing_is_in_no_median(self):
        turns = [turn_of((0.5, 0.25)), turn_of((0.7, 0.25))]
        del turns[0]["paced, loaded", "a"]
        lines = evaluate.digest(self.options, turns, {"a": 7.0, "tcp": None})
        line = next(l for l in lines if (l["phase"], l["transport"]) == ("paced, loaded", "a"))
        self.assertEqual((line["counter_kept"]["median"], line["channel"]), (0.7, "c"))

    def test_what_is_missing_in_all_turns_is_not_known(self):
        turn = turn_of((0.5, 0.25))
        del turn["full", "tcp"]
        lines = evaluate.digest(self.options, [turn], {"a": 7.0, "tcp": None})
        found = {(line["phase"], line["transport"]): line for line in lines}
        self.assertEqual(found["full", "tcp"]["channel"], "-")
        self.assertIsNone(found["full", "tcp"]["gbit_per_s"])
        self.assertIsNone(found["full", "a"]["gbit_per_s_to_tcp"])

    def test_rate_is_of_those_that_could_be_tried(self):
        options = types.SimpleNamespace(reference="tcp")
        for reached, expected in (({"a": [10.0], "tcp": [8.0]}, 4.0), ({"a": [2.0], "tcp": [8.0]}, 1.8),
                                  ({"a": [10.0]}, 9.0), ({"tcp": [1.0, 3.0, 9.0]}, 1.5)):
            self.assertAlmostEqual(measure.common_rate(options, reached), expected)


class Show(unittest.TestCase):
    def test_figures(self):
        rows = ((None, "-"), (0.1234, "0.123"), (12.345, "12.3"), (100.0, "100"), (123456.7, "123457"),
                ({"median": 2.0}, "2.00"))
        for value, expected in rows:
            self.assertEqual(show.figure(value), expected)

    def test_spread(self):
        self.assertEqual(show.spread({"median": 1, "low": 0.5, "high": 2}), "1.00 [0.50, 2.00]")
        self.assertEqual(show.spread(None), "-")

    def test_columns_are_aligned(self):
        line = dict.fromkeys(("gbit_per_s", "own_ms_per_gb", "host_ms_per_gb", "switches_per_gb",
                              "system_calls_per_gb", "counter_kept", "gbit_per_s_to_tcp",
                              "counter_kept_to_tcp"))
        line |= {"phase": "paced, loaded", "transport": "tcp", "channel": "tcp/cubic+128K"}
        text = show.table({"path": "veth", "cores": (0, 1), "paced_to_gbit_per_s": 5.0,
                           "counter_alone_per_s": {"median": 2e9}, "summary": [line, line],
                           "idle_cores": {"median": 0.01}})
        lines = text.split("\n")
        self.assertIn("veth, ends on cores 0 and 1; paced to 5 Gbit/s", lines[0])
        self.assertEqual(len({len(row) for row in lines[1:]}), 1)

    def test_what_is_missing_is_told(self):
        lost = {"phase": "full", "transport": "tcp", "command": "zcrp-bench --json", "said": "no"}
        self.assertEqual(show.missing({}), [])
        self.assertEqual(show.missing({"missing": [lost]}),
                         ["Missing, for it failed twice: tcp, full: zcrp-bench --json: no"])

    def test_a_busy_machine_is_told(self):
        self.assertEqual(show.warning({"idle_cores": {"median": 0.05}}), [])
        self.assertIn("1.25 cores", show.warning({"idle_cores": {"median": 1.25}})[0])


class Options(unittest.TestCase):
    def refuses(self, *arguments):
        with self.assertRaises(SystemExit) as ended, contextlib.redirect_stderr(io.StringIO()):
            options.parse(arguments)
        self.assertEqual(ended.exception.code, 2, arguments)

    def test_defaults(self):
        found = options.parse([])
        self.assertEqual((found.transports, found.reference), (["zcrp", "tcp"], "tcp"))
        self.assertEqual((found.path, found.bench, found.rate), (["loopback"], [], None))
        self.assertEqual(found.pin[0][0], found.pin[0][1])

    def test_given(self):
        found = options.parse(["--pin", "0,0", "--pin", "1,2", "--rate", "2.5G", "--path",
                               "veth,loopback", "--transport", "tcp:reno,zcrp", "--", "--no-ecn"])
        self.assertEqual(found.pin, [(0, 0), (1, 2)])
        self.assertEqual((found.rate, found.path), (2.5e9, ["veth", "loopback"]))
        self.assertEqual((found.reference, found.bench), ("tcp:reno", ["--no-ecn"]))

    def test_rates(self):
        self.assertEqual([options.bits(text) for text in ("7", "1k", "2.5M")], [7, 1000, 2500000])
        for text in "", "0", "x", "1K", "-1", "1G1":
            self.assertRaises(argparse.ArgumentTypeError, options.bits, text)

    def test_mistakes(self):
        for arguments in (["--bogus"], ["--repeat", "0"], ["--repeat", "1.5"], ["--duration", "-1"],
                          ["--duration", "nan"], ["--pin", "0"], ["--pin", "0,1,2"], ["--rate", "0"],
                          ["--path", "moon"], ["--transport", "zcrp"], ["extra"],
                          ["--transport", "tcp,tcp"]):
            self.refuses(*arguments)


if __name__ == "__main__":
    unittest.main()
