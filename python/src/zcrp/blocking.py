"""Connections whose calls wait. :mod:`zcrp.asyncio` has connections whose calls you await."""
from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Optional, Union

from . import _door
from ._buffers import (Buffer, Buffers, Export, blank, readable, readable_or_pieces, whole, writable,
                       writable_or_pieces)
from ._door import OK, RECEIVER, SENDER, SLICE_NS, TIMEOUT, Handle, error_of_message
from ._zcrp import ffi, lib
from .errors import ClosedError, EndOfStreamError, Error, ForkedError, error_of, error_of_receive, over_limit
from .options import Options, native, native_to_connect

__all__ = ["Batch", "Connection", "Listener", "ListenerStatistics", "Message", "Statistics", "connect", "listen",
           "wait"]


_post_end = lib.door_post_end


class Statistics(NamedTuple):
    """The counters of both halves of a connection, by the names of ``ZCRP_STATS`` in ``zcrp.h``."""

    sender: dict[str, int]
    """What this end has sent."""
    receiver: dict[str, int]
    """What this end has received."""


class ListenerStatistics(NamedTuple):
    """The counters of a listener."""

    admitted: int
    """Callers whose connections came into the backlog."""
    dropped: int
    """Times that a caller found no room, or that its connection was not accepted in time."""
    connections: int
    """Connections now: in the backlog, or accepted and not closed yet."""
    refused: int
    """Callers whose key is not accepted here."""


class _Posted:
    """Messages in flight. Keeps the connection."""

    __slots__ = ("_connection", "_half", "_number", "_post")

    _connection: Connection
    _half: int
    _number: int
    _post: Any

    @property
    def done(self) -> bool:
        """Has it ended, well or not?"""
        return bool(lib.door_post_is_over(self._post))

    def cancel(self) -> bool:
        """Cancels it: the buffer is yours again when this returns. False if it had ended before.

        The peer's message, or buffer, fails with :class:`PeerCancelledError`. If a peer on this host is stopped while
        it writes to the buffer, the call waits until the peer goes on.
        """
        return self._connection._handle.take_back(self._half, self._number, self._post)


def results(half: int, post: Any, count: int) -> list[int]:
    """The lengths of messages that have ended, or the error of the first that failed."""
    if count == 1:
        end: int = lib.door_post_end(post, 0)
        if end < 0:
            raise error_of_message(half, end, lib.door_post_length(post, 0))
        return [end]
    lengths = ffi.new("uint64_t[]", count)
    code = lib.door_post_result(post, lengths)
    if code != OK:
        index = next(i for i in range(count) if lib.door_post_code(post, i) == code)
        raise error_of_message(half, code, lengths[index], index)
    return list(ffi.unpack(lengths, count)) if count else []


class Message(_Posted):
    """A message in flight. Its buffer is the library's until it has ended.

    You need not keep it: the message goes on, and its buffer is held.
    """

    __slots__ = ()

    def __init__(self, connection: Connection, half: int, export: Export) -> None:
        handle = connection._handle
        if handle.posted[half]:
            handle.reap(half)
        self._connection = connection
        handle.post_one(half, export, self)

    def _error(self) -> Optional[Error]:
        """Why it failed, once it has ended."""
        code = lib.door_post_code(self._post, 0)
        return None if code == OK else error_of_message(self._half, code, lib.door_post_length(self._post, 0))

    def __del__(self) -> None:
        """The post is used again if the message has ended: nobody is left that could ask for it."""
        if hasattr(self, "_post") and self._number not in self._connection._handle.held[self._half]:
            self._connection._handle.give_post(self._post)

    def wait(self, timeout: Optional[float] = None) -> int:
        """Waits until the message has ended, and returns the number of bytes that were sent or received.

        Raises the :class:`Error` that the message ended with. After :class:`CallTimeoutError`, or if a signal's
        exception ends the wait, the message is still in flight.
        """
        limit = -1 if timeout is None else _door.limit_ns(timeout)
        try:
            end: int = _post_end(self._post, SLICE_NS if limit < 0 else min(limit, SLICE_NS))
            if end == TIMEOUT:
                end = Handle.go_on(self._post, limit)
        except KeyboardInterrupt as interrupt:
            raise _door.brief(interrupt)
        if end != TIMEOUT:
            self._connection._handle.release(self._half, self._number)
        if end < 0:
            raise error_of_message(self._half, end, lib.door_post_length(self._post, 0))
        return end


