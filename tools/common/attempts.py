"""Runs of a program, of which one may fail: it is tried once more, and then it is missing."""

import shlex
import sys

TRIES = 2
MOST_MISSING = 0.1  # of all runs; with more of them the whole has failed


class Failure(Exception):
    """There is no point in going on."""


class RunFailed(Failure):
    """A run that did not work: how it was called, and what it said."""

    def __init__(self, command, said):
        super().__init__(said)
        self.command = shlex.join(command)


class Attempts:
    """Counts runs. Those that are missing are in a list, each with its command and what it said."""

    def __init__(self):
        self.runs, self.missing = 0, []

    def __call__(self, run, **what):
        """What run() returns; None if it failed twice, and then `what` joins the missing."""
        self.runs += 1
        for _ in range(TRIES):
            try:
                return run()
            except RunFailed as error:
                last = error
        self.missing.append(what | {"command": last.command, "said": str(last)})
        return None

    def status(self, program):
        """The exit status that all this deserves. What is missing is told on standard error."""
        if self.missing:
            print(f"{program}: {len(self.missing)} of {self.runs} runs failed twice and are missing",
                  file=sys.stderr)
            for one in self.missing:
                print(f"{program}: {one['command']}: {one['said']}", file=sys.stderr)
        return int(len(self.missing) > MOST_MISSING * self.runs)
