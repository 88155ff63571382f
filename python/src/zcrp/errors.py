"""An exception for each error code of the library, with the library's text.

``except zcrp.RefusedError`` catches one of them and ``except zcrp.Error`` all. If Python has an exception for such an
error, the library's derives from that, too: :class:`CallTimeoutError` is a :class:`TimeoutError`,
:class:`RefusedError` a :class:`ConnectionRefusedError`, and the error of a missing key file a
:class:`FileNotFoundError` with its ``filename``. Two are Python's alone: an argument of the wrong type raises a
:class:`TypeError`, and a buffer that cannot be used a :class:`BufferError`. No name here hides one of Python's own.

A server that outlives its clients gives each receive a limit, and catches ``zcrp.Error`` around each connection.
:class:`ConnectionError` stands for every way in which a connection ends, :class:`EndOfStreamError` among them. A client
can also cause errors of one message: :class:`PeerCancelledError`, :class:`TooLargeError` and :class:`FaultError`.
"""
from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any, ClassVar, Optional

from . import _renamed
from ._zcrp import ffi, lib

__all__ = ["AddressError", "ArgumentError", "AuthenticationError", "BusyError", "CallTimeoutError", "ChannelError",
           "ClosedError", "CutOffError", "DescriptorError", "EndOfStreamError", "Error", "ExposedKeyError",
           "FaultError", "ForkedError", "IdleTimeoutError", "MessageCancelledError", "NoKeysError",
           "NoSharedMemoryError", "NotAdmittedError", "NotConnectedError", "NotInFlightError", "NotSocketError",
           "NotStartedError", "OutOfMemoryError", "PeerCancelledError", "PeerClosedError", "PeerDiedError",
           "PeerRestartedError", "PrivilegeError", "ProgressTimeoutError", "ProtocolError", "RefusedError",
           "SizeError", "StartedError", "SystemCallError", "TooLargeError", "TraceError", "UnreachableError",
           "VersionError", "WaitInterruptedError"]

_by_code: dict[int, type[Error]] = {}

#: The new name of each class that had another one in the past.
NEW_NAMES: dict[str, str] = {}

if not TYPE_CHECKING:
    __getattr__ = _renamed.getter(__name__, NEW_NAMES)


class Error(Exception):
    """The base of all errors of the library."""

    name: ClassVar[str] = ""
    """The name in ``zcrp.h``, without ``ZCRP_ERROR_``."""
    code: ClassVar[int] = 0
    """The library's negative number for it."""
    size: int = 0
    """:class:`TooLargeError` only: the size of the message in bytes, as the peer states it."""
    index: int = 0
    """A batch only: the index of the message that failed."""

    def __init_subclass__(cls, name: Optional[str] = None, once: Optional[str] = None) -> None:
        if once is not None:
            NEW_NAMES[once] = cls.__name__
        if name is None:  # a kind of one of them
            return
        cls.name = name
        cls.code = getattr(lib, f"ZCRP_ERROR_{name}")
        _by_code[cls.code] = cls


class ArgumentError(Error, ValueError, name="ARGUMENT", once="Argument"):
    """An option is out of its range, or options contradict each other."""


class SizeError(Error, ValueError, name="SIZE", once="Size"):
    """The message is larger than 128 GiB."""


class BusyError(Error, name="BUSY", once="Busy"):
    """There is no room for one more copy (:meth:`zcrp.Connection.send_copy`), or the keys are in use."""


class NotInFlightError(Error, name="IDLE", once="Idle"):
    """The message is not in flight."""


class StartedError(Error, name="STARTED", once="Started"):
    """Only the paper's API has this error; this package does not use that API."""


class NotStartedError(Error, name="NOT_STARTED", once="NotStarted"):
    """Only the paper's API has this error; this package does not use that API."""


class DescriptorError(Error, name="DESCRIPTOR", once="Descriptor"):
    """The descriptor is not open."""


