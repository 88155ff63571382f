"""How connections are to behave: the options of ``zcrp.h``, with seconds for times."""
from __future__ import annotations

import dataclasses
import os
import weakref
from typing import Any, Literal, Optional, Union

from ._zcrp import ffi, lib
from .keys import Keys

_NS = 1_000_000_000
_LONGEST = (1 << 62) // _NS  # seconds; no time limit of the library's is longer
_TIMES = {"silence", "linger", "spin", "connect", "progress"}
_FLAGS = {"segment": lib.ZCRP_NO_SEGMENT, "gro": lib.ZCRP_NO_GRO, "ecn": lib.ZCRP_NO_ECN,
          "memory": lib.ZCRP_NO_MEMORY}

#: The texts that a struct zcrp_options points to live as long as it does.
_texts: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


@dataclasses.dataclass(frozen=True)
class Options:
    """Options of a connection, or of all connections of a listener. ``None`` is the library's default.

    A value that is out of its range is a :class:`ValueError`.
    """

    #: Largest datagram of the path, 64 to 65507 bytes.
    unit_bytes: Optional[int] = None
    #: Messages under way at once; more may be posted, and wait for their turn.
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
    #: Seconds that a waiter polls before it sleeps; 0: it does not. Default 50 microseconds.
    spin: Optional[float] = None
    #: Socket buffers to ask the kernel for, in bytes.
    send_buffer: Optional[int] = None
    receive_buffer: Optional[int] = None
    congestion: Optional[Literal["bbr", "cubic", "reno", "none"]] = None
    channel: Optional[Literal["auto", "datagram", "aal5", "memory"]] = None
    #: What may be used: UDP_SEGMENT, UDP_GRO, congestion marks, and the memory of a peer on this host.
    segment: bool = True
    gro: bool = True
    ecn: bool = True
    memory: bool = True
    #: Who this side is, and whom it takes. None: nobody knows, and whoever reads the path reads everything.
    keys: Optional[Keys] = None
    #: Of a listener: connections at once, and callers that were not accepted yet.
    connections: Optional[int] = None
    backlog: Optional[int] = None
    #: Bytes of memory for buffers that a peer on this host may map (:meth:`Connection.allocate`). Default 0.
    mapped_bytes: Optional[int] = None
    #: The folder in which this process offers its statistics to ``zcrp-top``; ``"1"``: the usual one. The folder of the
    #: first connection or listener counts. ``ZCRP_STATS`` in the environment overrules it. None: they are not offered.
    stats_directory: Union[str, os.PathLike[str], None] = None

    def _native(self) -> Any:
        native = ffi.new("struct zcrp_options *")
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name in _FLAGS:
                native.flags |= 0 if value else _FLAGS[field.name]
            elif field.name == "keys":
                native.keys = ffi.NULL if value is None else value._native
            elif field.name == "stats_directory" and value is not None:
                native.stats_directory = _texts[native] = _text(value)
            elif value is not None:
                self._set(native, field.name, value)
        return native

    def _set(self, native: Any, name: str, value: Any) -> None:
        try:
            if name in ("congestion", "channel"):
                value = getattr(lib, f"ZCRP_{name.upper()}_{value.upper()}")
            elif name in _TIMES:
                value = max(1, round(value * _NS)) if value >= 0 else -1
                name += "_ns"
            setattr(native, name, value)
        except (AttributeError, OverflowError, ValueError):
            raise ValueError(f"the option {name} cannot be {value!r}") from None
        if value == -1:
            raise ValueError(f"the option {name} cannot be negative")


def _text(path: Union[str, os.PathLike[str]]) -> Any:
    encoded = os.fsencode(path)
    if b"\0" in encoded:
        raise ValueError("a folder's name cannot contain a null character")
    return ffi.new("char[]", encoded)


def native(options: Optional[Options]) -> Any:
    """A struct zcrp_options, or NULL."""
    return ffi.NULL if options is None else options._native()


def native_to_connect(options: Optional[Options], timeout: Optional[float]) -> Any:
    """The same for a caller with a time limit. It alone holds, unless the options say how long to connect."""
    if timeout is None or (options is not None and options.connect is not None):
        return native(options)
    return native(dataclasses.replace(options or Options(), connect=_LONGEST))
