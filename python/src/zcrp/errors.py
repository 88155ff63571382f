"""Why something failed: an exception for each code of the library, with the library's text.

``except zcrp.Refused`` catches one of them and ``except zcrp.Error`` all. Those that Python has a word for are
that, too: :class:`Timeout` is a :class:`TimeoutError`, :class:`Refused` a :class:`ConnectionRefusedError`, a key file
that is missing a :class:`FileNotFoundError` with its ``filename``. What has the wrong type is a :class:`TypeError`, and
a buffer that cannot be used a :class:`BufferError`: those are not the library's.

A server that outlives its clients catches ``(ConnectionError, zcrp.PeerCancelled)`` around each connection.
:class:`ConnectionError` stands for every way in which a connection ends, :class:`EndOfStream` among them.
"""
from __future__ import annotations

import errno
import os
from typing import Any, ClassVar, Optional

from ._zcrp import ffi, lib

__all__ = ["EndOfStream", "Error"]

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

    def __init_subclass__(cls, name: Optional[str] = None) -> None:
        if name is None:  # a kind of one of them
            return
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


class Address(Error, OSError, ValueError, name="ADDRESS"):
    """The host or the port cannot be resolved, or not be listened at. ``errno`` says why, if the system did: the port
    is taken (``EADDRINUSE``), or the address is not this machine's (``EADDRNOTAVAIL``), for instance."""


class Memory(Error, MemoryError, name="MEMORY"):
    """There is no memory left."""


class System(Error, OSError, name="SYSTEM"):
    """A system call failed; ``errno`` says how, and ``filename`` with which file, if it was one.

    It is what Python has for that ``errno``, too: a :class:`FileNotFoundError`, a :class:`PermissionError`."""

    def __new__(cls, *args: Any) -> System:
        return super().__new__(_kind_of(args[0]) if cls is System and len(args) > 1 else cls, *args)

    def __reduce__(self) -> Any:
        return (System, *tuple(super().__reduce__())[1:])


class Timeout(Error, TimeoutError, name="TIMEOUT"):
    """The time limit passed."""


class TooLarge(Error, name="TOO_LARGE"):
    """The buffer is too small for the message, which has ``size`` bytes."""


class Cancelled(Error, name="CANCELLED"):
    """The message was taken back."""


class PeerCancelled(Error, name="PEER_CANCELLED"):
    """The peer took its message, or its buffer, back: its program did, or Ctrl-C or a time limit ended its call.

    It is no :class:`ConnectionError`, because the connection goes on: the next message may arrive."""


class Silent(Error, ConnectionError, name="SILENT"):
    """The peer has not been heard of."""


class Restarted(Error, ConnectionResetError, name="RESTARTED"):
    """The peer restarted, and knows nothing of the message."""


class PeerClosed(Error, ConnectionResetError, name="PEER_CLOSED"):
    """The peer has closed the connection."""


class EndOfStream(PeerClosed, EOFError):
    """The peer has closed, and all that it sent has been received: no message comes any more.

    What receives raises it where what sends has :class:`PeerClosed`, and loops over a connection's messages end on it.
    A peer that leaves messages behind is :class:`CutOff`."""


class CutOff(Error, ConnectionResetError, name="CUT_OFF"):
    """The peer closed the connection before the message was through, or before all that it had sent was."""


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


class NotAdmitted(Error, ConnectionRefusedError, name="NOT_ADMITTED"):
    """The peer's listener has no room for another connection."""


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
    """One end has no keys, or does not accept the keys of the other end."""


class NoKeys(Error, name="NO_KEYS"):
    """The library was built without keys."""


class Exposed(Error, PermissionError, name="EXPOSED"):
    """Others than its owner may read the file of a key."""


class Died(Error, ConnectionError, name="DIED"):
    """The peer's process has ended without a close."""


class Trace(Error, name="TRACE"):
    """A trace called the library. This package raises it never."""


_kinds: dict[type[OSError], type[System]] = {OSError: System}


def _kind_of(number: int) -> type[System]:
    """The class for an errno: of what Python has for it, and of System."""
    builtin = type(OSError(number, ""))
    if builtin not in _kinds:
        kind: Any = type(builtin.__name__, (System, builtin), {"__module__": __name__, "__doc__": builtin.__doc__})
        _kinds[builtin] = kind
    return _kinds[builtin]


def text_of(code: int) -> str:
    return str(ffi.string(lib.zcrp_strerror(code)).decode())


def error_of(code: int, size: int = 0, index: int = 0) -> Error:
    """The exception for a code. That for SYSTEM has the errno of the call before."""
    kind = _by_code.get(code, Error)
    error = System(ffi.errno, os.strerror(ffi.errno)) if kind is System else kind(text_of(code))
    error.size, error.index = size, index
    return error


def over_limit(size: int, limit: int) -> Error:
    """The peer's next message is larger than the caller of a receive allows."""
    error = TooLarge(f"the message has {size} bytes, the limit is {limit}")
    error.size = size
    return error


def error_of_receive(code: int, size: int = 0, index: int = 0) -> Error:
    """The same for what receives: a peer that has closed is the end of what it sent."""
    if code != PeerClosed.code:
        return error_of(code, size, index)
    error = EndOfStream(text_of(code))
    error.index = index
    return error


def file_error(code: int, path: str, kind_of_file: str) -> Error:
    """The same for a call that reads or writes this file, which has to be of a kind."""
    kind = _by_code.get(code, Error)
    if kind is System:
        return System(ffi.errno, os.strerror(ffi.errno), path)
    if kind is Exposed:
        return Exposed(errno.EACCES, text_of(code), path)
    return kind(f"{path!r} is not {kind_of_file}" if kind is Argument else f"{path}: {text_of(code)}")
