"""This side's key, and the peers that it accepts.

With keys each end of a connection knows its peer, and nobody else can read or change what they send.
Without keys, anybody on the path can.
"""
from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from typing import Any, Optional, Union

from ._door import OK, check
from ._zcrp import ffi, lib
from .errors import ArgumentError, BusyError, SystemCallError, file_error

__all__ = ["Keys"]

Path = Union[str, "os.PathLike[str]"]

_LEAST, _MOST, _NAME_MOST = lib.ZCRP_KEYS_PSK_LEAST, lib.ZCRP_KEYS_PSK_MOST, lib.ZCRP_KEYS_IDENTITY_MOST


#: Whoever uses keys may look one up after the last object of Python that has them is gone, so these are kept.
_lookups: list[Any] = []

#: Held while any keys are changed, or come into use. A child has one of its own: the thread that holds its parent's is
#: not there.
_changing = threading.Lock()
os.register_at_fork(after_in_child=lambda: _changing._at_fork_reinit())  # type: ignore[attr-defined]


@ffi.def_extern(error=0)  # type: ignore[untyped-decorator, unused-ignore]
def look_up_key(context: Any, identity: Any, room: Any, size: int) -> int:
    """Called in a thread of the library's. What the function raises goes to sys.unraisablehook."""
    key = ffi.from_handle(context)(ffi.string(identity).decode(errors="surrogateescape"))
    if key is None:
        return 0
    found, length = _secret(key)
    ffi.memmove(room, found, length)
    return length


def _bytes(value: Any, what: str) -> memoryview:
    try:
        return memoryview(value).cast("B")
    except TypeError:
        raise TypeError(f"{what} is bytes, not {type(value).__name__}") from None


def _secret(key: Any) -> tuple[Any, int]:
    """The bytes of a pre-shared key, and how many they are."""
    view = _bytes(key, "a pre-shared key")
    if not _LEAST <= len(view) <= _MOST:
        raise ArgumentError(f"a pre-shared key cannot have {len(view)} bytes: it has {_LEAST} to {_MOST}")
    return ffi.from_buffer(view), len(view)


def _file(path: Any) -> bytes:
    encoded = os.fsencode(path)
    if b"\0" in encoded:
        raise ValueError("a file's name cannot contain a null character")
    return encoded


def _name(name: Any, what: str) -> bytes:
    """A name of a peer, or of a key."""
    if not isinstance(name, str):
        raise TypeError(f"{what} is a str, not {type(name).__name__}")
    encoded = name.encode(errors="surrogateescape")
    if b"\0" in encoded:
        raise ValueError(f"{what} cannot contain a null character")
    if not 1 <= len(encoded) <= _NAME_MOST:
        raise ArgumentError(f"{what} cannot have {len(encoded)} bytes: it has 1 to {_NAME_MOST}")
    return encoded


def _check(code: int, complaint: str) -> None:
    """Raises the error of a code; what ARGUMENT means is known here."""
    if code == ArgumentError.code:
        raise ArgumentError(complaint)
    check(code)