class NotSocketError(Error, name="NOT_SOCKET", once="NotSocket"):
    """The descriptor is not a datagram socket."""


class NotConnectedError(Error, name="NOT_CONNECTED", once="NotConnected"):
    """The socket is not connected."""


class AddressError(Error, OSError, ValueError, name="ADDRESS", once="Address"):
    """The host or port cannot be resolved, or the address cannot be used. The text and ``errno`` say why:
    ``ENOENT`` or ``EAGAIN`` if the resolver does not know the host, ``EINVAL`` if the port is none, ``EADDRINUSE`` if
    the port is in use, ``EADDRNOTAVAIL`` if the address is not this machine's; else the system's error."""


class OutOfMemoryError(Error, MemoryError, name="MEMORY", once="Memory"):
    """There is no memory left."""


class SystemCallError(Error, OSError, name="SYSTEM", once="System"):
    """A system call failed; ``errno`` says how, and ``filename`` names the file, if there is one.

    It is also Python's own exception for that ``errno``: a :class:`FileNotFoundError`, a :class:`PermissionError`."""

    def __new__(cls, *args: Any) -> SystemCallError:
        return super().__new__(_kind_of(args[0]) if cls is SystemCallError and len(args) > 1 else cls, *args)

    def __reduce__(self) -> Any:
        return (SystemCallError, *tuple(super().__reduce__())[1:])


class CallTimeoutError(Error, TimeoutError, name="TIMEOUT", once="Timeout"):
    """The time limit passed."""


class TooLargeError(Error, name="TOO_LARGE", once="TooLarge"):
    """The buffer is too small for the message, which has ``size`` bytes."""


class MessageCancelledError(Error, name="CANCELLED", once="Cancelled"):
    """The message was cancelled."""


class PeerCancelledError(Error, name="PEER_CANCELLED", once="PeerCancelled"):
    """The peer cancelled its message, or its buffer: its program did, or Ctrl-C or a time limit ended its call.

    It is no :class:`ConnectionError`, because the connection goes on: the next message may arrive."""


class IdleTimeoutError(Error, ConnectionError, name="SILENT", once="Silent"):
    """No datagram has come from the peer within ``options.idle_timeout``."""


class PeerRestartedError(Error, ConnectionResetError, name="RESTARTED", once="Restarted"):
    """The peer restarted, and knows nothing of the message."""


class PeerClosedError(Error, ConnectionResetError, name="PEER_CLOSED", once="PeerClosed"):
    """The peer has closed the connection."""


class EndOfStreamError(PeerClosedError, EOFError, once="EndOfStream"):
    """The peer has closed, and all that it sent has been received: no message comes any more.

    Calls that receive raise it where calls that send raise :class:`PeerClosedError`, and loops over a connection's
    messages end on it. If the peer's messages have not all arrived, it is :class:`CutOffError`."""


class CutOffError(Error, ConnectionResetError, name="CUT_OFF", once="CutOff"):
    """The peer closed the connection before this message had crossed, or before all of its own messages had."""


class ClosedError(Error, ConnectionAbortedError, name="CLOSED", once="Closed"):
    """The connection, or the listener, was closed at this end."""


class ChannelError(Error, ConnectionError, name="CHANNEL", once="Channel"):
    """The socket failed."""


class PrivilegeError(Error, PermissionError, name="PERMISSION", once="Permission"):
    """The process lacks a permission."""


class RefusedError(Error, ConnectionRefusedError, name="REFUSED", once="Refused"):
    """No process listens at the peer's address."""


class UnreachableError(Error, ConnectionError, name="UNREACHABLE", once="Unreachable"):
    """No datagram came back from the peer's address."""


class NotAdmittedError(Error, ConnectionRefusedError, name="NOT_ADMITTED", once="NotAdmitted"):
    """The peer's listener has no room for another connection."""


