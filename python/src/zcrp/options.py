"""Options of connections: the options of ``zcrp.h``, with times in seconds."""
from __future__ import annotations

import dataclasses
import functools
import operator
import os
import weakref
from typing import TYPE_CHECKING, Any, Literal, Optional, Union, get_args

from . import _renamed
from ._zcrp import ffi, lib
from .errors import ArgumentError
from .keys import Keys

Congestion = Literal["bbr", "cubic", "reno", "none"]
Channel = Literal["auto", "datagram", "aal5", "memory"]

_NS = 1_000_000_000
_INFINITE = float("inf")
_NO_LIMIT = (1 << 63) - 1
_LONGEST = (1 << 62) // _NS  # seconds; no time limit of the library's is longer
_MOST = _NO_LIMIT // _NS  # seconds that can be said
#: The times, and what zcrp.h calls them.
_TIMES = {"idle_timeout": "silence_ns", "linger": "linger_ns", "spin": "spin_ns", "connect_timeout": "connect_ns",
          "progress_timeout": "progress_ns", "keepalive": "keepalive_ns",
          "accept_timeout": "accept_ns"}
_NEW_NAMES = {"silence": "idle_timeout", "connect": "connect_timeout", "progress": "progress_timeout"}
#: The least and the most, as zcrp.h states them.
_RANGES = {"unit_bytes": (64, 65507), "messages": (1, 1 << 20), "window_bytes": (1, (1 << 64) - 1),
           "send_buffer": (1, (1 << 32) - 1), "receive_buffer": (1, (1 << 32) - 1), "connections": (1, 1 << 20),
           "backlog": (1, 1 << 20), "mapped_bytes": (0, 1 << 44), "first_messages": (1, 256),
           "first_bytes": (1, 1 << 30)}
_CHANCES = ("loss", "tagged", "tagged_loss", "swapped", "merged", "congested")
_RANGES_OF_AAL5 = {"vpi": (0, 255), "vci": (32, 4127), "vci_control": (32, 4127), "mtu": (1200, 65535),
                   **dict.fromkeys(_CHANCES, (0, 1_000_000)), "discard": (0, 2), "seed": (0, (1 << 64) - 1)}
_CHOICES = {"congestion": get_args(Congestion), "channel": get_args(Channel)}
#: The flag that each stands for, and the value that sets it.
_FLAGS = {"segment": (lib.ZCRP_NO_SEGMENT, False), "gro": (lib.ZCRP_NO_GRO, False), "ecn": (lib.ZCRP_NO_ECN, False),
          "memory": (lib.ZCRP_NO_MEMORY, False), "allow_ptrace": (lib.ZCRP_ALLOW_PTRACE, True),
          "environment_keys": (lib.ZCRP_ENVIRONMENT_KEYS, True)}

#: What a struct zcrp_options points to lives as long as it does: another thread may use it when all else is gone.
_kept: weakref.WeakKeyDictionary[Any, list[Any]] = weakref.WeakKeyDictionary()


def _with_old_names(options: type[Options]) -> type[Options]:
    """Lets the constructor take the old names, too."""
    construct = vars(options)["__init__"]

    @functools.wraps(construct)
    def construct_or_warn(self: Options, *values: Any, **named: Any) -> None:
        for old, new in _NEW_NAMES.items():
            if old in named:
                if named.get(new) is not None:
                    raise TypeError(f"the options {old} and {new} are the same: give {new} alone")
                _renamed.warn(f"the option {old}", new, 2)
                named[new] = named.pop(old)
        construct(self, *values, **named)

    setattr(options, "__init__", construct_or_warn)
    return options


