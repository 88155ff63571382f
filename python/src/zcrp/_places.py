"""Hosts and ports: whether they can be any, and why one cannot be connected to or listened at."""
from __future__ import annotations

import operator
import os
import socket
from typing import Any, Optional, Union

from ._zcrp import ffi
from .errors import Address

Host = Optional[str]
Port = Union[int, str]


def _chars(text: str, what: str) -> Any:
    encoded = text.encode()
    if b"\0" in encoded:
        raise ValueError(f"{what} cannot contain a null character")
    return ffi.new("char[]", encoded)


def host_chars(host: Host, is_optional: bool = False) -> Any:
    """A host for the library; NULL is any address of this machine."""
    if host is None and is_optional:
        return ffi.NULL
    if not isinstance(host, str):
        raise TypeError(f"a host is a str, not {type(host).__name__}")
    return _chars(host, "a host")


def port_chars(port: Port) -> Any:
    """A port for the library."""
    if isinstance(port, str):
        return _chars(port, "a port")
    try:
        return _chars(str(operator.index(port)), "a port")
    except TypeError:
        raise TypeError(f"a port is an int or a str, not {type(port).__name__}") from None


def _is_port(port: Port, least: int) -> bool:
    """Is it a number of a port? A name is the resolver's to know."""
    text = str(port)
    if text.strip(" +-0123456789"):
        return True
    return text.isdigit() and least <= int(text) <= 65535


def _where(host: Host, port: Port) -> str:
    return f"port {port}" if host is None else f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _try(found: list[Any], listens: bool) -> Optional[int]:
    """The errno that the last of these addresses meets, or None: one of them does."""
    number: Optional[int] = None
    for family, _, _, _, address in found:
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                (probe.bind if listens else probe.connect)(address)
            return None
        except OSError as error:
            number = error.errno
    return number


def _not_a_place(host: Host, port: Port, least: int) -> Optional[Address]:
    if host == "":
        return Address("the host is empty")
    if not _is_port(port, least):
        return Address(f"{port!r} is not a port: ports are {least} to 65535")
    return None


def check_place(host: str, port: Port) -> None:
    """Raises why nobody can be connected to by these, before the resolver is asked."""
    host_chars(host)
    port_chars(port)
    error = _not_a_place(host, port, 1)
    if error is not None:
        raise error


def unresolved(host: Host, port: Port, error: Exception) -> Address:
    """What the resolver says of a host or a port."""
    return Address(f"{_where(host, port)}: {getattr(error, 'strerror', None) or error}")


def address_error(host: Host, port: Port, listens: bool) -> Optional[Address]:
    """Why the library got no socket there: what is wrong, or the resolver or the system says. None: nothing is wrong,
    by now."""
    error = _not_a_place(host, port, 0 if listens else 1)
    if error is not None:
        return error
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM, flags=socket.AI_PASSIVE if listens else 0)
    except (socket.gaierror, UnicodeError) as failure:
        return unresolved(host, port, failure)
    number = _try(found, listens)
    return None if number is None else Address(number, f"{_where(host, port)}: {os.strerror(number)}")
