"""The Python programs of docs/guide.md, run against each other."""
import os
import re
import subprocess
import sys

GUIDE = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "guide.md")
with open(GUIDE, encoding="utf-8") as file:
    TEXT = file.read()
PROGRAMS = dict(re.findall(r"^```python\n# (\S+\.py)[^\n]*\n(.*?)^```$", TEXT, re.M | re.S))


def start(name, port, tmp_path):
    (tmp_path / name).write_text(PROGRAMS[name], encoding="utf-8")
    return subprocess.Popen([sys.executable, "-W", "error", name, str(port)], cwd=tmp_path, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)


def test_there_are_no_others():
    assert sorted(PROGRAMS) == ["feed.py", "take.py"]
    assert len(PROGRAMS) == TEXT.count("```python\n")


def test_feed_and_take(tmp_path):
    feed = start("feed.py", 0, tmp_path)
    told = feed.stdout.readline()
    take = start("take.py", told.split()[-1], tmp_path)
    printed, _ = take.communicate(timeout=60)
    assert (take.returncode, printed) == (0, "1000 bytes\n8 bytes\n1000 bytes in place\n8 bytes in place\ncomplete\n")
    said, _ = feed.communicate(timeout=60)
    assert (feed.returncode, said) == (0, "")
