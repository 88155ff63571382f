"""The table."""

BUSY_CORES = 0.1  # of an idle machine: more is not idle

HEADING = (
    ("", "", "", "", "process", "host", "switches", "calls", "counter", "speed", "counter"),
    ("", "transport", "channel", "Gbit/s", "ms/GB", "ms/GB", "a GB", "a GB", "kept", "to TCP",
     "to TCP"),
)


def figure(value, digits=3):
    if value is None:
        return "-"
    median = value["median"] if isinstance(value, dict) else value
    return f"{median:.0f}" if median >= 10 ** digits else f"{median:#.{digits}g}".rstrip(".")


def spread(value):
    if value is None:
        return "-"
    return f"{value['median']:.2f} [{value['low']:.2f}, {value['high']:.2f}]"


def row_of(line):
    return (
        line["phase"], line["transport"], line["channel"], figure(line["gbit_per_s"]),
        figure(line["own_ms_per_gb"]), figure(line["host_ms_per_gb"]),
        figure(line["switches_per_gb"]),
        figure(line["system_calls_per_gb"]), spread(line["counter_kept"]),
        spread(line["gbit_per_s_to_tcp"]), spread(line["counter_kept_to_tcp"]),
    )


def table(setting):
    """The lines of a setting, columns aligned."""
    rows = [*HEADING, *map(row_of, setting["summary"])]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    text = ["  ".join(cell.ljust(width) if i < 3 else cell.rjust(width)
                      for i, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in rows]
    a, b = setting["cores"]
    where = f"both ends on core {a}" if a == b else f"ends on cores {a} and {b}"
    alone = setting["counter_alone_per_s"]["median"] / 1e9
    return "\n".join([
        f"{setting['path']}, {where}; paced to {setting['paced_to_gbit_per_s']:.3g} Gbit/s; "
        f"the counter alone: {alone:.3g} G counts a second", *text, *warning(setting), *missing(setting)])


def missing(setting):
    """A line for each run that failed, and is not in the figures."""
    return [f"Missing, for it failed twice: {one['transport']}, {one['phase']}: {one['command']}: "
            f"{one['said']}" for one in setting.get("missing", [])]


def warning(setting):
    """A line if the machine has other work, which makes everything noise."""
    busy = setting["idle_cores"]["median"]
    if busy < BUSY_CORES:
        return []
    return [f"Beware: without all this, {busy:.2f} cores were busy with something else."]