def _unreadable(path: bytes) -> Optional[SystemCallError]:
    """Why a file cannot be read, if it cannot."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            os.read(descriptor, 1)
        finally:
            os.close(descriptor)
    except OSError as error:
        return SystemCallError(error.errno, error.strerror, os.fsdecode(path))
    return None


class Keys:
    """Keys for :class:`zcrp.Options`, made by one of the class methods.

    With keys, a peer that has no keys, or other keys, gets no connection and no byte of data
    (:class:`zcrp.AuthenticationError`). Once you have connected or listened with keys, you cannot change them
    (:class:`zcrp.BusyError`).

    A file that is missing is a :class:`FileNotFoundError`, with its ``filename``; one that others than its owner may
    read is :class:`zcrp.ExposedKeyError`, a :class:`PermissionError`.
    """

    def __init__(self, native: Any) -> None:
        if not isinstance(native, ffi.CData):
            raise TypeError("keys are made by Keys.read, Keys.psk, Keys.raw or Keys.certificate")
        self._native = ffi.gc(native, lib.zcrp_keys_free)
        self._is_used = False

    def _use(self) -> Any:
        """The library's keys, for connections and listeners: their handshakes read them in other threads."""
        with _changing:
            self._is_used = True
        return self._native

    def _change(self, call: Callable[..., int], *arguments: Any) -> int:
        with _changing:
            if self._is_used:
                raise BusyError("the keys are in use, so they cannot be changed any more")
            return call(self._native, *arguments)

    @classmethod
    def read(cls, path: Path) -> Keys:
        """From a file that ``zcrp-keys`` made. :class:`zcrp.ExposedKeyError` if others than its owner may read it."""
        made, name = ffi.new("struct zcrp_keys **"), _file(path)
        code = lib.zcrp_keys_read(made, name)
        if code != OK:
            raise file_error(code, os.fsdecode(name), "a key file as zcrp-keys makes it")
        return cls(made[0])

    @classmethod
    def psk(cls, identity: str, key: bytes) -> Keys:
        """A pre-shared key: 32 to 64 random bytes that both ends have and nobody else, and its name."""
        made = ffi.new("struct zcrp_keys **")
        check(lib.zcrp_keys_psk(made, _name(identity, "an identity"), *_secret(key)))
        return cls(made[0])

    @classmethod
    def raw(cls, pem: bytes) -> Keys:
        """A secret key in PEM; each peer's public key has to be pinned (:meth:`pin`)."""
        made, view = ffi.new("struct zcrp_keys **"), _bytes(pem, "a secret key in PEM")
        _check(lib.zcrp_keys_raw(made, ffi.from_buffer(view), len(view)),
               "this is no secret key in PEM, or none of a kind and size that peers take")
        return cls(made[0])

    @classmethod
    def certificate(cls, certificate: Path, key: Path, authorities: Path, name: Optional[str] = None) -> Keys:
        """A certificate, its secret key and the authorities that are trusted, as files in PEM, and the name that a
        peer's certificate must have (None: any that these authorities have certified)."""
        made, files = ffi.new("struct zcrp_keys **"), [_file(path) for path in (certificate, key, authorities)]
        code = lib.zcrp_keys_certificate(made, *files, ffi.NULL if name is None else _name(name, "a name"))
        if code != OK:
            for file in files:
                unreadable = _unreadable(file)
                if unreadable is not None:
                    raise unreadable
            names = [os.fsdecode(file) for file in files]
            if code == ArgumentError.code:
                raise ArgumentError("{!r} is no certificate in PEM with the key {!r}, or has more than 11,000 bytes in DER, "
                                    "or {!r} has no authorities".format(*names))
            raise file_error(code, names[1], "a secret key")
        return cls(made[0])

    def add_psk(self, identity: str, key: bytes) -> None:
        """One more pre-shared key, of a listener."""
        _check(self._change(lib.zcrp_keys_add_psk, _name(identity, "an identity"), *_secret(key)),
               "only keys of Keys.psk, or of a file with such a key, can have more")

    def set_lookup(self, lookup: Callable[[str], Optional[bytes]]) -> None:
        """Asks this function for the key of each identity that a caller names and a listener does not have.

        It returns the key's 32 to 64 bytes, or None, which refuses the caller. An exception refuses the caller, too,
        and ``sys.unraisablehook`` reports it. The function runs in a thread of the library's. Meanwhile all callers
        of the listener wait, and its close waits, so the function must not close the listener. It is kept until the
        process ends.
        """
        if not callable(lookup):
            raise TypeError(f"a lookup is a function, not {type(lookup).__name__}")
        handle = ffi.new_handle(lookup)
        _lookups.append(handle)
        _check(self._change(lib.zcrp_keys_set_lookup, lib.look_up_key, handle),
               "only keys of Keys.psk, or of a file with such a key, are looked up")

    def pin(self, fingerprint: str) -> None:
        """Accepts the peer whose public key has this fingerprint: ``sha256:`` and 64 hexadecimal digits."""
        name = _name(fingerprint, "a fingerprint")
        if not re.fullmatch("(sha256:)?[0-9a-fA-F]{64}", fingerprint):
            raise ArgumentError(f"a fingerprint is sha256: and 64 hexadecimal digits, not {fingerprint!r}")
        _check(self._change(lib.zcrp_keys_pin, name), "only keys of Keys.raw, or of a file with such a key, pin others")

    def log(self, path: Path) -> None:
        """Appends the secrets of each connection to a file, with which captures of it can be decrypted.
        :class:`zcrp.ExposedKeyError` if others than its owner may read it."""
        name = _file(path)
        code = self._change(lib.zcrp_keys_log, name)
        if code != OK:
            raise file_error(code, os.fsdecode(name), "a regular file")

    def __repr__(self) -> str:
        return "<zcrp.Keys>"
