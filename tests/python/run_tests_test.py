"""tools/run-tests: a signal that ends it ends its tests, too."""

import os
import signal
import subprocess
import tempfile
import time
import unittest

TOP = os.path.join(os.path.dirname(__file__), "..", "..")


def has_ended(pid):
    """Whoever adopted it may be slow to wait for it."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def await_end(pid):
    for _ in range(1000):
        if has_ended(pid):
            return True
        time.sleep(0.01)
    return False


class Interrupted(unittest.TestCase):
    def check(self, script):
        with tempfile.TemporaryDirectory() as room:
            child, tidy = os.path.join(room, "child"), os.path.join(room, "tidy")
            command = script.format(child=child, tidy=tidy)
            with subprocess.Popen(["tools/run-tests", f"units/of-run-tests=sh -c '{command}'"], cwd=TOP,
                                  stdout=subprocess.DEVNULL) as runner:
                while not os.path.exists(child):
                    time.sleep(0.01)
                runner.send_signal(signal.SIGTERM)
                self.assertEqual(runner.wait(), 128 + signal.SIGTERM)
            with open(child, encoding="ascii") as file:
                self.assertTrue(await_end(int(file.read())))
            return os.path.exists(tidy)

    def test_ends_its_tests(self):
        self.check("sleep 100 & echo $! >{child}.new; mv {child}.new {child}; wait")

    def test_ends_what_heeds_no_signal(self):
        self.check('trap "" TERM; sleep 100 & echo $! >{child}.new; mv {child}.new {child}; wait')

    def test_lets_them_tidy_up(self):
        self.assertTrue(self.check('trap "touch {tidy}; exit" TERM; sleep 100 & echo $! >{child}.new; '
                                   "mv {child}.new {child}; wait"))


if __name__ == "__main__":
    unittest.main()