class Batch(_Posted):
    """The messages that one call has posted."""

    __slots__ = ("_count",)

    def __init__(self, connection: Connection, half: int, exports: Sequence[Export]) -> None:
        handle = connection._handle
        handle.reap(half)
        self._connection, self._count = connection, len(exports)
        handle.post(half, exports, self)

    def __len__(self) -> int:
        return self._count

    def wait(self, timeout: Optional[float] = None) -> list[int]:
        """Waits until all messages have ended, and returns the number of bytes of each.

        Raises the :class:`Error` of the first that failed; its ``index`` says which. :meth:`errors` has all of them.
        """
        limit = _door.limit_ns(timeout)
        try:
            code = _door.in_slices(lambda slice_ns: int(lib.door_post_wait(self._post, slice_ns)), limit)
        except KeyboardInterrupt as interrupt:
            raise _door.brief(interrupt)
        if code == TIMEOUT:
            raise error_of(code)
        self._connection._handle.release(self._half, self._number)
        return results(self._half, self._post, self._count)

    def _error(self) -> Optional[Error]:
        """Why the first that failed did, once all have ended."""
        return next((error for error in self.errors() if error is not None), None)

    def errors(self) -> list[Optional[Error]]:
        """Why each failed; None for those that ended well, or have not ended."""
        codes = [lib.door_post_code(self._post, i) for i in range(self._count)]
        lengths = [lib.door_post_length(self._post, i) for i in range(self._count)]
        return [None if code in (OK, _door.BUSY) else error_of_message(self._half, code, lengths[i], i)
                for i, code in enumerate(codes)]


def wait(posted: Iterable[Union[Message, Batch]], timeout: Optional[float] = None) -> list[Union[Message, Batch]]:
    """Waits until any of these messages and batches has ended, and returns those that have. They may be of different
    connections.

    After the time limit the list is empty.
    """
    all_posted = list(posted)
    if not all_posted:
        raise ValueError("there is nothing to wait for")
    for one in all_posted:
        if not isinstance(one, _Posted):
            raise TypeError(f"a message or a batch can be waited for here, not {type(one).__name__}")
    posts, limit = ffi.new("struct door_post *[]", [one._post for one in all_posted]), _door.limit_ns(timeout)
    try:
        code = _door.in_slices(lambda slice_ns: int(lib.door_wait_any(posts, len(all_posted), slice_ns)), limit)
    except KeyboardInterrupt as interrupt:
        raise _door.brief(interrupt)
    if code != TIMEOUT:
        _door.check(code)
    return [one for one in all_posted if one.done]


def _leave(opened: Union[Connection, Listener], error: Optional[BaseException]) -> None:
    """Closes at the end of a with block. Ctrl-C there, once more, adds nothing to the first one."""
    try:
        opened.close()
    except KeyboardInterrupt as interrupt:
        if not isinstance(error, KeyboardInterrupt):
            raise _door.brief(interrupt)


