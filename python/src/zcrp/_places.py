"""Hosts and ports, and how the library takes them. What is wrong with one the library says."""
from __future__ import annotations

import errno
import operator
from typing import Any, Optional, Union

from ._zcrp import ffi
from .errors import AddressError

Host = Optional[str]
Port = Union[int, str]


def _chars(text: bytes, what: str) -> Any:
    if b"\0" in text:
        raise ValueError(f"{what} cannot contain a null character")
    return ffi.new("char[]", text)


def _ascii(host: str) -> bytes:
    """A name for the resolver, which takes no other characters."""
    try:
        return host.encode("ascii" if host.isascii() else "idna")
    except UnicodeError as error:
        raise AddressError(errno.ENOENT, f"cannot resolve host {host!r}: {error}") from None


def host_chars(host: Host, is_optional: bool = False) -> Any:
    """A host for the library; NULL is any address of this machine."""
    if host is None and is_optional:
        return ffi.NULL
    if not isinstance(host, str):
        raise TypeError(f"a host is a str, not {type(host).__name__}")
    return _chars(_ascii(host), "a host")


def port_chars(port: Port) -> Any:
    """A port for the library."""
    if isinstance(port, str):
        return _chars(port.encode(), "a port")
    try:
        return _chars(str(operator.index(port)).encode(), "a port")
    except TypeError:
        raise TypeError(f"a port is an int or a str, not {type(port).__name__}") from None
