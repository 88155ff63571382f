"""Capture files: made of datagrams, and read by tshark with tools/wireshark/zcrp.lua. And tests of what it says."""

import os
import shutil
import struct
import subprocess
import sys
import tempfile

SCRIPT = "tools/wireshark/zcrp.lua"
HELPERS = ["tools/wireshark/zcrp_keys.lua", "tools/wireshark/zcrp_crypto.lua"]
RAW_IP, USER0, ERF = 101, 147, 197
ERF_AAL5 = 4
CELL = 48
NOBODY = 65534


def save(path, linktype, packets):
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, linktype))
        for number, packet in enumerate(packets):
            file.write(struct.pack("<IIII", 0, number, len(packet), len(packet)) + packet)


# --- what datagrams travel in --------------------------------------------------------------------


def ip(protocol, payload):
    return struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 0, 0, 64, protocol, 0,
                       bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2])) + payload


def udp(payload, port=40000):
    return ip(17, struct.pack(">HHHH", 40001, port, 8 + len(payload), 0) + payload)


def crc32(data):
    """Bit by bit, most significant first."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte << 24
        for _ in range(8):
            crc = crc << 1 ^ 0x04C11DB7 if crc & 0x80000000 else crc << 1
            crc &= 0xFFFFFFFF
    return crc ^ 0xFFFFFFFF


def pdu(payload, length=None):
    """The CPCS-PDU of AAL5 around a payload."""
    padding = -(len(payload) + 8) % CELL
    body = payload + bytes(padding + 2)
    body += struct.pack(">H", len(payload) if length is None else length)
    return body + struct.pack(">I", crc32(body))


def piece(number, cells, is_last, label=16, mark=0):
    """A label, a control word (RFC 4717), and cells."""
    return struct.pack(">IBHB", label << 12 | 0x140, 0, number,
                       0x80 | 4 * is_last | mark) + cells


def pieces(number, data, cells_each, label=16):
    """A PDU as the packets that carry it, numbered from `number` on; 65535 is followed by 1."""
    cuts = [data[at:at + CELL * cells_each] for at in range(0, len(data), CELL * cells_each)]
    return [piece((number + i - 1) % 65535 + 1, cut, i + 1 == len(cuts), label)
            for i, cut in enumerate(cuts)]


def erf(data, vpi=0, vci=32):
    """A whole PDU as a record of an ERF capture."""
    header = struct.pack(">I", vpi << 20 | vci << 4 | 2)
    size = 16 + len(header) + len(data)
    return struct.pack("<Q", 0) + struct.pack(">BBHHH", ERF_AAL5, 4, size, 0,
                                              len(header) + len(data)) + header + data


# --- what tshark says ----------------------------------------------------------------------------


def another_user(folder):
    """As root, tshark 4.4 runs no Lua script but those of its own system folder. So root runs it as
    nobody, who may read what is in `folder`. A user's own preferences do not count."""
    settings = {"env": {"PATH": os.environ["PATH"], "HOME": folder}}
    if os.geteuid() == 0:
        settings.update(user=NOBODY, group=NOBODY, extra_groups=[])
        os.chmod(folder, 0o755)
        for file in os.scandir(folder):
            os.chmod(file, 0o644)
    return settings


def tshark(path, *arguments, helpers=None):
    """Its output, with ZCRP found by its form only. Anything Lua complains of is an error. The folder
    of the capture is for tests alone: this one puts a copy of the script and its helpers there."""
    folder = os.path.dirname(path)
    script = shutil.copy(SCRIPT, folder)
    for helper in HELPERS if helpers is None else helpers:
        shutil.copy(helper, folder)
    command = ["tshark", "-n", "-r", path, "-X", "lua_script:" + script,
               "-o", "udp.try_heuristic_first:TRUE", *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=False,
                         **another_user(folder))
    said = [line for line in run.stderr.splitlines() if "Lua" in line or "rror" in line]
    if run.returncode or said or "Lua Error" in run.stdout:
        raise SystemExit(f"{' '.join(command)}: {run.stderr[-2000:]}{run.stdout[-500:]}")
    return run.stdout


def fields(path, names, *arguments, **settings):
    """For each packet a list, for each name a list of all its values."""
    wanted = [word for name in names for word in ("-e", name)]
    lines = tshark(path, "-T", "fields", "-E", "separator=\t", "-E", "aggregator=;", *wanted,
                   *arguments, **settings).split("\n")[:-1]
    return [[value.split(";") if value else [] for value in line.split("\t")] for line in lines]


# --- what the kernel shows of a run --------------------------------------------------------------

# The kernel's buffer (64 MiB) holds a whole run, whenever dumpcap gets a processor. The capture ends when the file
# has the mark, which was sent last: what came before is in it, too.
LIVE = """
capture=$1
shift
rm -f "$capture" "$capture.said" # of the run before
ip link set lo up
dumpcap -q -B 64 -i lo -w "$capture" 2>"$capture.said" &
trap 'kill -INT $!; wait $!' EXIT
until grep -q '^File:' "$capture.said" 2>/dev/null; do kill -0 $! || exit 1; sleep 0.05; done
"$@" || exit 1
tries=0
until grep -q "the end of this capture" "$capture"; do
    [ $((tries += 1)) -le 200 ] || { echo "the capture never had its end" >&2; exit 1; }
    python3 -c 'import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"the end of this capture", ("127.0.0.1", 9))'
    sleep 0.1
done
"""


def can_unshare():
    return subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False).returncode == 0


def live(path, command):
    """Captures what a command sends in a network namespace of its own."""
    return subprocess.run(["unshare", "-n", "sh", "-c", LIVE, "sh", path, *command],
                          capture_output=True, text=True, check=False)


# --- tests of what it says -----------------------------------------------------------------------

failures = []


def check(what, is_so):
    if not is_so:
        failures.append(what)
        print(f"failed: {what}")


def equal(what, found, expected):
    check(f"{what}: {found} instead of {expected}", found == expected)


def need_tshark():
    if shutil.which("tshark") is None:
        print("there is no tshark")
        sys.exit(77)
    try:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["true"], check=True, **another_user(folder))
    except (OSError, subprocess.SubprocessError):
        print("root is no other user here, as which tshark would run a script")
        sys.exit(77)


def conclude(tests):
    """Runs the tests, each with the path of a capture in a folder of its own, and exits: 1 if anything is wrong, 77 if
    tshark cannot run the dissector."""
    need_tshark()
    for test in tests:
        with tempfile.TemporaryDirectory() as folder:
            test(os.path.join(folder, "capture"))
    print(f"{len(tests)} tests, {len(failures)} failures")
    sys.exit(1 if failures else 0)
