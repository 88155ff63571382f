"""What tools/wireshark/zcrp.lua opens with a key log. Prints what is wrong, and exits 1 if anything is."""

import os
import re
import shutil
import subprocess

import capture
from capture import check, equal, fields

BENCH = os.path.join(os.environ.get("ZCRP_BUILD", "build"), "zcrp-bench")
AS_ZCRP = ("-d", "udp.port==40000,zcrp")


def beside(path, name):
    return os.path.join(os.path.dirname(path), name)


def with_log(path, *arguments):
    return ("-o", "zcrp.key_log:" + path, *arguments)


# --- the cryptography ----------------------------------------------------------------------------


def test_crypto(path):
    """The vectors of the RFCs, in the Lua of this tshark."""
    script = shutil.copy("tests/e2e/dissector/crypto_vectors.lua", beside(path, "vectors.lua"))
    with open(script, "r+", encoding="ascii") as file:
        text = file.read()
        file.seek(0)
        file.write(f'CRYPTO = "{beside(path, "zcrp_crypto.lua")}"\n{text}')
    capture.save(path, capture.RAW_IP, [capture.udp(bytes(32))])
    said = capture.tshark(path, "-X", "lua_script:" + script)
    check(f"crypto: {said}", re.search(r"^crypto: \d\d+ vectors, 0 failures$", said, re.M))


# --- docs/vectors/sealed.txt ---------------------------------------------------------------------

SHOWN = ["type", "verdict", "session", "tag", "message", "unit", "seq", "length", "data", "requested", "newest",
         "capacity", "nonce"]
NOTES = ["decrypted", "forged", "no_key", "no_key_log", "no_keys_file"]


def sealed_vectors(cipher):
    with open("docs/vectors/sealed.txt", encoding="ascii") as file:
        for line in file:
            words = line.split("#")[0].split()
            vector = dict(word.split("=") for word in words[1:])
            if words and vector["cipher"] == cipher:
                yield vector


def write_log(path, secret, random="5a" * 32):
    """Both sides of the vectors have the same secret."""
    with open(path, "w", encoding="ascii") as file:
        file.write("# what follows are two secrets\nNONSENSE\n")
        for side in "CLIENT", "SERVER":
            file.write(f"{side}_TRAFFIC_SECRET_0 {random} {secret}\n")


def save_datagrams(path, datagrams):
    capture.save(path, capture.RAW_IP, [capture.udp(datagram) for datagram in datagrams])


def names(of):
    return ["zcrp." + name for name in of]


def notes(path, *arguments, **settings):
    """Of each packet, the notes on how it was opened."""
    rows = fields(path, names(NOTES), *AS_ZCRP, *arguments, **settings)
    return [[name for name, value in zip(NOTES, row) if value] for row in rows]


def without_epoch(datagram):
    return datagram[:-2] + bytes([datagram[-2] & 0x3F]) + datagram[-1:]


def test_vectors(path):
    """Each is shown as what was sealed, whichever cipher it was."""
    log = beside(path, "log")
    for cipher in "aes", "chacha":
        vectors = list(sealed_vectors(cipher))
        check(f"vectors of {cipher}", len(vectors) >= 8)
        write_log(log, vectors[0]["secret"])
        save_datagrams(path, [without_epoch(bytes.fromhex(v["plain"])) for v in vectors])
        plain = fields(path, names(SHOWN), *AS_ZCRP)
        save_datagrams(path, [bytes.fromhex(v["sealed"]) for v in vectors])
        equal(f"{cipher}: opened", fields(path, names(SHOWN), *AS_ZCRP, *with_log(log)), plain)
        equal(f"{cipher}: twice", fields(path, names(SHOWN), "-2", *AS_ZCRP, *with_log(log)), plain)
        equal(f"{cipher}: notes", notes(path, *with_log(log)), [["decrypted"]] * len(vectors))
        equal(f"{cipher}: without a log", notes(path), [[]] * len(vectors))


def test_aal5(path):
    """The same in PDUs, of which each is one packet."""
    log, vectors = beside(path, "log"), list(sealed_vectors("aes"))
    write_log(log, vectors[0]["secret"])
    pdus = [capture.pdu(bytes.fromhex(v["sealed"])) for v in vectors]
    capture.save(path, capture.RAW_IP, [capture.udp(capture.pieces(number, pdu, 30)[0], 6635)
                                        for number, pdu in enumerate(pdus, 1)])
    equal("over AAL5", notes(path, *with_log(log)), [["decrypted"]] * len(vectors))


