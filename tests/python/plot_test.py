"""Units of zcrp-plot: what is read and what is drawn, without gnuplot."""

import contextlib
import importlib.util
import io
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "tools", "zcrp-plot"))

import bars
import colours
import drawing
import reading
import sweep

_spec = importlib.util.spec_from_file_location(
    "zcrp_plot", os.path.join(sys.path[0], "__main__.py"))
program = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(program)


def change(t, flow=0, arrived=0, **counts):
    line = {"t": t, "flow": flow, "arrived": arrived, "transit": 100, "window": 200, "rate": 1000,
            "rtt": 0.001}
    return json.dumps({**line, **counts})


def header(number=1):
    return json.dumps({"measurement": number, "size": 1024, "flows": 1})


class Reading(unittest.TestCase):
    def test_counts_that_are_left_out_are_none(self):
        found = reading.read([header(), change(0, sent=3), change(1, lost=2, sent=1)], 1)
        self.assertEqual(found.flows[0].total("sent"), 4)
        self.assertEqual(found.flows[0].total("lost"), 2)
        self.assertEqual(found.flows[0].total("repeated"), 0)

    def test_only_the_measurement_that_is_wanted(self):
        lines = [header(1), change(0), header(2), change(5, arrived=7), header(3), change(9)]
        found = reading.read(lines, 2)
        self.assertEqual(found.flows[0].series("arrived"), [(5, 7)])

    def test_flows_are_kept_apart(self):
        found = reading.read([header(), change(0, 0), change(1, 1), change(2, 0)], 1)
        self.assertEqual([len(found.flows[n].changes) for n in (0, 1)], [2, 1])

    def test_marks_are_where_it_happened(self):
        lines = [header(), change(0), change(1, arrived=5, lost=1), change(2, repeated=1)]
        found = reading.read(lines, 1)
        self.assertEqual(found.flows[0].marks("lost"), [(1, 5)])
        self.assertEqual(found.flows[0].marks("repeated"), [(2, 100)])

    def test_cut(self):
        found = reading.read([header(), change(0), change(1), change(2)], 1)
        found.cut(0.5, 1.5)
        self.assertEqual(found.flows[0].series("t"), [(1, 1)])
        with self.assertRaisesRegex(reading.Failure, "in that time"):
            found.cut(5, 6)

    def test_what_is_no_trace(self):
        for lines, why in (([], "no measurement 1"), (["nonsense"], "line 1 is not"),
                           ([change(0)], "line 1 is not"), ([header(), "{}"], "line 2 is not"),
                           ([header(), "[]"], "line 2 is not"), ([header(), "3"], "line 2 is not"),
                           ([header()], "nothing happened"), ([header(2), change(0)], "no meas")):
            with self.assertRaisesRegex(reading.Failure, why):
                reading.read(lines, 1)


class Drawing(unittest.TestCase):
    def test_thin_keeps_extremes(self):
        points = [(x / 10000, 0.0) for x in range(10000)]
        points[1234] = (0.1234, 9.0)
        points[4321] = (0.4321, -9.0)
        thinned = drawing.thin(points, 50)
        self.assertLessEqual(len(thinned), 4 * 51)
        self.assertIn((0.1234, 9.0), thinned)
        self.assertIn((0.4321, -9.0), thinned)
        self.assertEqual((thinned[0], thinned[-1]), (points[0], points[-1]))
        self.assertEqual(thinned, sorted(thinned))

    def test_thin_leaves_few_alone(self):
        self.assertEqual(drawing.thin([(0, 1), (0, 2)]), [(0, 1), (0, 2)])

    def test_thin_marks_has_one_a_column(self):
        thinned = drawing.thin_marks([(x / 1000, 1) for x in range(1000)], 10)
        self.assertEqual(len(thinned), 11)
        self.assertEqual(thinned[0], (0, 1))

    def test_goodput_is_all_that_arrived(self):
        points = [(0, 0), (0.25, 100), (0.9, 100), (1.0, 500)]
        stairs = drawing.goodput(points, 4)
        self.assertEqual([rate for _, rate in stairs], [3200, 0, 0, 12800])
        self.assertEqual(drawing.goodput([(1, 0)]), [])

    def test_units(self):
        self.assertEqual(drawing.unit(999, drawing.BYTES, 1000), (1, "bytes"))
        self.assertEqual(drawing.unit(5e6, drawing.BYTES, 1000), (1e6, "MB"))
        self.assertEqual(drawing.unit(1e15, drawing.BYTES, 1000), (1e9, "GB"))

    def test_script_has_four_panels_and_counts(self):
        lines = [header(), change(0, sent=9), change(1, arrived=900, lost=3), change(2, probes=1)]
        text = drawing.script(reading.read(lines, 1))
        self.assertEqual(text.count("\nplot "), 4)
        self.assertIn("lost: 3", text)
        self.assertIn("probes: 1", text)
        self.assertNotIn("repeated", text)
        self.assertEqual(text.count("\nset xlabel"), 1)

    def test_script_names_flows(self):
        lines = [header(), change(0, 0), change(1, 0), change(0, 1), change(1, 1)]
        text = drawing.script(reading.read(lines, 1))
        self.assertIn("title 'flow 0'", text)
        self.assertIn("title 'flow 1'", text)
        self.assertIn("in 2 flows", text)

    def test_script_of_one_moment(self):
        self.assertIn("set xrange [1:", drawing.script(reading.read([header(), change(1)], 1)))


