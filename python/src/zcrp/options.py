"""Options of connections: the options of ``zcrp.h``, with times in seconds."""
from __future__ import annotations

import dataclasses
import operator
import os
import weakref
from typing import Any, Literal, Optional, Union, get_args

from ._zcrp import ffi, lib
from .errors import Argument
from .keys import Keys

Congestion = Literal["bbr", "cubic", "reno", "none"]
Channel = Literal["auto", "datagram", "aal5", "memory"]

_NS = 1_000_000_000
_LONGEST = (1 << 62) // _NS  # seconds; no time limit of the library's is longer
_MOST = ((1 << 63) - 1) // _NS  # seconds that can be said
_TIMES = {"silence", "linger", "spin", "connect", "progress", "keepalive"}
#: The least and the most, as zcrp.h states them.
_RANGES = {"unit_bytes": (64, 65507), "messages": (1, 1 << 20), "window_bytes": (1, (1 << 64) - 1),
           "send_buffer": (1, (1 << 32) - 1), "receive_buffer": (1, (1 << 32) - 1), "connections": (1, 1 << 20),
           "backlog": (1, 1 << 20), "mapped_bytes": (0, 1 << 44)}
_CHOICES = {"congestion": get_args(Congestion), "channel": get_args(Channel)}
_FLAGS = {"segment": lib.ZCRP_NO_SEGMENT, "gro": lib.ZCRP_NO_GRO, "ecn": lib.ZCRP_NO_ECN,
          "memory": lib.ZCRP_NO_MEMORY}

#: The texts that a struct zcrp_options points to live as long as it does.
_texts: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


@dataclasses.dataclass(frozen=True)
class Options:
    """Options of a connection, or of all connections of a listener. ``None`` is the library's default.

    The constructor checks each value: a value out of its range raises :class:`zcrp.Argument`, a :class:`ValueError`,
    and a value of another type a :class:`TypeError`.
    """

    #: Largest datagram of the path, 64 to 65507 bytes.
    unit_bytes: Optional[int] = None
    #: Messages under way at once, 1 to 2^20; more may be posted, and wait for their turn.
    messages: Optional[int] = None
    #: Most that is sent without an acknowledgement.
    window_bytes: Optional[int] = None
    #: Seconds without a sign of life after which the peer is given up. Default 30.
    silence: Optional[float] = None
    #: Seconds that a close waits without a new acknowledgement. Default 5.
    linger: Optional[float] = None
    #: Seconds to connect in. Default 5.
    connect: Optional[float] = None
    #: Seconds after which a peer is given up that acknowledges nothing. Default 30.
    progress: Optional[float] = None
    #: Seconds without anything to send after which each end of a connection says that it is there. Default 5.
    keepalive: Optional[float] = None
    #: Seconds that a waiter polls before it sleeps; 0: it does not. Default 50 microseconds.
    spin: Optional[float] = None
    #: Socket buffers to ask the kernel for, in bytes.
    send_buffer: Optional[int] = None
    receive_buffer: Optional[int] = None
    congestion: Optional[Congestion] = None
    channel: Optional[Channel] = None
    #: What may be used: UDP_SEGMENT, UDP_GRO, congestion marks, and the memory of a peer on this host.
    segment: bool = True
    gro: bool = True
    ecn: bool = True
    memory: bool = True
    #: This side's key, and the peers that it accepts. None: no encryption, and no authentication.
    keys: Optional[Keys] = None
    #: For a listener: connections at once, and callers that were not accepted yet, 1 to 2^20.
    connections: Optional[int] = None
    backlog: Optional[int] = None
    #: Bytes of memory for buffers that a peer on this host may map (:meth:`Connection.allocate`), to 2^44. Default 0.
    mapped_bytes: Optional[int] = None
    #: The folder in which this process offers its statistics to ``zcrp-top``; ``"1"``: the usual one. The folder of the
    #: first connection or listener counts. ``ZCRP_STATS`` in the environment overrules it. None: they are not offered.
    stats_directory: Union[str, os.PathLike[str], None] = None

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None or field.name in _FLAGS:
                _check(field.name, value)

    def _native(self) -> Any:
        native = ffi.new("struct zcrp_options *")
        for field in dataclasses.fields(self):
            name, value = field.name, getattr(self, field.name)
            if name in _FLAGS:
                native.flags |= 0 if value else _FLAGS[name]
            elif value is None:
                continue
            elif name == "keys":
                native.keys = value._native
            elif name == "stats_directory":
                native.stats_directory = _texts[native] = _text(value)
            elif name in _CHOICES:
                setattr(native, name, getattr(lib, f"ZCRP_{name.upper()}_{value.upper()}"))
            elif name in _TIMES:
                setattr(native, name + "_ns", max(1, round(value * _NS)))
            else:
                setattr(native, name, operator.index(value))
        return native


def _check(name: str, value: Any) -> None:
    """Raises what is wrong with the value of an option."""
    if name in _FLAGS:
        if not isinstance(value, bool):
            raise TypeError(f"the option {name} is a bool, not {type(value).__name__}")
    elif name == "keys":
        if not isinstance(value, Keys):
            raise TypeError(f"the option keys is zcrp.Keys, as Keys.read makes them, not {type(value).__name__}")
    elif name == "stats_directory":
        _text(value)
    elif name in _CHOICES:
        if value not in _CHOICES[name]:
            raise Argument(f"the option {name} cannot be {value!r}: it is one of {', '.join(_CHOICES[name])}")
    elif name in _TIMES:
        _check_time(name, value)
    else:
        _check_number(name, value)


def _check_time(name: str, value: Any) -> None:
    if isinstance(value, (str, bytes)) or not hasattr(value, "__float__"):
        raise TypeError(f"the option {name} is a number of seconds, not {type(value).__name__}")
    if not 0 <= value <= _MOST:
        raise Argument(f"the option {name} cannot be {value!r}: it is 0 to {_MOST} seconds")


def _check_number(name: str, value: Any) -> None:
    least, most = _RANGES[name]
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"the option {name} is a whole number, not {type(value).__name__}") from None
    if not least <= number <= most:
        raise Argument(f"the option {name} cannot be {number}: it is {least} to {most}")


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
    if not isinstance(given, Options) or given.connect is not None:
        return native(given)  # which refuses what are none
    return native(dataclasses.replace(given, connect=_LONGEST))