class Connection:
    """A connection to a peer. Messages go both ways; any thread may call at any time.

    The n-th message that one end sends lands in the n-th buffer that the other end posts. Ctrl-C ends each call that
    waits, as every exception of a signal handler does.

    If you drop a connection without :meth:`close`, its messages in flight are cancelled, with a warning.
    """

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        handle.keep()
        self._receiving = threading.RLock()
        self.peer = handle.address(lib.door_connection_peer)
        """The peer's address and port: ``192.0.2.1:7000``, ``[2001:db8::1]:7000``."""
        self.local = handle.address(lib.door_connection_local)
        """This end's address and port."""

    # ---- messages

    def send(self, buffer: Buffers, timeout: Optional[float] = None) -> None:
        """Sends a message, and waits until the peer has it. A list or a tuple of up to 1,024 buffers is one message,
        gathered from all of them; calls that receive take such a list, too, and fill one buffer after the other.

        The peer has to post a buffer for it. If the time limit passes, or a signal's exception ends the wait, the
        message is cancelled.
        """
        try:
            self._handle.pass_one(SENDER, readable_or_pieces(buffer), timeout)
        except KeyboardInterrupt as interrupt:
            raise _door.brief(interrupt)

    def receive_into(self, buffer: Buffers, timeout: Optional[float] = None) -> int:
        """Waits for the next message, which lands in the buffer, and returns its number of bytes.
        :class:`EndOfStreamError`: the peer has closed, and there is no next message.

        A message that is larger than the buffer fails at both ends (:class:`TooLargeError`, whose ``size`` is the
        message's). If the time limit passes, or a signal's exception ends the wait, the buffer is cancelled; the
        peer's message for it fails, even if the peer sends it later. To wait in several calls, use
        :meth:`post_receive`, and wait for the message that it returns.
        """
        try:
            return self._handle.pass_one(RECEIVER, writable_or_pieces(buffer), timeout)
        except KeyboardInterrupt as interrupt:
            raise _door.brief(interrupt)

    def receive(self, timeout: Optional[float] = None, limit: Optional[int] = None) -> bytearray:
        """Waits for the next message, of any size. It asks the peer for the size first, which costs a round trip.

        If the time limit passes before the size has come, no message is lost: the next call gets it. If the limit passes
        later, the message is cancelled, and fails at the peer, too. A limit of 0 leaves the message itself no time: give
        a longer one, or post a buffer.

        No other thread may post buffers meanwhile: one could take the message whose size has come. The next message, if
        it is larger, then fails at both ends.

        A message of more than ``limit`` bytes stays with the peer: :class:`TooLargeError`. Give a limit if you do not
        trust the peer. :class:`EndOfStreamError`: the peer has closed, and there is no next message.
        """
        started = time.monotonic()
        size = ffi.new("uint64_t *")
        _door.limit_ns(timeout)
        most = None if limit is None else whole(limit, "a limit")

        def left() -> Optional[float]:
            return None if timeout is None else max(0.0, timeout - (time.monotonic() - started))

        self._check_here()
        try:
            if not self._receiving.acquire(timeout=-1 if timeout is None else min(timeout, threading.TIMEOUT_MAX)):
                raise error_of(TIMEOUT)
            code = _door.in_slices(lambda slice_ns: int(lib.door_expect(self._handle.door, size, slice_ns)),
                                   _door.limit_ns(left()))
            if code != OK:
                raise error_of_receive(code)
            if most is not None and size[0] > most:
                raise over_limit(size[0], most)
            data = blank(size[0])
            length = self.receive_into(data, left())
        except KeyboardInterrupt as interrupt:
            raise _door.brief(interrupt)
        finally:  # a signal's exception may come just before or behind the acquire
            if self._receiving._is_owned():  # type: ignore[attr-defined, unused-ignore]
                self._receiving.release()
        if length < len(data):
            del data[length:]
        return data

    def receive_first(self, index: int = 0, timeout: Optional[float] = None) -> bytearray:
        """Waits for the caller's first message, or another one by its number, that lands in a buffer of
        ``Options.first_messages``, and returns a copy.

        For connections of a listener with this option. Buffers that you post yourself are for the messages behind
        these. :class:`IndexError`: there is no such buffer. :class:`TooLargeError`: the message has more than
        ``Options.first_bytes``.
        """
        try:
            message = self._handle.first(index, _door.limit_ns(timeout))
        except KeyboardInterrupt as interrupt:
            raise _door.brief(interrupt)
        if message is None:
            raise error_of(TIMEOUT)
        return message

    def messages(self, limit: Optional[int] = None) -> Iterator[bytearray]:
        """Iterates over the messages, each as :meth:`receive` returns it, until the peer closes. A loop over the
        connection does the same: ``for message in connection``."""
        while True:
            try:
                message = self.receive(limit=limit)
            except EndOfStreamError:
                return
            yield message

    def __iter__(self) -> Iterator[bytearray]:
        return self.messages()

    def post_send(self, buffer: Buffers) -> Message:
        """Sends a message, and returns at once. The buffer must not change before the message has ended."""
        return Message(self, SENDER, readable_or_pieces(buffer))

    def post_receive(self, buffer: Buffers) -> Message:
        """Posts a buffer for the next message that has no buffer yet, and returns at once."""
        return Message(self, RECEIVER, writable_or_pieces(buffer))

    def post_send_batch(self, buffers: Iterable[Buffer]) -> Batch:
        """Sends a message for each buffer, and returns at once. All are posted, or none."""
        return Batch(self, SENDER, [readable(buffer) for buffer in buffers])

    def post_receive_batch(self, buffers: Iterable[Buffer]) -> Batch:
        """Posts buffers for the next messages, in their order, and returns at once. All are posted, or none."""
        return Batch(self, RECEIVER, [writable(buffer) for buffer in buffers])

    def send_copy(self, buffer: Buffer) -> None:
        """Sends a copy of up to 16 KiB, as one message, and returns at once: the buffer may change.

        Nothing reports its end, and copies that are under way when the peer is lost are lost. Use it for answers and
        control messages. :class:`BusyError`: there is no room, because 1 MiB of copies are under way.
        :class:`SizeError`: the message is larger than 16 KiB.
        """
        self._handle.send_copy(readable(buffer))

    def allocate(self, size: int) -> memoryview:
        """A buffer that a peer on this host may map, so that messages from one such buffer into another take one
        copy without a system call. ``numpy.frombuffer`` makes an array of it.

        The buffer comes from the memory that ``Options.mapped_bytes`` has set aside. If that does not suffice, or the
        peer is on another host, it is ordinary memory. You may use it after :meth:`close`. It is not cleared, and
        may hold anything.

        A peer of this user on this host can read all of the memory set aside, at any time, and write none of it.
        """
        return self._handle.allocate(size)

    def _check_here(self) -> None:
        """Raises ForkedError in a child, where the lock may be held for ever, and ClosedError."""
        code = lib.door_connection_status(self._handle.door)
        if code in (ForkedError.code, ClosedError.code):
            raise error_of(code)

    # ---- the connection

    def status(self) -> Optional[Error]:
        """None while the peer is there, or why the connection has ended."""
        code = lib.door_connection_status(self._handle.door)
        return None if code in (OK, _door.BUSY) else error_of(code)

    def identity(self) -> Optional[str]:
        """The peer's authenticated identity: the name of its pre-shared key, or the fingerprint of its public
        key. None without keys."""
        return self._handle.identity()

    def statistics(self) -> Statistics:
        """The counters so far."""
        return Statistics(self._handle.statistics(SENDER), self._handle.statistics(RECEIVER))

    def close(self) -> bool:
        """Waits until all that was sent is acknowledged, and closes. True if the peer has confirmed.

        It gives up after ``Options.linger`` seconds (5) without a new acknowledgement, and returns False.
        Messages that are still in flight then fail with :class:`ClosedError`. Ctrl-C cancels them. A second close does
        nothing.
        """
        try:
            return self._handle.close()
        except KeyboardInterrupt as interrupt:
            raise _door.brief(interrupt)

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        _leave(self, error)

    def _name(self) -> str:
        return f"zcrp.Connection from {self.local} to {self.peer}"

    def __repr__(self) -> str:
        return f"<{self._name()}{', closed' if self._handle.was_closed else ''}>"

    def __del__(self) -> None:
        if hasattr(self, "_handle") and self._handle.abandon():
            warnings.warn(f"<{self._name()}> was not closed", ResourceWarning, source=self, stacklevel=2)


