"""The paper's machines, as shares of this one's processor; who sends to whom in its figures; and how
much is measured: everything, a quick look, or next to nothing for a test."""

import collections

PERIOD_US = 10000  # a machine gets its share of every one of these
MHZ_OF_A_CORE = 700  # so the slowest machine gets the least that the kernel gives: 1 ms a period


class Machine(collections.namedtuple("Machine", "name mhz cpus")):
    """A machine of the paper: the clock rate of its processors, and how many there are."""

    @property
    def share(self):
        """Cores of this machine that it is worth, by clock rate alone."""
        return self.mhz * self.cpus / MHZ_OF_A_CORE

    @property
    def quota_us(self):
        """Processor time in a period, of all its processors together."""
        return round(self.share * PERIOD_US)

    def core(self, end, allowed):
        """The core that it runs on as end 0 (sending) or 1; None for two processors: any."""
        return allowed[end % len(allowed)] if self.cpus == 1 else None


MACHINES = {
    "5": Machine("SPARCstation 5", 70, 1),
    "20": Machine("SPARCstation 20", 50, 2),
    "Ultra 1": Machine("Ultra 1", 143, 1),
    "Ultra 2": Machine("Ultra 2", 168, 2),
}

# Counters beside the sender and beside the receiver.
Figure = collections.namedtuple("Figure", "number sender receiver load", defaults=((0, 0),))

PAIRS = [
    Figure(15, "5", "5"), Figure(16, "20", "5"), Figure(17, "5", "20"), Figure(18, "Ultra 1", "5"),
    Figure(19, "5", "Ultra 1"), Figure(20, "20", "20"), Figure(21, "20", "Ultra 1"),
    Figure(22, "Ultra 1", "20"), Figure(23, "20", "Ultra 2"), Figure(24, "Ultra 2", "20"),
    Figure(25, "Ultra 1", "Ultra 1"), Figure(26, "Ultra 2", "Ultra 2"),
]
LOADED = [Figure(number, "Ultra 1", "Ultra 1", load)
          for number, load in zip(range(27, 31), ((1, 0), (0, 1), (1, 1), (2, 2)))]
WITHOUT_LOAD = 25  # the figure that those are compared with
FIGURES = PAIRS + LOADED


K, M = 1 << 10, 1 << 20


class Scale(collections.namedtuple("Scale", "sizes count bytes repeat figures")):
    """Sizes of messages in bytes; messages and bytes of a measurement, whichever is less; how often
    each is repeated; figures."""

    def batches(self):
        """The sizes that go in one run of zcrp-bench, with the option that says how much."""
        small = [size for size in self.sizes if size * self.count < self.bytes]
        large = [size for size in self.sizes if size not in small]
        batches = [(small, ["--count", str(self.count)]), (large, ["--bytes", str(self.bytes)])]
        return [batch for batch in batches if batch[0]]


SCALES = {
    "full": Scale([64, 256, K, 4 * K, 16 * K, 32 * K, 50000, 64 * K, 128 * K, 256 * K, M, 4 * M],
                  8192, 8 * M, 5, FIGURES),
    "quick": Scale([64, K, 16 * K, 50000, 256 * K, M], 2048, 2 * M, 2, FIGURES),
    "least": Scale([K, 64 * K], M, 128 * K, 1, [f for f in FIGURES if f.number in (18, 25, 29)]),
}
