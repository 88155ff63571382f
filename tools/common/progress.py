"""How far a program is, on a terminal."""

import sys
import time


class Progress:
    """A line on standard error; each call shows the steps done so far, and is one step more."""

    def __init__(self, steps, done=0):
        self.steps, self.done, self.start = steps, done, time.monotonic()

    def __call__(self, what):
        if sys.stderr.isatty():
            print(f"\r\033[K{self.done} of {self.steps}: {what}{self.left()}", end="",
                  file=sys.stderr, flush=True)
        self.done += 1

    def left(self):
        """By what the steps have taken so far."""
        if self.done == 0:
            return ""
        seconds = (time.monotonic() - self.start) / self.done * (self.steps - self.done)
        return f"; {seconds // 60:.0f}:{seconds % 60:02.0f} left"

    def clear(self):
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)