def run(transport, size, rate, *, channel="udp", trip=None):
    """A run of zcrp-bench, of which one GB takes a second at the sender and twice that at the receiver."""
    return {"transport": transport, "channel": channel, "size": size, "gbit_per_s": rate,
            "msg_per_s": 1000 * rate, "round_trip_us": {"median": trip} if trip else None,
            "sender": {"cpu_s_per_gb": 1}, "receiver": {"cpu_s_per_gb": 2}}


class Sweep(unittest.TestCase):
    RESULTS = {"runs": [run("zcrp", 64, rate) for rate in (3, 9, 5)] + [run("tcp", 64, 2)]}

    def test_median_least_most(self):
        self.assertEqual(sweep.points(self.RESULTS["runs"][:3], lambda one: one["gbit_per_s"]),
                         [(64, 5, 3, 9)])

    def test_figures(self):
        for figure, label, point in (("throughput", "throughput, Gbit/s", "64 5 3 9"),
                                     ("messages", "messages a second", "64 5000 3000 9000"),
                                     ("processor", "processor time", "64 3 3 3")):
            text = sweep.script([self.RESULTS], figure)
            self.assertIn(label, text)
            self.assertIn(f"\n{point}\n", text)
        self.assertEqual(sweep.script([self.RESULTS]), sweep.script([self.RESULTS], "throughput"))

    def test_logarithmic(self):
        self.assertIn("set logscale y", sweep.script([self.RESULTS], is_log=True))
        self.assertNotIn("set logscale y", sweep.script([self.RESULTS]))

    def test_a_logarithmic_axis_ends_near_the_data(self):
        self.assertEqual(sweep.steps(3, 40), [2, 5, 10, 20, 50])
        self.assertEqual(sweep.steps(10, 10), [10])
        self.assertEqual(sweep.steps(0.3, 1), [0.2, 0.5, 1])
        self.assertIn("set yrange [2:10]\n", sweep.script([self.RESULTS], is_log=True))
        self.assertNotIn("set yrange", sweep.logarithmic([0]))

    def test_points_of_a_size_stand_side_by_side(self):
        text = sweep.script([self.RESULTS])
        self.assertIn("using ($1*0.9759)", text)
        self.assertIn("using ($1*1.0247)", text)

    def test_names_in_one_file_are_those_of_transports(self):
        self.assertEqual(list(sweep.lines_of([self.RESULTS])), ["zcrp", "tcp"])

    def test_names_in_several_files_tell_channels(self):
        trips = [{"runs": [run("zcrp", 64, 1, trip=7), run("tcp", 64, 1, trip=9)]},
                 {"runs": [run("zcrp", 64, 1, trip=8)], "command": ["zcrp-bench", "--no-spin"]},
                 {"runs": [run("zcrp", 64, 1, channel="memory", trip=5)]}]
        self.assertEqual(list(sweep.lines_of(trips)),
                         ["zcrp/udp", "tcp", "zcrp/udp --no-spin", "zcrp/memory"])
        self.assertIn("round trip, us", sweep.script(trips))

    def test_what_the_results_do_not_have(self):
        with self.assertRaisesRegex(reading.Failure, "no round-trip"):
            sweep.script([self.RESULTS], "round-trip")
        for results in ({}, {"runs": 3}, {"runs": []}, [], 3):
            with self.assertRaisesRegex(reading.Failure, "not the results of zcrp-bench"):
                sweep.script([results])


