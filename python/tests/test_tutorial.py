"""The README's programs do what it says they print."""
import os
import re
import subprocess
import sys
import time

import pytest

import zcrp

README = os.path.join(os.path.dirname(__file__), "..", "README.md")
with open(README, encoding="utf-8") as file:
    TEXT = file.read()
PROGRAMS = dict(re.findall(r"^```python\n# (\S+\.py)\n(.*?)^```$", TEXT, re.M | re.S))
PRINTED = dict(re.findall(r"^# (\S+\.py)\n(?:(?!^```$).)*?^```$(?:(?!^```python$).)*?^```\n(.*?)^```$", TEXT, re.M | re.S))
ALONE = [name for name in PROGRAMS if name not in ("receive.py", "send.py")]


def start(name, tmp_path):
    (tmp_path / name).write_text(PROGRAMS[name], encoding="utf-8")
    return subprocess.Popen([sys.executable, "-W", "error", name], cwd=tmp_path, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)


def test_there_are_programs():
    assert len(ALONE) >= 4 and set(ALONE) <= set(PRINTED)
    assert len(PROGRAMS) == TEXT.count("```python\n")


@pytest.mark.parametrize("name", ALONE)
def test_program(name, tmp_path):
    try:
        zcrp.Keys.psk("x", bytes(32))
    except zcrp.NoKeysError as error:
        if "Keys" in PROGRAMS[name]:
            pytest.skip(str(error))
    program = start(name, tmp_path)
    printed, _ = program.communicate(timeout=60)
    assert (program.returncode, printed) == (0, PRINTED[name])


def test_first_page(tmp_path):
    """Two programs; the second needs the first to listen."""
    receiver = start("receive.py", tmp_path)
    for _ in range(40):
        sender = start("send.py", tmp_path)
        said, _ = sender.communicate(timeout=60)
        if sender.returncode == 0 or "Refused" not in said:
            break
        time.sleep(0.2)
    assert sender.returncode == 0, said
    printed, _ = receiver.communicate(timeout=60)
    assert (receiver.returncode, printed) == (0, PRINTED["send.py"])
