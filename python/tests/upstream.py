"""Runs dask.distributed's own tests over ``zcrp://``: ``make python-upstream DASK=/path/to/its/repository``.

The packages of distributed leave its tests out; its repository has them. FILES are those that run, or any others that
are named. This changes a copy of each file:

- ``tcp://`` becomes ``zcrp://``, and the classes of ``distributed.comm.tcp`` become those of ``zcrp.dask``.
- An address without a scheme means ``zcrp://``. Dask's ``listen`` takes tcp there whatever the setting is, so the name
  tcp stands for ``zcrp://``, too.
- A bare connection, which says nothing to a listener, is one of ZCRP.

TLS stays as it is, with the repository's certificates. Tests that are marked slow need ``--runslow``.

``upstream.txt`` lists the tests that are expected to fail, and why. One of these that passes is a failure, too.
"""
import os
import re
import sys
import tempfile
from pathlib import Path

import pytest

FILES = ("distributed/comm/tests/test_comms.py", "distributed/tests/test_core.py",
         "distributed/tests/test_utils_comm.py")
CHANGES = (
    (r"tcp://", "zcrp://"),
    (r'backends, "tcp"', 'backends, "zcrp"'),
    (r"\btcp\.TLS", "distributed.comm.tcp.TLS"),
    (r"(import|from) distributed\.comm\.(asyncio_)?tcp\b(?! import get_stream_address)", r"\1 zcrp.dask"),
    (r"\btcp\.TCP\b", "tcp.ZcrpComm"),
    (r"\bTCPBackend\b", "Backend"),
    (r"\bTCP(Connector|Listener)\b", r"Zcrp\1"),
    (r"\basyncio\.open_connection\b", "open_connection"),
)
START = "import distributed.comm.tcp\nfrom conftest import open_connection\n"
CONFTEST = """
import distributed.utils_test
import pytest
import zcrp.asyncio
from distributed.comm.registry import backends, get_backend
from distributed.utils_test import *

CERTIFICATES = {certificates!r}
EXPECTED = {expected!r}

distributed.utils_test.certs_dir = CERTIFICATES


class Tcp:
    def __getattr__(self, name):
        return getattr(get_backend("zcrp"), name)


backends["tcp"] = Tcp()


class Bare:
    def __init__(self, connection):
        self.close = connection.abort

    async def wait_closed(self):
        pass


async def open_connection(host, port):
    connection = await zcrp.asyncio.connect(host, port)
    return connection, Bare(connection)


def pytest_addoption(parser):
    parser.addoption("--runslow", action="store_true", help="run slow tests")


def pytest_configure(config):
    for name in ("slow", "gpu", "flaky"):
        config.addinivalue_line("markers", name)


def pytest_collection_modifyitems(config, items):
    for item in items:
        if "slow" in item.keywords and not config.getoption("--runslow"):
            item.add_marker(pytest.mark.skip(reason="need --runslow option to run"))
        reason = EXPECTED.get(item.path.name + "::" + item.name)
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
"""


def over_zcrp(text):
    for pattern, instead in CHANGES:
        text = re.sub(pattern, instead, text)
    future = "from __future__ import annotations\n"
    at = text.index(future) + len(future) if future in text else 0
    return text[:at] + START + text[at:]


def expected_to_fail():
    """The tests of the list, each with the reason behind it."""
    expected = {}
    for line in (Path(__file__).parent / "upstream.txt").read_text(encoding="utf-8").splitlines():
        if "::" in line and not line.startswith((" ", "#")):
            test = line.strip()
            expected[test] = ""
        elif line.startswith(" "):
            expected[test] = f"{expected[test]} {line.strip()}".strip()
    return expected


def certificates(file):
    """Dask's own, in distributed/tests beside the file, or above it."""
    top = next(folder for folder in Path(file).resolve().parents if folder.name == "distributed")
    return str(top / "tests")


def main(*arguments):
    """Files, or a repository whose FILES are meant; and what pytest is to know."""
    files = [Path(argument) for argument in arguments if argument.endswith(".py")]
    folders = [Path(argument) for argument in arguments if os.path.isdir(argument)]
    files += [folder / file for folder in folders for file in FILES]
    others = [argument for argument in arguments if not argument.endswith(".py") and not os.path.isdir(argument)]
    if not files:
        raise SystemExit("upstream.py: name the repository of dask.distributed, or files of its tests")
    os.environ["DASK_DISTRIBUTED__COMM__DEFAULT_SCHEME"] = "zcrp"
    with tempfile.TemporaryDirectory() as room:
        conftest = CONFTEST.format(certificates=certificates(files[0]), expected=expected_to_fail())
        (Path(room) / "conftest.py").write_text(conftest, encoding="utf-8")
        for file in files:
            (Path(room) / file.name).write_text(over_zcrp(file.read_text(encoding="utf-8")), encoding="utf-8")
        return pytest.main(["-q", "-rfExX", "-p", "no:cacheprovider", "--rootdir", room, room, *others])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