class Bars(unittest.TestCase):
    BARS = {"ylabel": "share, %", "groups": [
        {"label": "a\n1 % \"lost\"", "bars": [{"name": "zcrp", "values": [9, 7, 8]},
                                            {"name": "tcp/bbr", "values": [5]}]},
        {"label": "b", "bars": [{"name": "zcrp", "values": [1]}, {"name": "tcp/bbr", "values": []}]}]}

    def test_median_least_most(self):
        self.assertEqual(list(bars.rows(self.BARS["groups"], "zcrp", 0.5)), [(0.5, 8, 7, 9), (1.5, 1, 1, 1)])
        self.assertEqual(list(bars.rows(self.BARS["groups"], "tcp/bbr", 0)), [(0, 5, 5, 5)])

    def test_labels_are_text(self):
        self.assertEqual(bars.tics(self.BARS["groups"]), '"a\\n1 %% lost" 0, "b" 1')

    def test_script(self):
        text = bars.script(self.BARS)
        self.assertIn("set ylabel 'share, %'", text)
        self.assertIn("title 'tcp/bbr'", text)

    def test_what_is_no_bars(self):
        self.assertFalse(bars.is_bars([]))
        for results in ({"groups": 3}, {"groups": []}, {"groups": [{"label": "a"}]}):
            with self.assertRaisesRegex(reading.Failure, "no groups of bars"):
                bars.script(results)


class Colours(unittest.TestCase):
    def test_a_transport_has_its_colour(self):
        for names in (["zcrp", "tcp"], ["tcp/cubic", "unix", "zcrp/udp"]):
            chosen = colours.of_lines(names)
            self.assertEqual(chosen[next(name for name in names if name[0] == "z")],
                             colours.OF_TRANSPORTS["zcrp"])

    def test_no_colour_is_there_twice(self):
        names = ["zcrp/udp", "zcrp/udp --no-spin", "zcrp/memory", "tcp/cubic", "tcp/bbr", "other"]
        self.assertEqual(len(set(colours.of_lines(names).values())), len(names))

    def test_more_lines_than_colours(self):
        self.assertEqual(len(colours.of_lines([str(number) for number in range(20)])), 20)

    def test_dark_scheme(self):
        svg = "<svg><g id=\"gnuplot_canvas\"><path stroke='rgb(221, 221, 221)'/><text fill=\"black\"/></g></svg>"
        dark = colours.with_dark_scheme(svg)
        self.assertIn("@media (prefers-color-scheme: dark)", dark)
        self.assertIn('[stroke="rgb(221, 221, 221)"]{stroke:#343434}', dark)
        self.assertIn('[fill="black"]{fill:#ffffff}', dark)
        self.assertTrue(dark.endswith(svg[len("<svg>"):]))

    def test_lines_are_seen_on_dark(self):
        """As text has to be (WCAG 2.2, 1.4.3): purple and magenta were 3.9 and 3.7 times as light."""
        for colour in colours.COLOURS:
            parts = [int(colour[at:at + 2], 16) for at in (1, 3, 5)]
            self.assertGreaterEqual(colours.contrast(colours.mirrored(*parts), colours.DARK_BACKGROUND), 4.5, colour)


class Program(unittest.TestCase):
    def run_with(self, *arguments):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            try:
                status = program.main(list(arguments))
            except SystemExit as ended:
                status = ended.code
        return status, said.getvalue()

    def test_mistakes(self):
        self.assertEqual(self.run_with("a", "--from", "2", "--to", "1")[0], 2)
        self.assertEqual(self.run_with()[0], 2)
        status, said = self.run_with("/nowhere/at/all")
        self.assertEqual(status, 1)
        self.assertEqual(said, "zcrp-plot: cannot open '/nowhere/at/all': No such file or directory\n")

    def test_without_gnuplot(self):
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "trace")
            with open(path, "w", encoding="ascii") as file:
                file.write(header() + "\n" + change(0) + "\n")
            before = os.environ["PATH"]
            os.environ["PATH"] = place
            try:
                status, said = self.run_with(path)
            finally:
                os.environ["PATH"] = before
        self.assertEqual(status, 1)
        self.assertEqual(said, "zcrp-plot: needs gnuplot: apt install gnuplot-nox\n")


if __name__ == "__main__":
    unittest.main()
