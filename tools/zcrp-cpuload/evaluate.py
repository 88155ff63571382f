"""A setting: who takes part, turn after turn, and what becomes of it."""

import contextlib
import functools
import random
import statistics

from measure import calibrate, loading, measure, observe, system_calls_per_gb

RESAMPLES = 2000
SEED = 1

PHASES = {  # name: is it paced, is it beside the counter
    "full": (False, False),
    "full, loaded": (False, True),
    "paced": (True, False),
    "paced, loaded": (True, True),
}


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


def take_turn(options, setting, called, rate, progress, attempts):
    """One turn: the idle machine, the counter alone, then every transport in every phase. A run that
    failed is not in it."""
    turn = {"idle": observe(options, None)}
    cores = sorted(set(setting.cores))
    progress("idle")
    with loading(cores, options.processes) as load:
        turn["counter"] = observe(options, load)
        progress("the counter alone")
    for phase, (is_paced, is_loaded) in PHASES.items():
        for transport in options.transports:
            beside = loading(cores, options.processes) if is_loaded else contextlib.nullcontext()
            with beside as load:
                run = functools.partial(measure, options, setting, called[transport],
                                        rate * is_paced, load)
                figures = attempts(run, phase=phase, transport=transport)
            if figures is None:
                progress(f"{transport}, {phase}: failed")
                continue
            turn[phase, transport] = account(figures, turn)
            progress(f"{transport}, {phase}: {figures['gbit_per_s']:.3g} Gbit/s")
    return turn


def account(figures, turn):
    """Takes off what the machine does anyway; says what the counter kept of what it has alone."""
    idle = turn["idle"]["host_cores"]
    figures["host_ms_per_gb"] -= idle / (figures["gbit_per_s"] / 8) * 1e3
    figures["host_cores"] -= idle
    figures["counter_kept"] = ratio(figures["counts_per_s"], turn["counter"]["counts_per_s"])
    return figures


FIGURES = ("gbit_per_s", "own_ms_per_gb", "host_ms_per_gb", "switches_per_gb", "counter_kept")
UNKNOWN = dict.fromkeys((*FIGURES, "channel"))  # of a run that failed


def digest(options, turns, calls):
    """For each phase and transport the estimates, and those of ratios to TCP of the same turn."""
    lines = []
    for phase, (_is_paced, is_loaded) in PHASES.items():
        for transport in options.transports:
            own = [turn.get((phase, transport), UNKNOWN) for turn in turns]
            other = [turn.get((phase, options.reference), UNKNOWN) for turn in turns]
            channels = [figures["channel"] for figures in own if figures["channel"]]
            line = {"phase": phase, "transport": transport, "channel": (channels or ["-"])[0]}
            line |= {name: estimate([figures[name] for figures in own]) for name in FIGURES}
            if is_loaded:
                line["host_ms_per_gb"] = None  # the counter's work is in it
            line["system_calls_per_gb"] = calls[transport] if phase == "paced" else None
            for name in "gbit_per_s", "counter_kept":
                pairs = [ratio(a[name], b[name]) for a, b in zip(own, other)]
                line[name + "_to_tcp"] = estimate(pairs)
            lines.append(line)
    return lines


def evaluate(options, setting, progress, attempts):
    """Everything about one setting."""
    before = len(attempts.missing)
    called, rate = calibrate(options, setting, attempts)
    progress("tried")
    turns = [take_turn(options, setting, called, rate, progress, attempts)
             for _ in range(options.repeat)]
    calls = {t: system_calls_per_gb(options, setting, called[t], rate) for t in options.transports}
    progress("system calls counted")
    flat = [
        {"turn": number, "phase": key if isinstance(key, str) else key[0],
         "transport": None if isinstance(key, str) else key[1]} | figures
        for number, turn in enumerate(turns) for key, figures in turn.items()
    ]
    return {
        "path": setting.path, "cores": setting.cores, "paced_to_gbit_per_s": rate / 1e9,
        "counter_alone_per_s": estimate([turn["counter"]["counts_per_s"] for turn in turns]),
        "idle_cores": estimate([turn["idle"]["host_cores"] for turn in turns]),
        "summary": digest(options, turns, calls), "measurements": flat,
        "missing": attempts.missing[before:],
    }
