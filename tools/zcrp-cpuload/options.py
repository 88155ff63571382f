"""What the command line says."""

import argparse
import os
import re


# Options of zcrp-bench that this program gives to it.
SAID_HERE = {"--transport", "--size", "--pin", "--repeat", "--json", "--netns", "--mtu", "--duration",
             "--rate"}


PROCESSES_MOST = 1024  # of zcrp-load


def pair_of_cores(text):
    if not re.fullmatch(r"\d+,\d+", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a core for each end, as in 0,1")
    return tuple(map(int, text.split(",")))


def positive(kind, most=10 ** 9):
    def parse(text):
        value = kind(text)
        if not 0 < value <= most:
            raise argparse.ArgumentTypeError(f"'{text}' is not a number above 0, {most} at most")
        return value
    parse.__name__ = "number"
    return parse


def bits(text):
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kMG]?)", text)
    if not found or float(found[1]) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a rate, as in 500M, 2.5G")
    return float(found[1]) * {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}[found[2]]


def paths(text):
    names = text.split(",")
    if not set(names) <= {"loopback", "veth"}:
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of loopback and veth")
    return names


def one_size(text):
    """What zcrp-bench makes of it is its business, but it would also take several."""
    if "," in text or ".." in text:
        raise argparse.ArgumentTypeError(f"'{text}' is more than one size")
    return text


def parse(arguments):
    own, bench = split_at_dashes(arguments)
    parser = argparse.ArgumentParser(
        prog="zcrp-cpuload", allow_abbrev=False,
        description="Who leaves more of the processor to others? Runs zcrp-bench beside zcrp-load.",
        epilog="What follows -- are options of zcrp-bench for every run. Status: 0 done;"
               " 1 more than a tenth of the runs, or something else, failed; 2 the command line is"
               " wrong.")
    add = parser.add_argument
    add("--transport", default="zcrp,tcp", metavar="LIST", help="as zcrp-bench has them (zcrp,tcp)")
    add("--size", type=one_size, default="1M", metavar="BYTES", help="of a message (1M)")
    add("--path", type=paths, default=["loopback"], metavar="LIST",
        help="loopback, veth (a virtual ethernet link between two namespaces) (loopback)")
    add("--mtu", type=positive(int), metavar="N", help="of the link (1500)")
    add("--pin", type=pair_of_cores, action="append", metavar="A,B",
        help="the ends' cores; may be given again (one core for both, then two)")
    add("--processes", type=positive(int, PROCESSES_MOST), default=1, metavar="N",
        help="counting on each of them (1)")
    add("--rate", type=bits, metavar="BITS", help="equal throughput (half of TCP's own)")
    add("--duration", type=positive(float), default=2.0, metavar="SECONDS",
        help="of each measurement (2)")
    add("--repeat", type=positive(int), default=5, metavar="N", help="turns (5)")
    add("--version", action="version", version="zcrp-cpuload @VERSION@")
    add("--json", metavar="FILE", help="every measurement as JSON; -: to standard output, no table")
    options = parser.parse_args(own)
    for name in (text.partition("=")[0] for text in bench):
        if name in SAID_HERE:
            parser.error(f"{name}: not behind --, where it would contradict what is said before")
    options.bench = bench
    options.transports = options.transport.split(",")
    tcps = [name for name in options.transports if name.startswith("tcp")]
    if not tcps:
        parser.error("--transport: there is no tcp to compare with")
    if len(set(options.transports)) < len(options.transports):
        parser.error("--transport: one is there twice")
    options.reference = tcps[0]
    options.pin = options.pin or cores_by_default()
    return options


def split_at_dashes(arguments):
    at = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:at], arguments[at + 1:]


def cores_by_default():
    """One core for both ends, and two if there are."""
    cores = sorted(os.sched_getaffinity(0))
    return [(cores[0], cores[0])] + ([(cores[0], cores[1])] if len(cores) > 1 else [])
