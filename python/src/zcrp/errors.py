"""An exception for each error code of the library, with the library's text.

``except zcrp.Refused`` catches one of them and ``except zcrp.Error`` all. If Python has an exception for such an error,
the library's derives from that, too: :class:`Timeout` is a :class:`TimeoutError`, :class:`Refused` a
:class:`ConnectionRefusedError`, and the error of a missing key file a :class:`FileNotFoundError` with its ``filename``.
Two are Python's alone: an argument of the wrong type raises a :class:`TypeError`, and a buffer that cannot be used a
:class:`BufferError`.

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
    """The base of all errors of the library."""

    #: The name in ``zcrp.h``, without ``ZCRP_ERROR_``.
    name: ClassVar[str] = ""
    #: The library's negative number for it.
    code: ClassVar[int] = 0
    #: :class:`TooLarge` only: the size of the message in bytes, as the peer states it.
    size: int = 0
    #: A batch only: the index of the message that failed.
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
    """The message is larger than 128 GiB."""


class Busy(Error, name="BUSY"):
    """The message is in flight; or there is no room for one more copy (:meth:`zcrp.Connection.send_copy`)."""


class Idle(Error, name="IDLE"):
    """The message is not in flight."""


class Started(Error, name="STARTED"):
    """Only the paper's API has this error; this package does not use that API."""


class NotStarted(Error, name="NOT_STARTED"):
    """Only the paper's API has this error; this package does not use that API."""


class Descriptor(Error, name="DESCRIPTOR"):
    """The descriptor is not open."""


class NotSocket(Error, name="NOT_SOCKET"):
    """The descriptor is not a datagram socket."""


class NotConnected(Error, name="NOT_CONNECTED"):
    """The socket is not connected."""


class Address(Error, OSError, ValueError, name="ADDRESS"):
    """The host or port cannot be resolved, or the address cannot be used. The text and ``errno`` say why:
    ``ENOENT`` or ``EAGAIN`` if the resolver does not know the host, ``EINVAL`` if the port is none, ``EADDRINUSE`` if
    the port is in use, ``EADDRNOTAVAIL`` if the address is not this machine's; else the system's error."""


class Memory(Error, MemoryError, name="MEMORY"):
    """There is no memory left."""


class System(Error, OSError, name="SYSTEM"):
    """A system call failed; ``errno`` says how, and ``filename`` names the file, if there is one.

    It is also Python's own exception for that ``errno``: a :class:`FileNotFoundError`, a :class:`PermissionError`."""

    def __new__(cls, *args: Any) -> System:
        return super().__new__(_kind_of(args[0]) if cls is System and len(args) > 1 else cls, *args)

    def __reduce__(self) -> Any:
        return (System, *tuple(super().__reduce__())[1:])


class Timeout(Error, TimeoutError, name="TIMEOUT"):
    """The time limit passed."""


class TooLarge(Error, name="TOO_LARGE"):
    """The buffer is too small for the message, which has ``size`` bytes."""


class Cancelled(Error, name="CANCELLED"):
    """The message was cancelled."""


class PeerCancelled(Error, name="PEER_CANCELLED"):
    """The peer cancelled its message, or its buffer: its program did, or Ctrl-C or a time limit ended its call.

    It is no :class:`ConnectionError`, because the connection goes on: the next message may arrive."""


class Silent(Error, ConnectionError, name="SILENT"):
    """No datagram has come from the peer within ``options.silence``."""


class Restarted(Error, ConnectionResetError, name="RESTARTED"):
    """The peer restarted, and knows nothing of the message."""


class PeerClosed(Error, ConnectionResetError, name="PEER_CLOSED"):
    """The peer has closed the connection."""


class EndOfStream(PeerClosed, EOFError):
    """The peer has closed, and all that it sent has been received: no message comes any more.

    Calls that receive raise it where calls that send raise :class:`PeerClosed`, and loops over a connection's messages
    end on it. If the peer's messages have not all arrived, it is :class:`CutOff`."""


class CutOff(Error, ConnectionResetError, name="CUT_OFF"):
    """The peer closed the connection before this message had crossed, or before all of its own messages had."""


class Closed(Error, ConnectionAbortedError, name="CLOSED"):
    """The connection, or the listener, was closed at this end."""


class Channel(Error, ConnectionError, name="CHANNEL"):
    """The socket failed."""


class Permission(Error, PermissionError, name="PERMISSION"):
    """The process lacks a permission."""


class Refused(Error, ConnectionRefusedError, name="REFUSED"):
    """No process listens at the peer's address."""


class Unreachable(Error, ConnectionError, name="UNREACHABLE"):
    """No datagram came back from the peer's address."""


class NotAdmitted(Error, ConnectionRefusedError, name="NOT_ADMITTED"):
    """The peer's listener has no room for another connection."""


class Version(Error, ConnectionError, name="VERSION"):
    """The peer speaks another version of the protocol."""


class Stalled(Error, ConnectionError, name="STALLED"):
    """The peer is there, but acknowledges nothing."""


class Protocol(Error, ConnectionError, name="PROTOCOL"):
    """The peer breaks the protocol."""


class Fault(Error, name="FAULT"):
    """The message's memory cannot be accessed, for instance because a mapped file has become shorter."""


class Interrupted(Error, name="INTERRUPTED"):
    """:meth:`zcrp.Queue.interrupt` has ended a take."""


class Forked(Error, name="FORKED"):
    """The connection or message belongs to the parent of this process."""


class Apart(Error, name="APART"):
    """The peer's memory is out of reach, and no other channel was allowed."""


class WrongKeys(Error, ConnectionRefusedError, name="KEYS"):
    """One end has no keys, or does not accept the keys of the other end."""


class NoKeys(Error, name="NO_KEYS"):
    """The library was built without keys."""


class Exposed(Error, PermissionError, name="EXPOSED"):
    """Users other than its owner may read the key file."""


class Died(Error, ConnectionError, name="DIED"):
    """The peer's process has ended without a close."""


class Trace(Error, name="TRACE"):
    """A trace called the library. This package never raises it."""


_kinds: dict[type[OSError], type[System]] = {OSError: System}


def _kind_of(number: int) -> type[System]:
    """The class for an errno: derived from Python's class for it, and from System."""
    builtin = type(OSError(number, ""))
    if builtin not in _kinds:
        kind: Any = type(builtin.__name__, (System, builtin), {"__module__": __name__, "__doc__": builtin.__doc__})
        _kinds[builtin] = kind
    return _kinds[builtin]


def text_of(code: int) -> str:
    return str(ffi.string(lib.zcrp_strerror(code)).decode())


def error_of(code: int, size: int = 0, index: int = 0) -> Error:
    """The exception for a code that a call in this thread has just returned. It has the library's explanation; for
    ADDRESS and SYSTEM it has the errno of that call, too."""
    number, kind = ffi.errno, _by_code.get(code, Error)
    explanation = ffi.string(lib.zcrp_explain(code)).decode(errors="replace")
    if kind is System:
        error: Error = System(number, os.strerror(number))
    elif kind is Address:
        error = Address(number, explanation)
    else:
        error = kind(explanation)
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
    """The exception for a code of a call that reads or writes this file. `kind_of_file` says what it should be."""
    kind = _by_code.get(code, Error)
    if kind is System:
        return System(ffi.errno, os.strerror(ffi.errno), path)
    if kind is Exposed:
        return Exposed(errno.EACCES, text_of(code), path)
    return kind(f"{path!r} is not {kind_of_file}" if kind is Argument else f"{path}: {text_of(code)}")
