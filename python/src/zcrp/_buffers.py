"""Memory of Python objects as the library wants it: an address and a size, held as long as it is needed."""
from __future__ import annotations

import ctypes
import operator
import re
from typing import Any, Union

from ._zcrp import ffi, lib
from .errors import ArgumentError

try:
    from collections.abc import Buffer  # type: ignore[attr-defined, unused-ignore]
except ImportError:  # before Python 3.12
    Buffer = Any  # type: ignore[misc, assignment, unused-ignore]

__all__ = ["SIZE_MOST", "Buffer", "Buffers", "Export", "Pieces", "blank", "readable", "readable_or_pieces", "release",
           "whole", "writable", "writable_or_pieces"]


class Pieces:
    """Memory of one message that lies in several places."""

    __slots__ = ("_exports", "count", "vector")

    def __init__(self, exports: list[tuple[Any, int]]) -> None:
        if len(exports) > _PIECES_MOST:
            raise ArgumentError(f"a message cannot have {len(exports)} pieces: it has up to {_PIECES_MOST}")
        self._exports, self.count = exports, len(exports)
        self.vector = ffi.new("struct iovec[]", exports)

    def release(self) -> None:
        for pointer, _ in self._exports:
            ffi.release(pointer)


#: A cffi object that holds the buffer, and its size in bytes; or several of them.
Export = Union[tuple[Any, int], Pieces]

#: What a message lies in: a buffer, or a list or tuple of buffers, its pieces.
Buffers = Union[Buffer, list[Buffer], tuple[Buffer, ...]]

#: Bytes of the largest memory that there can be.
SIZE_MOST = (1 << 63) - 1

#: From this size on it is worth a call to leave memory as it is.
_BLANK_BYTES = 1 << 14

_PIECES_MOST: int = lib.ZCRP_PIECES_MOST

_from_buffer = ffi.from_buffer
_new_bytearray = ctypes.pythonapi.PyByteArray_FromStringAndSize
_new_bytearray.restype = ctypes.py_object
_new_bytearray.argtypes = [ctypes.c_char_p, ctypes.c_ssize_t]


def _view(buffer: Any) -> memoryview:
    try:
        view = memoryview(buffer)
    except TypeError:
        raise TypeError("a message needs a buffer (bytes, bytearray, memoryview, NumPy array, mmap, or what a "
                        f"tensor's numpy() gives), not {type(buffer).__name__}") from None
    except ValueError as error:
        raise BufferError(f"the buffer cannot be used: {error}") from None
    if not view.c_contiguous:
        raise BufferError("the buffer is not contiguous (use a copy, or a Fortran array's .T)")
    if "O" in view.format and "O" in re.sub(":[^:]*:", "", view.format):
        raise BufferError("the buffer holds references to Python objects, which mean nothing elsewhere")
    return view


def readable(buffer: Union[Buffer, bytes]) -> tuple[Any, int]:
    """Memory to send."""
    if type(buffer) is bytes:
        return _from_buffer(buffer), len(buffer)
    view = _view(buffer)
    return _from_buffer(view), view.nbytes


def writable(buffer: Buffer) -> tuple[Any, int]:
    """Memory to receive into."""
    if type(buffer) is bytearray:
        return _from_buffer(buffer), len(buffer)
    view = _view(buffer)
    if view.readonly:
        raise BufferError("the buffer is read-only, so nothing can be received into it")
    return _from_buffer(view), view.nbytes


def readable_or_pieces(buffers: Union[Buffers, bytes]) -> Export:
    """Memory to send, also of a list or a tuple of buffers."""
    if type(buffers) is list or type(buffers) is tuple:
        return Pieces([readable(buffer) for buffer in buffers])
    return readable(buffers)


def writable_or_pieces(buffers: Buffers) -> Export:
    """The same to receive into."""
    if type(buffers) is list or type(buffers) is tuple:
        return Pieces([writable(buffer) for buffer in buffers])
    return writable(buffers)


def release(export: Export) -> None:
    """Releases what a traceback would hold."""
    if isinstance(export, tuple):
        ffi.release(export[0])
    else:
        export.release()


def whole(number: Any, what: str) -> int:
    """A whole number of a caller's that is not negative."""
    try:
        found = operator.index(number)
    except TypeError:
        raise TypeError(f"{what} is a whole number, not {type(number).__name__}") from None
    if found < 0:
        raise ArgumentError(f"{what} cannot be {found}")
    return found


def blank(size: int) -> bytearray:
    """A bytearray to receive into. If it is large, it holds anything: nobody has written zeros first."""
    if size < _BLANK_BYTES:
        return bytearray(size)
    if size > SIZE_MOST:
        raise MemoryError(f"there is no room for {size} bytes")
    data: bytearray = _new_bytearray(None, size)
    return data