@dataclasses.dataclass(frozen=True)
class Aal5:
    """The circuits of an AAL5 channel, and faults of an ATM network to simulate. Both ends need the same circuits.
    ``None`` is the library's default. Chances are in a million; their default is 0."""

    vpi: Optional[int] = None
    """The virtual path, 0 to 255. Default 0."""
    vci: Optional[int] = None
    """The circuit of data, 32 to 4127. Default 32."""
    vci_control: Optional[int] = None
    """The circuit of acknowledgements and requests, 32 to 4127, but not ``vci``. Default: the next one."""
    mtu: Optional[int] = None
    """Largest datagram, 1200 to 65535 bytes. Default 9180."""
    loss: Optional[int] = None
    """Chance of each cell to be lost."""
    tagged: Optional[int] = None
    """Chance of each datagram to be one whose cells may go first."""
    tagged_loss: Optional[int] = None
    """Chance of each such cell to be lost, in addition to ``loss``."""
    swapped: Optional[int] = None
    """Chance of each cell to change places with the next."""
    merged: Optional[int] = None
    """Chance of each datagram to lose its end, and to become one with the next."""
    congested: Optional[int] = None
    """Chance of each datagram to be marked as congested."""
    discard: Optional[int] = None
    """Cells of a datagram that are lost together with one of them; 0: no others, 1: those behind it, 2: all."""
    seed: Optional[int] = None
    """The seed of the faults, 0 to 2^64 - 1."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None:
                _check_number(f"aal5.{name}", value, *_RANGES_OF_AAL5[name])

    def _write(self, native: Any) -> None:
        for name, value in vars(self).items():
            if value is not None:
                setattr(native if hasattr(native, name) else native.faults, name, operator.index(value))


@_with_old_names
@dataclasses.dataclass(frozen=True)
class Options:
    """Options of a connection, or of all connections of a listener. ``None`` is the library's default, and
    ``float("inf")`` no time limit.

    The constructor checks each value: a value out of its range raises :class:`zcrp.ArgumentError`, which is a
    :class:`ValueError`, and a value of another type a :class:`TypeError`.

    Three options have new names. The old ones, ``silence``, ``connect`` and ``progress``, still work and warn
    (:class:`DeprecationWarning`).
    """

    unit_bytes: Optional[int] = None
    """Largest datagram of the path, 64 to 65507 bytes."""
    messages: Optional[int] = None
    """Messages under way at once, 1 to 2^20; more may be posted, and wait for their turn."""
    window_bytes: Optional[int] = None
    """Most that is sent without an acknowledgement."""
    idle_timeout: Optional[float] = None
    """Seconds without a sign of life after which this end gives the peer up. Default 30."""
    linger: Optional[float] = None
    """Seconds that a close waits without a new acknowledgement. Default 5."""
    connect_timeout: Optional[float] = None
    """Seconds to connect in. Default 5."""
    progress_timeout: Optional[float] = None
    """Seconds after which this end gives up a peer that answers but acknowledges nothing. Default 30."""
    keepalive: Optional[float] = None
    """Seconds without anything to send after which each end of a connection says that it is there. Default 5."""
    spin: Optional[float] = None
    """Seconds that a waiter polls before it sleeps; 0: it does not. Default 50 microseconds."""
    send_buffer: Optional[int] = None
    """Bytes of the socket buffer for sending to ask the kernel for."""
    receive_buffer: Optional[int] = None
    """Bytes of the socket buffer for receiving to ask the kernel for."""
    congestion: Optional[Congestion] = None
    """The congestion control: ``"bbr"`` (the default), ``"cubic"``, ``"reno"`` or ``"none"``."""
    channel: Optional[Channel] = None
    """The channel of the data: ``"auto"`` (the default), ``"datagram"``, ``"aal5"`` or ``"memory"``."""
    segment: bool = True
    """May the kernel cut bursts into datagrams (``UDP_SEGMENT``)?"""
    gro: bool = True
    """May the kernel gather datagrams that arrive (``UDP_GRO``)?"""
    ecn: bool = True
    """May routers mark datagrams instead of dropping them (RFC 3168)?"""
    memory: bool = True
    """May messages of a peer on this host come straight from its memory?"""
    keys: Optional[Keys] = None
    """This side's key, and the peers that it accepts. None: no encryption, and no authentication."""
    connections: Optional[int] = None
    """A listener's connections at once, 1 to 2^20. Default 1024."""
    backlog: Optional[int] = None
    """A listener's connections that the program has not accepted yet, 1 to 2^20. Default 128."""
    accept_timeout: Optional[float] = None
    """Seconds after which a listener closes a connection that the program has not accepted. Default: idle_timeout."""
    mapped_bytes: Optional[int] = None
    """Bytes of memory for buffers that a peer on this host may map (:meth:`zcrp.Connection.allocate`), to 2^44.
    Default 0."""
    first_messages: Optional[int] = None
    """A listener's buffers for the first messages of each caller, 1 to 256: they save a round trip. Read them with
    :meth:`zcrp.Connection.receive_first`. Default: none."""
    first_bytes: Optional[int] = None
    """Bytes of each of these buffers, 1 to 2^30. Default 64 KiB."""
    aal5: Optional[Aal5] = None
    """The circuits, if the channel is AAL5."""
    allow_ptrace: bool = False
    """May a receiver on this host trace this process, if it may not read messages otherwise (Yama)? It may then read and
    write all of this process's memory."""
    environment_keys: bool = False
    """Without ``keys``, read the file that ``ZCRP_KEYS`` in the environment names?"""
    stats_directory: Union[str, os.PathLike[str], None] = None
    """The folder in which this process offers its statistics to ``zcrp-top``; ``"1"``: the usual one. The folder of the
    first connection or listener counts. ``ZCRP_STATS`` in the environment overrules it. None: they are not offered."""

    if not TYPE_CHECKING:
        def __getattr__(self, name: str) -> Any:
            new = _NEW_NAMES.get(name)
            if new is None:
                raise AttributeError(f"zcrp.Options has no option {name!r}")
            _renamed.warn(f"the option {name}", new, 2)
            return getattr(self, new)

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None or field.name in _FLAGS:
                _check(field.name, value)

    def _native(self) -> Any:
        native = ffi.new("struct zcrp_options *")
        kept: list[Any] = []
        for field in dataclasses.fields(self):
            name, value = field.name, getattr(self, field.name)
            if name in _FLAGS:
                flag, when = _FLAGS[name]
                native.flags |= flag if value is when else 0
            elif value is None:
                continue
            elif name == "keys":
                native.keys = value._use()
                kept.append(value)
            elif name == "stats_directory":
                native.stats_directory = text = _text(value)
                kept.append(text)
            elif name == "aal5":
                value._write(native.aal5)
            elif name in _CHOICES:
                setattr(native, name, getattr(lib, f"ZCRP_{name.upper()}_{value.upper()}"))
            elif name in _TIMES:
                setattr(native, _TIMES[name], _NO_LIMIT if value == _INFINITE else max(1, round(value * _NS)))
            else:
                setattr(native, name, operator.index(value))
        _kept[native] = kept
        return native


