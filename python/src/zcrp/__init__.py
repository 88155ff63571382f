"""Messages that land in place, in arrays that you already have: libzcrp for Python.

>>> connection = zcrp.connect("192.0.2.1", 7000)          # doctest: +SKIP
>>> connection.receive_into(array)                        # doctest: +SKIP

:mod:`zcrp.asyncio` has the same to be awaited. The README is a tutorial.
"""
from typing import TYPE_CHECKING

from . import _renamed, errors
from ._zcrp import lib as _lib
from .blocking import (Batch, Connection, Listener, ListenerStatistics, Message, Statistics, connect, listen, wait)
from .errors import *
from .errors import Error
from .keys import Keys
from .options import Aal5, Options
from .queue import Completion, Happened, Queue

__all__ = ["Aal5", "Batch", "Completion", "Connection", "Happened", "Keys", "Listener", "ListenerStatistics", "Message",
           "Options", "Queue", "Statistics", "connect", "listen", "version", "wait"]
__all__ += errors.__all__

version: int = _lib.zcrp_version()
"""The library's version: major x 10,000 + minor x 100 + patch."""
__version__: str = f"{version // 10000}.{version // 100 % 100}.{version % 100}"
"""The version as text: ``0.3.0``."""

if not TYPE_CHECKING:
    __getattr__ = _renamed.getter(__name__, errors.NEW_NAMES)
