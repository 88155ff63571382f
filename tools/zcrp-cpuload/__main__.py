"""zcrp-cpuload: who leaves more of the processor to others? See docs/zcrp-cpuload.1.

It runs zcrp-bench and zcrp-load, alone and beside each other, and looks at the kernel's accounts
meanwhile. Measurements take turns; what is said of them are medians, with an interval."""

import contextlib
import json
import signal
import sys

import options as command_line
from attempts import Attempts, Failure
from evaluate import PHASES, evaluate
from measure import Setting, complaint
from progress import Progress
from show import table


def write_json(options, results):
    out = {"size": options.size, "duration_s": options.duration, "settings": results}
    with contextlib.ExitStack() as stack:
        file = sys.stdout
        if options.json != "-":
            file = stack.enter_context(open(options.json, "w", encoding="ascii"))
        json.dump(out, file, indent=1)
        file.write("\n")


def check_json(options):
    """Before all the measuring."""
    if options.json and options.json != "-":
        try:
            with open(options.json, "a", encoding="ascii"):
                pass
        except OSError as error:
            raise Failure(f"cannot write '{options.json}': {error.strerror}") from error


def settings_of(options):
    return [Setting(path, cores) for path in options.path for cores in options.pin]


def run(options, settings, attempts):
    turn = 2 + len(PHASES) * len(options.transports)
    progress = Progress(len(settings) * (2 + options.repeat * turn), done=1)
    results = []
    for setting in settings:
        results.append(evaluate(options, setting, progress, attempts))
        progress.clear()
        if options.json != "-":
            print(table(results[-1]), end="\n\n", flush=True)
    if options.json != "-":
        print(f"Medians of {options.repeat}, [95 % intervals]; messages of {options.size}; "
              "GB: 10^9 bytes.")
    if options.json:
        write_json(options, results)


def main(arguments):
    options = command_line.parse(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    settings, attempts = settings_of(options), Attempts()
    try:
        wrong = complaint(options, settings[0])
        if wrong:
            print(wrong, file=sys.stderr)
            return 2
        check_json(options)
        run(options, settings, attempts)
    except (Failure, OSError) as error:
        print(f"zcrp-cpuload: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return attempts.status("zcrp-cpuload")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