def _check(name: str, value: Any) -> None:
    """Raises what is wrong with the value of an option."""
    if name in _FLAGS:
        if not isinstance(value, bool):
            raise TypeError(f"the option {name} is a bool, not {type(value).__name__}")
    elif name == "keys":
        if not isinstance(value, Keys):
            raise TypeError(f"the option keys is zcrp.Keys, as Keys.read makes them, not {type(value).__name__}")
    elif name == "aal5":
        if not isinstance(value, Aal5):
            raise TypeError(f"the option aal5 is zcrp.Aal5, not {type(value).__name__}")
    elif name == "stats_directory":
        _text(value)
    elif name in _CHOICES:
        if value not in _CHOICES[name]:
            raise ArgumentError(f"the option {name} cannot be {value!r}: it is one of {', '.join(_CHOICES[name])}")
    elif name in _TIMES:
        _check_time(name, value)
    else:
        _check_number(name, value, *_RANGES[name])


def _check_time(name: str, value: Any) -> None:
    if isinstance(value, (str, bytes)) or not hasattr(value, "__float__"):
        raise TypeError(f"the option {name} is a number of seconds, not {type(value).__name__}")
    if not 0 <= value <= _MOST and value != _INFINITE:
        raise ArgumentError(f"the option {name} cannot be {value!r}: it is 0 to {_MOST} seconds, or float('inf')")


def _check_number(name: str, value: Any, least: int, most: int) -> None:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"the option {name} is a whole number, not {type(value).__name__}") from None
    if not least <= number <= most:
        raise ArgumentError(f"the option {name} cannot be {number}: it is {least} to {most}")


def _text(path: Union[str, os.PathLike[str]]) -> Any:
    encoded = os.fsencode(path)
    if b"\0" in encoded:
        raise ValueError("a folder's name cannot contain a null character")
    return ffi.new("char[]", encoded)


def native(options: Optional[Options]) -> Any:
    """A struct zcrp_options, or NULL."""
    if options is not None and not isinstance(options, Options):
        raise TypeError(f"options are zcrp.Options, not {type(options).__name__}")
    return ffi.NULL if options is None else options._native()


def native_to_connect(options: Optional[Options], timeout: Optional[float]) -> Any:
    """The same for a caller with a time limit. It alone holds, unless the options say how long to connect."""
    if timeout is None:
        return native(options)
    given = Options() if options is None else options
    if not isinstance(given, Options) or given.connect_timeout is not None:
        return native(given)  # which refuses what are none
    return native(dataclasses.replace(given, connect_timeout=_LONGEST))
