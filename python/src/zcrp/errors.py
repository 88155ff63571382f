"""Why something failed: an exception for each code of the library, with the library's text.

``except zcrp.Refused`` catches one of them and ``except zcrp.Error`` all. Those that Python has a word for are
that, too: :class:`Timeout` is a :class:`TimeoutError`, :class:`Refused` a :class:`ConnectionRefusedError`. A
buffer that cannot be used is not the library's business: that is a :class:`TypeError` or a :class:`BufferError`.
"""
from __future__ import annotations

import os
from typing import ClassVar

from ._zcrp import ffi, lib

__all__ = ["Error", "error_of"]

_by_code: dict[int, type[Error]] = {}


class Error(Exception):
    """What all errors of the library are."""

    #: The name in ``zcrp.h``, without ``ZCRP_ERROR_``.
    name: ClassVar[str] = ""
    #: The library's negative number for it.
    code: ClassVar[int] = 0
    #: Of :class:`TooLarge`: how many bytes the message has, as the peer says.
    size: int = 0
    #: Of a batch: which of its messages failed.
    index: int = 0

    def __init_subclass__(cls, name: str) -> None:
        cls.name = name
        cls.code = getattr(lib, f"ZCRP_ERROR_{name}")
        _by_code[cls.code] = cls
        __all__.append(cls.__name__)


class Argument(Error, ValueError, name="ARGUMENT"):
    """An option is out of its range, or options contradict each other."""


class Size(Error, ValueError, name="SIZE"):
    """The message is larger than any may be: 128 GiB."""


class Busy(Error, name="BUSY"):
    """The message is in flight."""


class Idle(Error, name="IDLE"):
    """The message is not in flight."""


class Started(Error, name="STARTED"):
    """Of the paper's API, which this package does not use."""


class NotStarted(Error, name="NOT_STARTED"):
    """Of the paper's API, which this package does not use."""


class Descriptor(Error, name="DESCRIPTOR"):
    """The descriptor is not open."""


class NotSocket(Error, name="NOT_SOCKET"):
    """The descriptor is not a datagram socket."""


class NotConnected(Error, name="NOT_CONNECTED"):
    """The socket is not connected."""


class Address(Error, ValueError, name="ADDRESS"):
    """The host or the port cannot be resolved, or is taken."""


class Memory(Error, MemoryError, name="MEMORY"):
    """There is no memory left."""


class System(Error, OSError, name="SYSTEM"):
    """A system call failed; ``errno`` says how."""


class Timeout(Error, TimeoutError, name="TIMEOUT"):
    """The time limit passed."""


class TooLarge(Error, name="TOO_LARGE"):
    """The buffer is too small for the message, which has ``size`` bytes."""


class Cancelled(Error, name="CANCELLED"):
    """The message was taken back."""


class PeerCancelled(Error, name="PEER_CANCELLED"):
    """The peer took its message, or its buffer, back."""


class Silent(Error, ConnectionError, name="SILENT"):
    """The peer has not been heard of."""


class Restarted(Error, ConnectionResetError, name="RESTARTED"):
    """The peer restarted, and knows nothing of the message."""


class PeerClosed(Error, ConnectionResetError, name="PEER_CLOSED"):
    """The peer closed the connection before the message was through."""


class Closed(Error, ConnectionAbortedError, name="CLOSED"):
    """The connection, or the listener, was closed at this end."""


class Channel(Error, ConnectionError, name="CHANNEL"):
    """The socket failed."""


class Permission(Error, PermissionError, name="PERMISSION"):
    """A right is missing."""


class Refused(Error, ConnectionRefusedError, name="REFUSED"):
    """Nobody listens there."""


class Unreachable(Error, ConnectionError, name="UNREACHABLE"):
    """Nothing came back from there."""


class Version(Error, ConnectionError, name="VERSION"):
    """The peer speaks another version of the protocol."""


class Stalled(Error, ConnectionError, name="STALLED"):
    """The peer is there, but acknowledges nothing."""


class Protocol(Error, ConnectionError, name="PROTOCOL"):
    """The peer breaks the protocol."""


class Fault(Error, name="FAULT"):
    """The memory of the message cannot be accessed: of a mapped file that shrank, for instance."""


class Interrupted(Error, name="INTERRUPTED"):
    """A wait was interrupted. This package raises it never."""


class Forked(Error, name="FORKED"):
    """It belongs to the parent of this process."""


class Apart(Error, name="APART"):
    """The peer's memory is out of reach, and no other channel was allowed."""


class WrongKeys(Error, ConnectionRefusedError, name="KEYS"):
    """This end does not accept the peer's keys, or the peer does not accept ours."""


class NoKeys(Error, name="NO_KEYS"):
    """The library was built without keys."""


class Exposed(Error, PermissionError, name="EXPOSED"):
    """Others than its owner may read the file of a key."""


class Died(Error, ConnectionError, name="DIED"):
    """The peer's process has ended without a close."""


class Trace(Error, name="TRACE"):
    """A trace called the library. This package raises it never."""


def error_of(code: int, size: int = 0, index: int = 0) -> Error:
    """The exception for a code. That for SYSTEM has the errno of the call before."""
    text = ffi.string(lib.zcrp_strerror(code)).decode()
    kind = _by_code.get(code, Error)
    error = System(ffi.errno, f"{text}: {os.strerror(ffi.errno)}") if kind is System else kind(text)
    error.size, error.index = size, index
    return error
