#!/usr/bin/env python3
# load: alone
# stage: check-all
"""zcrp-link against arithmetic: real packets see the rate, the delay and the mishaps that were set.

    link_calibration_test.py             all of it; the program is in $ZCRP_BUILD
    link_calibration_test.py END ...     one end, as zcrp-link runs it

Packets are stamped by the kernel when the relay delivers them, so the receiver's own delays do not
count; of what a busy machine may still spoil the best of a few tries counts. ZCRP_SEED=n repeats a
run's chances.
"""
import concurrent.futures
import json
import math
import os
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

LINK = os.path.join(os.environ.get("ZCRP_BUILD", "build"), "zcrp-link")
SKIP = 77
NO_LINK = 125
TRIES = 4
AT_ONCE = 3
SEED = os.environ.get("ZCRP_SEED") or str(time.time_ns() // 1000)
PORT = 7000
SO_TIMESTAMPNS = 35
SO_RCVBUFFORCE = 33
HEADERS = 28  # of IP and UDP
SEGMENT_SHARE = 1448 / 1500  # of TCP's packets, with time stamps
STAMP = struct.Struct("=Iq")


# ---- the ends


def send(count, size, bits_per_second):
    """Numbered, stamped packets of `size` bytes with headers, evenly spaced."""
    end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    end.connect((os.environ["ZCRP_THERE"], PORT))
    padding = bytes(size - HEADERS - STAMP.size)
    start = time.monotonic()
    for number in range(count):
        rest = start + number * size * 8 / bits_per_second - time.monotonic()
        if rest > 0:
            time.sleep(rest)
        end.send(STAMP.pack(number, time.clock_gettime_ns(time.CLOCK_REALTIME)) + padding)


def receive(path):
    """Writes a line for each packet: number, time of sending, time of arrival."""
    end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    end.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    end.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
    end.bind(("", PORT))
    end.settimeout(20)
    with open(path, "w", encoding="ascii") as out:
        try:
            while True:
                data, extra, _, _ = end.recvmsg(65536, 128)
                seconds, ns = struct.unpack("=qq", extra[0][2])
                end.settimeout(0.5)
                out.write("%d %d %d\n" % (*STAMP.unpack_from(data), seconds * 10**9 + ns))
        except socket.timeout:
            pass


def send_tcp(seconds, algorithm):
    end = socket.create_connection((os.environ["ZCRP_THERE"], PORT))
    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm.encode())
    stop = time.monotonic() + seconds
    while time.monotonic() < stop:
        end.sendall(bytes(16384))


def receive_tcp(path, buffer):
    """Writes bits a second, from the first byte to the last."""
    listener = socket.socket()
    if buffer:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    listener.bind(("", PORT))
    listener.listen()
    end, _ = listener.accept()
    first = last = total = 0
    while True:
        data = end.recv(1 << 18)
        if not data:
            break
        last = time.monotonic()
        first = first or last
        total += len(data)
    with open(path, "w", encoding="ascii") as out:
        out.write(str(total * 8 / (last - first)))


def be_end(which, *arguments):
    if which == "send":
        send(int(arguments[0]), int(arguments[1]), float(arguments[2]))
    elif which == "receive":
        receive(arguments[0])
    elif which == "send_tcp":
        send_tcp(float(arguments[0]), arguments[1])
    else:
        receive_tcp(arguments[0], int(arguments[1]))


# ---- what they see


class Link:
    """Runs pairs of ends over links."""

    def __init__(self, folder):
        self.out = os.path.join(folder, "out")
        self.json = os.path.join(folder, "json")

    def run(self, conditions, sender, receiver):
        ends = [[sys.executable, os.path.abspath(__file__), *map(str, end)]
                for end in (sender, receiver)]
        command = [LINK, "--seed", SEED, *conditions.split(), "--quiet", "--wait", "10s", "--port", str(PORT),
                   "--linger", "20s", "--json", self.json, "--", *ends[0], "--", *ends[1]]
        subprocess.run(command, check=True, timeout=60)
        with open(self.json, encoding="ascii") as text:
            self.told = json.load(text)["a_to_b"]
        with open(self.out, encoding="ascii") as text:
            return text.read()

    def packets(self, conditions, count, size, bits_per_second):
        """Triples: number, ns of sending, ns of arrival."""
        text = self.run(conditions, ("send", count, size, bits_per_second), ("receive", self.out))
        return [tuple(map(int, line.split())) for line in text.splitlines()]

    def tcp(self, conditions, seconds, algorithm="reno", buffer=0):
        return float(self.run(conditions, ("send_tcp", seconds, algorithm),
                              ("receive_tcp", self.out, buffer)))


def rate_of(packets, size):
    """Bits a second, from when packets came earliest, in the second and in the last quarter."""
    step = (packets[-1][2] - packets[0][2]) / len(packets)
    quarter = len(packets) // 4

    def earliest(start):
        return min(range(start, start + quarter), key=lambda i: packets[i][2] - i * step)

    first, last = earliest(quarter), earliest(len(packets) - quarter)
    return (last - first) * size * 8e9 / (packets[last][2] - packets[first][2])


def rate(link):
    """What comes faster than the rate leaves at the rate."""
    packets = link.packets("--rate 20M --queue 200ms", 2500, 1500, 30e6)
    seen = rate_of(packets, 1500)
    return f"20 Mb/s: {seen / 1e6:.2f} seen", abs(seen / 20e6 - 1) < 0.03


def paced(link):
    """What comes slower than the rate passes as it comes."""
    packets = link.packets("--rate 20M", 1000, 1000, 10e6)
    seen = rate_of(packets, 1000)
    return f"10 Mb/s of 20: {seen / 1e6:.2f} seen", abs(seen / 10e6 - 1) < 0.03 and len(packets) == 1000


