"""Who this side is, and whom it takes.

With keys both ends of a connection know who the other one is, and nobody else can read or change what they send.
Without, whoever reads the path can do all that.
"""
from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Optional, Union

from ._door import check
from ._zcrp import ffi, lib

__all__ = ["Keys"]

Path = Union[str, "os.PathLike[str]"]


#: Whoever uses keys may look one up after the last object of Python that has them is gone, so these are kept.
_lookups: list[Any] = []


@ffi.def_extern(error=0)  # type: ignore[untyped-decorator, unused-ignore]
def look_up_key(context: Any, identity: Any, room: Any, size: int) -> int:
    """Called in a thread of the library's. What the function raises goes to sys.unraisablehook."""
    key = ffi.from_handle(context)(ffi.string(identity).decode(errors="surrogateescape"))
    if key is None:
        return 0
    if not lib.ZCRP_KEYS_PSK_LEAST <= len(key) <= min(size, lib.ZCRP_KEYS_PSK_MOST):
        raise ValueError(f"a pre-shared key cannot have {len(key)} bytes")
    ffi.memmove(room, key, len(key))
    return len(key)


def _name(text: Union[str, Path]) -> bytes:
    encoded = os.fsencode(text)
    if b"\0" in encoded:
        raise ValueError("a name cannot contain a null character")
    return encoded


class Keys:
    """Keys for :class:`zcrp.Options`, made by one of the class methods.

    Keys on means keys only: with a peer that has none, or others, there is no connection, and no byte of data is
    sent (:class:`zcrp.WrongKeys`). Nothing can be added once they are in use.
    """

    def __init__(self, native: Any) -> None:
        self._native = ffi.gc(native, lib.zcrp_keys_free)

    @classmethod
    def read(cls, path: Path) -> Keys:
        """From a file that ``zcrp-keys`` made. :class:`zcrp.Exposed` if others than its owner may read it."""
        made = ffi.new("struct zcrp_keys **")
        check(lib.zcrp_keys_read(made, _name(path)))
        return cls(made[0])

    @classmethod
    def psk(cls, identity: str, key: bytes) -> Keys:
        """A pre-shared key: 32 to 64 random bytes that both ends have and nobody else, and its name."""
        made = ffi.new("struct zcrp_keys **")
        check(lib.zcrp_keys_psk(made, _name(identity), key, len(key)))
        return cls(made[0])

    @classmethod
    def raw(cls, pem: bytes) -> Keys:
        """A secret key in PEM; each peer's public key has to be pinned (:meth:`pin`)."""
        made = ffi.new("struct zcrp_keys **")
        check(lib.zcrp_keys_raw(made, pem, len(pem)))
        return cls(made[0])

    @classmethod
    def certificate(cls, certificate: Path, key: Path, authorities: Path, name: Optional[str] = None) -> Keys:
        """A certificate, its secret key and the authorities that are trusted, as files in PEM, and the name that a
        peer's certificate must have (None: any that these authorities have certified)."""
        made = ffi.new("struct zcrp_keys **")
        check(lib.zcrp_keys_certificate(made, _name(certificate), _name(key), _name(authorities),
                                        ffi.NULL if name is None else _name(name)))
        return cls(made[0])

    def add_psk(self, identity: str, key: bytes) -> None:
        """One more pre-shared key, of a listener."""
        check(lib.zcrp_keys_add_psk(self._native, _name(identity), key, len(key)))

    def set_lookup(self, lookup: Callable[[str], Optional[bytes]]) -> None:
        """Asks this function for the key of each identity that a caller names and a listener does not have.

        It returns the key's 32 to 64 bytes, or None: the caller is refused. So it is if the function raises, which
        ``sys.unraisablehook`` reports. The function runs in a thread of the library's, and holds up all callers of the
        listener that asks, and its close: so it must not close that. It is kept as long as the process lasts.
        """
        handle = ffi.new_handle(lookup)
        _lookups.append(handle)
        check(lib.zcrp_keys_set_lookup(self._native, lib.look_up_key, handle))

    def pin(self, fingerprint: str) -> None:
        """Takes the peer whose public key has this fingerprint: ``sha256:`` and 64 hexadecimal digits."""
        check(lib.zcrp_keys_pin(self._native, _name(fingerprint)))

    def log(self, path: Path) -> None:
        """Appends the secrets of each connection to a file, with which captures of it can be decrypted.
        :class:`zcrp.Exposed` if others than its owner may read it."""
        check(lib.zcrp_keys_log(self._native, _name(path)))

    def __repr__(self) -> str:
        return "<zcrp.Keys>"
