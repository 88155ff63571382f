"""What remains of repeated measurements: a median and where it may as well lie."""

import random
import statistics

RESAMPLES = 2000
SEED = 1


def interval(values, resamples=RESAMPLES, seed=SEED):
    """The 95 % interval of the median by bootstrap: what medians of as many values, drawn from
    these with replacement, lie in. The same values give the same interval."""
    draw = random.Random(seed)
    drawn = (draw.choices(values, k=len(values)) for _ in range(resamples))
    medians = sorted(map(statistics.median, drawn))
    return medians[int(0.025 * resamples)], medians[int(0.975 * resamples) - 1]


def estimate(values):
    """Median and interval of what is known of the values; None if nothing is."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    low, high = interval(known)
    return {"median": statistics.median(known), "low": low, "high": high}


def ratio(a, b):
    return a / b if a is not None and b else None