class VersionError(Error, ConnectionError, name="VERSION", once="Version"):
    """The peer speaks another version of the protocol."""


class ProgressTimeoutError(Error, ConnectionError, name="STALLED", once="Stalled"):
    """The peer is there, but acknowledges nothing."""


class ProtocolError(Error, ConnectionError, name="PROTOCOL", once="Protocol"):
    """The peer breaks the protocol."""


class FaultError(Error, name="FAULT", once="Fault"):
    """The message's memory cannot be accessed, for instance because a mapped file has become shorter."""


class WaitInterruptedError(Error, name="INTERRUPTED", once="Interrupted"):
    """:meth:`zcrp.Queue.interrupt` has ended a take."""


class ForkedError(Error, name="FORKED", once="Forked"):
    """The connection or message belongs to the parent of this process."""


class NoSharedMemoryError(Error, ConnectionError, name="APART", once="Apart"):
    """The peer's memory is out of reach, and no other channel was allowed."""


class AuthenticationError(Error, ConnectionRefusedError, name="KEYS", once="WrongKeys"):
    """One end has no keys, or does not accept the keys of the other end."""


class NoKeysError(Error, name="NO_KEYS", once="NoKeys"):
    """The library was built without keys."""


class ExposedKeyError(Error, PermissionError, name="EXPOSED", once="Exposed"):
    """Users other than its owner may read the key file."""


class PeerDiedError(Error, ConnectionError, name="DIED", once="Died"):
    """The peer's process has ended without a close."""


class TraceError(Error, name="TRACE", once="Trace"):
    """A trace called the library. This package never raises it."""


_kinds: dict[type[OSError], type[SystemCallError]] = {OSError: SystemCallError}


def _kind_of(number: int) -> type[SystemCallError]:
    """The class for an errno: derived from Python's class for it, and from SystemCallError."""
    builtin = type(OSError(number, ""))
    if builtin not in _kinds:
        names = {"__module__": __name__, "__doc__": builtin.__doc__}
        kind: Any = type(builtin.__name__, (SystemCallError, builtin), names)
        _kinds[builtin] = kind
    return _kinds[builtin]


def text_of(code: int) -> str:
    return str(ffi.string(lib.zcrp_strerror(code)).decode())


def error_of(code: int, size: int = 0, index: int = 0) -> Error:
    """The exception for a code that a call in this thread has just returned. It has the library's explanation; for
    ADDRESS and SYSTEM it has the errno of that call, too."""
    number, kind = ffi.errno, _by_code.get(code, Error)
    explanation = ffi.string(lib.zcrp_explain(code)).decode(errors="replace")
    if kind is SystemCallError:
        error: Error = SystemCallError(number, os.strerror(number))
    elif kind is AddressError:
        error = AddressError(number, explanation)
    else:
        error = kind(explanation)
    error.size, error.index = size, index
    return error


def over_limit(size: int, limit: int) -> Error:
    """The peer's next message is larger than the caller of a receive allows."""
    error = TooLargeError(f"the message has {size} bytes, the limit is {limit}")
    error.size = size
    return error


def error_of_receive(code: int, size: int = 0, index: int = 0) -> Error:
    """The same for what receives: a peer that has closed is the end of what it sent."""
    if code != PeerClosedError.code:
        return error_of(code, size, index)
    error = EndOfStreamError(text_of(code))
    error.index = index
    return error


def file_error(code: int, path: str, kind_of_file: str) -> Error:
    """The exception for a code of a call that reads or writes this file. `kind_of_file` says what it should be."""
    kind = _by_code.get(code, Error)
    if kind is SystemCallError:
        return SystemCallError(ffi.errno, os.strerror(ffi.errno), path)
    if kind is ExposedKeyError:
        return ExposedKeyError(errno.EACCES, text_of(code), path)
    return kind(f"{path!r} is not {kind_of_file}" if kind is ArgumentError else f"{path}: {text_of(code)}")
