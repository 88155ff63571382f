"""Units of tools/common/attempts.py: runs that fail."""

import contextlib
import io
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "tools", "common"))

from attempts import Attempts, Failure, RunFailed


def failing(times, kind=None):
    """A run that fails so many times, then returns 7."""
    left = [times]

    def run():
        left[0] -= 1
        if left[0] >= 0:
            raise kind or RunFailed(["a", "b c"], f"no {left[0]}")
        return 7
    return run


class Runs(unittest.TestCase):
    def setUp(self):
        self.attempts = Attempts()
        self.said = io.StringIO()

    def status(self):
        with contextlib.redirect_stderr(self.said):
            return self.attempts.status("program")

    def test_what_works_is_returned(self):
        self.assertEqual(self.attempts(failing(0)), 7)
        self.assertEqual((self.status(), self.said.getvalue()), (0, ""))

    def test_what_fails_once_is_tried_again(self):
        self.assertEqual(self.attempts(failing(1)), 7)
        self.assertEqual((self.attempts.runs, self.attempts.missing), (1, []))

    def test_what_fails_twice_is_missing(self):
        self.assertIsNone(self.attempts(failing(2), figure=18))
        self.assertEqual(self.attempts.missing,
                         [{"figure": 18, "command": "a 'b c'", "said": "no 0"}])

    def test_it_is_told(self):
        self.attempts(failing(2))
        self.status()
        self.assertEqual(self.said.getvalue(), "program: 1 of 1 runs failed twice and are missing\n"
                         "program: a 'b c': no 0\n")

    def test_a_tenth_may_be_missing(self):
        for missing, runs, expected in ((0, 0, 0), (1, 10, 0), (2, 20, 0), (2, 19, 1), (1, 9, 1)):
            self.attempts = Attempts()
            for i in range(runs):
                self.attempts(failing(2 if i < missing else 0))
            self.assertEqual(self.status(), expected, (missing, runs))

    def test_another_failure_ends_it(self):
        with self.assertRaises(Failure):
            self.attempts(failing(1, Failure("no such program")))
        self.assertEqual(self.attempts.missing, [])


if __name__ == "__main__":
    unittest.main()