def delay(link):
    packets = link.packets("--delay 25ms", 300, 200, 1e6)
    seen = statistics.median(there - here for _, here, there in packets) / 1e6
    least = min(there - here for _, here, there in packets) / 1e6
    return f"25 ms: {seen:.3f} seen, at least {least:.3f}", 25 <= least and abs(seen - 25) < 1


def delay_of_rate(link):
    """A packet alone takes its own time of the rate: 10 ms for 1250 bytes at 1 Mb/s."""
    packets = link.packets("--rate 1M", 40, 1250, 0.5e6)
    seen = statistics.median(there - here for _, here, there in packets) / 1e6
    return f"10 ms to send: {seen:.3f} seen", abs(seen - 10) < 1


def jitter(link):
    packets = link.packets("--delay 5ms --jitter 10ms --seed 7", 500, 200, 1e6)
    times = [(there - here) / 1e6 for _, here, there in packets]
    seen = statistics.median(times)
    return f"5 to 15 ms: median {seen:.3f} seen", min(times) >= 5 and abs(seen - 10) < 1.5


def within(count, of, share):
    """Within five standard deviations of a binomial count."""
    return abs(count - of * share) <= 5 * math.sqrt(of * share * (1 - share)) + 1


def loss(link):
    packets = link.packets("--loss 2%", 20000, 100, 20e6)
    lost = 20000 - len(packets)
    return f"2 % of 20000: {lost} seen, {link.told['lost']} told", (
        within(lost, 20000, 0.02) and lost == link.told["lost"])


def bursts(link):
    packets = link.packets("--loss 5% --burst 4 --seed 1998", 20000, 100, 20e6)
    numbers = [-1] + [number for number, _, _ in packets]
    rows = sum(b - a > 1 for a, b in zip(numbers, numbers[1:]))
    lost = 20000 - len(packets)
    return f"5 % in rows of 4: {lost} in {rows} rows", 600 < lost < 1400 and 3.4 < lost / rows < 4.6


def mishaps(link):
    """Doubled and late packets come, corrupted ones the kernel drops."""
    packets = link.packets("--duplicate 2% --reorder 3% --reorder-by 2 --corrupt 1%",
                           10000, 100, 10e6)
    told = link.told
    numbers = [number for number, _, _ in packets]
    doubled = len(numbers) - len(set(numbers))
    newest, late = -1, 0
    for number in numbers:
        late += number < newest
        newest = max(newest, number)
    damaged = 10000 - len(set(numbers))
    return (f"{doubled} doubled of {told['duplicated']}, {late} late of {told['reordered']}, "
            f"{damaged} damaged of {told['corrupted']}"), (
        within(told["duplicated"], 10000, 0.02) and within(told["reordered"], 10000, 0.03)
        and within(told["corrupted"], 10000, 0.01)
        and told["duplicated"] - told["corrupted"] <= doubled <= told["duplicated"]
        and 0.8 * told["reordered"] <= late <= 1.1 * told["reordered"]
        and 0.9 * told["corrupted"] <= damaged <= told["corrupted"])


def tcp_fills(link):
    seen = link.tcp("--rate 20M --delay 5ms --queue 50ms", 2)
    most = 20e6 * SEGMENT_SHARE
    return f"TCP at 20 Mb/s: {seen / 1e6:.2f} of {most / 1e6:.2f}", (
        0.85 * most < seen < 1.03 * most and link.told["queue_most_us"] <= 50000)


def tcp_window(link):
    """At most a window in a round trip: the receiver's, of 64 KiB in 40 ms."""
    seen = link.tcp("--delay 20ms", 1, buffer=32768)
    most = 65536 * 8 / 0.04
    return f"64 KiB in 40 ms: {seen / 1e6:.2f} of {most / 1e6:.2f} Mb/s", 0.2 * most < seen <= most


def tcp_loss(link):
    """Mathis et al. 1997: a segment / round trip * 1.22 / sqrt(loss), within a factor of 2."""
    seen = link.tcp("--delay 10ms --loss 1%/0 --seed 1998", 4)
    expected = 1448 * 8 / 0.02 * 1.22 / math.sqrt(0.01)
    return f"reno, 1 % of 20 ms: {seen / 1e6:.2f}, about {expected / 1e6:.2f} Mb/s", (
        expected / 2 < seen < expected * 2)


TESTS = [rate, paced, delay, delay_of_rate, jitter, loss, bursts, mishaps, tcp_fills, tcp_window,
         tcp_loss]


def attempt(test):
    """True if one of a few tries does."""
    for number in range(TRIES):
        with tempfile.TemporaryDirectory() as folder:
            said, is_good = test(Link(folder))
        print(f"{'ok  ' if is_good else 'FAIL' if number + 1 == TRIES else 'once more'} "
              f"{test.__name__}: {said}", flush=True)
        if is_good:
            return True
    return False


def main():
    if len(sys.argv) > 1 and sys.argv[1] in ("send", "receive", "send_tcp", "receive_tcp"):
        return be_end(*sys.argv[1:])
    probe = subprocess.run([LINK, "--quiet", "--", "true", "--", "true"], check=False,
                           stderr=subprocess.PIPE, text=True)
    if probe.returncode == NO_LINK:
        print(probe.stderr.strip())
        return SKIP
    wanted = [test for test in TESTS if len(sys.argv) == 1 or test.__name__ in sys.argv[1:]]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        passed = sum(pool.map(attempt, wanted))
    if passed < len(wanted):
        print(f"repeat: ZCRP_SEED={SEED} {sys.argv[0]}")
    print(f"{passed} of {len(wanted)} checks passed")
    return 0 if passed == len(wanted) else 1


if __name__ == "__main__":
    sys.exit(main())
