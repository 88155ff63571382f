"""Runs a file of dask.distributed's own tests over ``zcrp://``: ``make python-upstream FILE=.../test_comms.py``.

The packages of distributed leave its tests out; its repository has them. This changes a copy of the file:

- ``tcp://`` becomes ``zcrp://``, and the classes of ``distributed.comm.tcp`` become those of ``zcrp.dask``.
- An address without a scheme means ``zcrp://``. Dask's ``listen`` takes tcp there whatever the setting is, so the name
  tcp stands for ``zcrp://``, too.
- A bare connection, which says nothing to a listener, is one of ZCRP.

TLS stays as it is. Its tests need the repository's certificates, in ``distributed/tests`` of the installed package.
"""
import os
import re
import sys
import tempfile
from pathlib import Path

import pytest

CHANGES = (
    (r"tcp://", "zcrp://"),
    (r'backends, "tcp"', 'backends, "zcrp"'),
    (r"\btcp\.TLS", "distributed.comm.tcp.TLS"),
    (r"(import|from) distributed\.comm\.(asyncio_)?tcp\b", r"\1 zcrp.dask"),
    (r"\btcp\.TCP\b", "tcp.ZcrpComm"),
    (r"\bTCPBackend\b", "Backend"),
    (r"\bTCP(Connector|Listener)\b", r"Zcrp\1"),
    (r"\basyncio\.open_connection\b", "open_connection"),
)
START = "import distributed.comm.tcp\nfrom conftest import open_connection\n"
CONFTEST = """
import zcrp.asyncio
from distributed.comm.registry import backends, get_backend
from distributed.utils_test import *


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
"""


def over_zcrp(text):
    for pattern, instead in CHANGES:
        text = re.sub(pattern, instead, text)
    future = "from __future__ import annotations\n"
    at = text.index(future) + len(future) if future in text else 0
    return text[:at] + START + text[at:]


def main(file, *arguments):
    os.environ["DASK_DISTRIBUTED__COMM__DEFAULT_SCHEME"] = "zcrp"
    with tempfile.TemporaryDirectory() as room:
        (Path(room) / "conftest.py").write_text(CONFTEST, encoding="utf-8")
        copy = Path(room) / Path(file).name
        copy.write_text(over_zcrp(Path(file).read_text(encoding="utf-8")), encoding="utf-8")
        return pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir", room, str(copy), *arguments])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