def test_damaged(path):
    """One bit of the text, the tag, the number or what is bound. The others are opened all the same."""
    log = beside(path, "log")
    for cipher in "aes", "chacha":
        vectors = list(sealed_vectors(cipher))
        write_log(log, vectors[0]["secret"])
        datagram = bytes.fromhex(vectors[0]["sealed"])
        damaged = []
        for at in (0, 63, 64, 79, 80, 84, 91, len(datagram) - 2):
            changed = bytearray(datagram)
            changed[at] ^= 64
            damaged.append(bytes(changed))
        hello = bytearray(bytes.fromhex(next(v for v in vectors if v["kind"] == "sender")["sealed"]))
        hello[-18] ^= 1  # a number of an epoch that is too far away
        save_datagrams(path, [datagram, *damaged, bytes(hello), datagram])
        expected = [["decrypted"]] + [["forged"]] * (len(damaged) + 1) + [["decrypted"]]
        equal(f"{cipher}: damaged", notes(path, *with_log(log)), expected)
        rows = fields(path, ["zcrp.data", "_ws.col.Info"], *AS_ZCRP, *with_log(log))
        check(f"{cipher}: damaged data are shown", not any(row[0] for row in rows[1:-1]))
        check(f"{cipher}: the line says so", all(", wrong tag" in row[1][0] for row in rows[1:-1]))


def test_no_key(path):
    """A log of other connections, none that can be read, and no script that could read it."""
    log, vectors = beside(path, "log"), list(sealed_vectors("aes"))
    units = [bytes.fromhex(v["sealed"]) for v in vectors if v["kind"] == "unit"]
    write_log(log, "77" * 32)
    save_datagrams(path, units)
    equal("another log", notes(path, *with_log(log)), [["no_key"]] * len(units))
    lines = fields(path, ["_ws.col.Info"], *AS_ZCRP, *with_log(log))
    check("the line says so", all("no key for this session" in line[0][0] for line in lines))
    equal("no log", notes(path, *with_log(beside(path, "none"))), [["no_key_log"]] * len(units))
    write_log(log, vectors[0]["secret"])
    for helper in capture.HELPERS:
        os.remove(beside(path, os.path.basename(helper)))
        equal(f"without {helper}", notes(path, *with_log(log), helpers=[]), [["no_keys_file"]] * len(units))
        shutil.copy(helper, os.path.dirname(path))
    equal("with all", notes(path, *with_log(log)), [["decrypted"]] * len(units))


# --- a run of zcrp-bench -------------------------------------------------------------------------


def run_captured(path, log, *options):
    """A small run with keys. False if it could not be captured."""
    if not capture.can_unshare():
        print("skipped, for want of the right to make a network namespace: what crosses in a run")
        return False
    run = capture.live(path, [BENCH, "--transport", "zcrp", "--size", "10000", "--count", "20", "--repeat", "1",
                              "--unit", "1472", "--quiet", "--keys", *options])
    check(f"a run with {options}: {run.stderr}", run.returncode == 0)
    check("a key log only where it was asked for", os.path.exists(log) == ("--key-log" in options))
    return True


def rows_of(path, *arguments):
    return fields(path, ["zcrp.type", "zcrp.data", "zcrp.run", "zcrp.intervals", "zcrp.handshake", "zcrp.verdict",
                         "zcrp.decrypted", "zcrp.no_key", "zcrp.forged", "zcrp.sealed.tag"], *arguments, "-Y", "zcrp")


def change_digits(log):
    """The randoms stay, and the secrets are others."""
    with open(log, encoding="ascii") as file:
        lines = file.read().splitlines()
    with open(log, "w", encoding="ascii") as file:
        for line in lines:
            file.write(line[:-1] + ("1" if line[-1] == "0" else "0") + "\n")


def check_opened(rows, what):
    kinds = {kind for row in rows if row[6] for kind in row[0]}
    check(f"{what}: types {kinds}", {"1", "2", "4", "5", "9"} <= kinds)
    check(f"{what}: no data", sum(len(row[1]) for row in rows) > 100)
    check(f"{what}: no requests", any(row[2] for row in rows))
    check(f"{what}: no acknowledgements", any(row[3] for row in rows))
    check(f"{what}: the handshake's second level", any(row[4] and row[6] for row in rows))
    check(f"{what}: malformed", not any(row[5] for row in rows))
    check(f"{what}: not all was opened", not any(row[7] or row[8] for row in rows))


def test_run(path):
    log = beside(path, "log")
    if not run_captured(path, log, "--key-log", log):
        return
    equal("the log's mode", os.stat(log).st_mode & 0o777, 0o600)
    os.chmod(log, 0o644)  # for the user who runs tshark
    check_opened(rows_of(path, *with_log(log)), "a run")
    change_digits(log)
    rows = rows_of(path, *with_log(log))
    check("with another log data can be read", not any(row[1] or row[2] or row[3] or row[6] for row in rows))
    check("sessions without a key", any(row[7] for row in rows))
    check("a handshake with another key", any(row[8] for row in rows))
    os.remove(log)
    run_captured(path, log)
    check("without a log data can be read", not any(row[1] or row[6] for row in rows_of(path)))


def main():
    tests = [test_crypto, test_vectors, test_aal5, test_damaged, test_no_key]
    if "built without keys" in subprocess.run([BENCH, "--keys", "--transport", "zcrp", "--size", "1", "--count", "1"],
                                              capture_output=True, text=True, check=False).stderr:
        print("skipped, for want of keys: what crosses in a run")
    else:
        tests += [test_run]
    capture.conclude(tests)


if __name__ == "__main__":
    main()
