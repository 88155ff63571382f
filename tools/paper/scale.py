"""How much is measured: everything, a quick look, or next to nothing for a test."""

import collections

from machines import FIGURES

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