class Listener:
    """A port that peers connect to."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        handle.keep()
        self.port: int = _door.check(lib.door_listener_port(handle.door))
        """The port, also one that the system chose."""

    def accept(self, timeout: Optional[float] = None) -> Connection:
        """Waits for the next peer that connects."""
        limit = _door.limit_ns(timeout)
        try:
            handle = _door.accept(self._handle, limit)
        except KeyboardInterrupt as interrupt:
            raise _door.brief(interrupt)
        if handle is None:
            raise error_of(TIMEOUT)
        try:
            return Connection(handle)
        except BaseException:
            handle.abandon()
            raise

    def statistics(self) -> ListenerStatistics:
        """The counters so far."""
        return ListenerStatistics._make(self._handle.listener_statistics(ListenerStatistics._fields))

    def close(self) -> None:
        """Stops listening. Peers that were not accepted are turned away; connections go on."""
        try:
            self._handle.close()
        except KeyboardInterrupt as interrupt:
            raise _door.brief(interrupt)

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        _leave(self, error)

    def _name(self) -> str:
        return f"zcrp.Listener on port {self.port}"

    def __repr__(self) -> str:
        return f"<{self._name()}{', closed' if self._handle.was_closed else ''}>"

    def __del__(self) -> None:
        if hasattr(self, "_handle") and self._handle.abandon():
            warnings.warn(f"<{self._name()}> was not closed", ResourceWarning, source=self, stacklevel=2)


def listen(host: Optional[str] = None, port: Union[int, str] = 0, options: Optional[Options] = None) -> Listener:
    """Listens at an address of this machine (None: at any, of IPv4 and of IPv6) and a port (0: any free one)."""
    return Listener(_door.listen(host, port, native(options)))


def connect(host: str, port: Union[int, str], options: Optional[Options] = None,
            timeout: Optional[float] = None) -> Connection:
    """Connects to a listener, and waits until that has admitted this caller: its program may accept later.

    With a time limit it tries until that has passed (:class:`CallTimeoutError`), or for as long as
    ``options.connect_timeout`` says. With neither it tries for 5 seconds, and its exception says why it found no peer.
    Where no process listens, it tries for one second (:class:`RefusedError`). It tries only the first of the host's
    addresses to which this machine has a route. Neither the limit nor Ctrl-C ends the lookup of the host's name.
    """
    limit = _door.limit_ns(timeout)
    handle = _door.connect(host, port, native_to_connect(options, timeout))
    try:
        handle.keep()
        _door.check_connected(_door.in_slices(lambda slice_ns: int(lib.door_connection_wait(handle.door, slice_ns)),
                                              limit))
        return Connection(handle)
    except KeyboardInterrupt as interrupt:
        handle.abandon()
        raise _door.brief(interrupt)
    except BaseException:
        handle.abandon()
        raise
