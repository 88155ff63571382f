"""Units of tools/common/child.py: a child is over with its block."""

import os
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "tools", "common"))

from child import running

SLEEP = ["sleep", "100"]


class Child(unittest.TestCase):
    def test_ends_with_its_block(self):
        for ending in signal.SIGTERM, signal.SIGKILL:
            with running(SLEEP, ending) as child:
                self.assertIsNone(child.poll())
            self.assertEqual(child.returncode, -ending)

    def test_ends_with_what_is_raised_in_its_block(self):
        with self.assertRaises(KeyError), running(SLEEP, signal.SIGTERM) as child:
            raise KeyError
        self.assertEqual(child.returncode, -signal.SIGTERM)

    def test_is_left_to_end_by_itself(self):
        with running(["sh", "-c", "exit 3"], signal.SIGKILL) as child:
            self.assertEqual(child.wait(), 3)
        self.assertEqual(child.returncode, 3)

    def test_may_tidy_up(self):
        script = "trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done"
        with running(["sh", "-c", script], signal.SIGTERM, stdout=subprocess.PIPE,
                     text=True) as child:
            self.assertEqual(child.stdout.readline(), "ready\n")
        self.assertEqual(child.returncode, 5)

    def test_dies_with_its_parent(self):
        """It has the parent's standard output, which is read until nobody has it any more."""
        parent = ("import os, signal\n"
                  "from child import running\n"
                  f"with running({SLEEP}, signal.SIGTERM):\n"
                  "    os.kill(os.getpid(), signal.SIGKILL)\n")
        done = subprocess.run([sys.executable, "-B", "-c", parent], stdout=subprocess.PIPE,
                              cwd=sys.path[0], check=False, timeout=20)
        self.assertEqual(done.returncode, -signal.SIGKILL)


if __name__ == "__main__":
    unittest.main()
