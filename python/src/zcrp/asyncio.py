"""Connections whose calls you await. The names are the same as in :mod:`zcrp`::

    connection = await zcrp.asyncio.connect("192.0.2.1", 7000)
    buffer = numpy.empty(n, "u1")
    await connection.receive_into(buffer)

A call posts its message at once, and returns an object that you await until the message has ended. So you can post
buffers ahead: call first, and await later::

    posted = [connection.receive_into(block) for block in blocks]
    for block, ended in zip(blocks, posted):
        work(block, await ended)

If you cancel this object, or the task that awaits it, the message is cancelled: the buffer is yours again at once.
Only if a peer on this host is stopped while it writes to the buffer, the buffer is held until the peer goes on.

One completion queue serves all connections and listeners of an event loop. The loop watches one descriptor for them,
and one wake-up handles all messages that have ended by then. Make all calls in the thread of the loop.
"""
from __future__ import annotations

import asyncio
import collections
import contextlib
import itertools
import warnings
import weakref
from collections.abc import AsyncIterator, Iterable, Sequence
from types import TracebackType
from typing import Any, Callable, Generic, Optional, TypeVar, Union

from . import _door
from ._buffers import (Buffer, Buffers, Export, blank, readable, readable_or_pieces, whole, writable,
                       writable_or_pieces)
from ._door import OK, RECEIVER, SENDER, TIMEOUT, Handle
from ._zcrp import ffi, lib
from .blocking import ListenerStatistics, Statistics, results
from .errors import ClosedError, EndOfStreamError, Error, ForkedError, error_of, error_of_receive, over_limit
from .options import Options, native, native_to_connect

__all__ = ["Connection", "Listener", "Posted", "connect", "listen"]

T = TypeVar("T")
_ROOM = 64
_ROUNDS = 16
_STEP_S = 0.01
_numbers = itertools.count(1)


class Posted(asyncio.Future, Generic[T]):  # type: ignore[type-arg]
    """The message, or messages, that a call has posted: await or cancel it."""

    def __init__(self, connection: Connection, half: int, exports: Sequence[Export],
                 value: Callable[[list[int]], T]) -> None:
        super().__init__(loop=connection._loop)
        self._connection, self._half, self._exports, self._value = connection, half, exports, value
        self._is_posted = False
        if half == RECEIVER and connection._asking:
            connection._asking.append(self)
        else:
            self._submit()

    def _submit(self) -> None:
        exports, self._exports = self._exports, ()
        self._count = len(exports)
        handle = self._connection._handle
        if handle.posted[self._half]:
            handle.reap(self._half)
        self._number, self._post = handle.post(self._half, exports)
        self._is_posted = True
        if exports:
            self._connection._waiting[self._number] = self
        else:
            self._end()

    def _go_on(self) -> bool:
        """Its turn has come, after messages whose size had to be asked for. False: not yet."""
        try:
            self._submit()
        except (Error, MemoryError) as error:
            self.set_exception(error)
        return True

    def cancel(self, msg: Any = None) -> bool:
        """Cancels it. False if it has ended."""
        if self.done():
            return False
        if not self._is_posted:
            self._connection._asking.remove(self)
            self._exports = ()
            super().cancel(msg=msg)
            self._connection._ask()
            return True
        was_in_flight = self._connection._handle.try_back(self._half, self._number, self._post)
        if was_in_flight is False:
            self._end()
            return False
        if was_in_flight:
            self._connection._waiting.pop(self._number, None)  # else its end releases the buffer
        return super().cancel(msg=msg)

    def _end_now(self) -> None:
        """It was cancelled, and nobody will tell of its end: says how it has ended. If it stays in flight
        (Handle.try_back), it is held, and counts as cancelled."""
        if lib.door_post_is_over(self._post):
            self._end()
        else:
            self._connection._waiting.pop(self._number, None)
            if not self.done():
                self.set_exception(_door.error_of_message(self._half, lib.ZCRP_ERROR_CANCELLED))
        if not self.cancelled():
            self.exception()  # whoever closes need not ask each of them

    def _end(self) -> None:
        """It has ended: says how."""
        self._connection._waiting.pop(self._number, None)
        self._connection._handle.release(self._half, self._number)
        if self.done():
            return
        try:
            self.set_result(self._found(results(self._half, self._post, self._count)))
        except Error as error:
            self.set_exception(error)

    def _found(self, lengths: list[int]) -> T:
        return self._value(lengths)


class _Received(Posted[bytearray]):
    """The next message, of a size that the peer has to say first."""

    def __init__(self, connection: Connection, limit: Optional[int]) -> None:
        asyncio.Future.__init__(self, loop=connection._loop)
        self._connection, self._half, self._exports, self._is_posted = connection, RECEIVER, (), False
        self._limit, self._data = limit, bytearray()
        connection._asking.append(self)
        connection._ask()

    def _found(self, lengths: list[int]) -> bytearray:
        data, self._data = self._data, bytearray()
        if lengths[0] < len(data):
            del data[lengths[0]:]
        return data

    def _go_on(self) -> bool:
        size = ffi.new("uint64_t *")
        code = lib.door_expect(self._connection._handle.door, size, 0)
        if code == TIMEOUT:
            return False
        if code != OK or (self._limit is not None and size[0] > self._limit):
            self.set_exception(error_of_receive(code) if code != OK else over_limit(size[0], self._limit or 0))
            return True
        try:
            self._data = blank(size[0])
        except MemoryError as error:
            self.set_exception(error)
            return True
        self._exports = [writable(self._data)]
        return super()._go_on()


def _nothing(lengths: list[int]) -> None:
    return None


def _one(lengths: list[int]) -> int:
    return lengths[0]


def _all(lengths: list[int]) -> list[int]:
    return lengths


class _Bell:
    """Wakes all who wait for something to change."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiters: dict[asyncio.Future[None], None] = {}  # in their order

    async def wait(self) -> None:
        waiter = self._loop.create_future()
        self._waiters[waiter] = None
        try:
            await waiter
        finally:
            self._waiters.pop(waiter, None)  # the bell has not rung if the wait was cancelled

    def ring(self) -> None:
        waiters, self._waiters = self._waiters, {}
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)


class _Events:
    """The queue of an event loop: who is in it, by number. The loop holds it, as long as anybody is."""

    _of: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, weakref.ref[_Events]] = weakref.WeakKeyDictionary()

    @classmethod
    def of(cls, loop: asyncio.AbstractEventLoop) -> _Events:
        known = cls._of.get(loop)
        events = known() if known is not None else None
        return cls(loop) if events is None else events

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        made = ffi.new("struct door_queue **")
        _door.check(lib.door_queue_open(made))
        self._queue = ffi.gc(made[0], lib.door_queue_free)
        self._loop = loop
        self._members: dict[int, Union[Connection, Listener]] = {}
        self._found = ffi.new("struct door_completion[]", _ROOM)
        self.descriptor = _door.check(lib.door_queue_descriptor(self._queue))
        loop.add_reader(self.descriptor, self.take)
        self._of[loop] = weakref.ref(self)

    def add(self, member: Union[Connection, Listener]) -> int:
        """Adds it. The number with which it leaves."""
        number = next(_numbers)
        self._members[number] = member
        code = lib.door_queue_add(self._queue, member._handle.door, number)
        if code != OK:
            self.remove(member, number)
            raise error_of(code)
        return number

    def remove(self, member: Union[Connection, Listener], number: int) -> None:
        """Nothing is told of it any more. The last one ends the queue."""
        if self._members.pop(number, None) is None:
            return
        lib.door_queue_remove(self._queue, member._handle.door)
        if self._members:
            return
        self._of.pop(self._loop, None)
        if not self._loop.is_closed():
            self._loop.remove_reader(self.descriptor)
        lib.door_queue_close(self._queue)

    def take(self) -> None:
        """Tells what there is. If there is more than that the descriptor stays readable, and others have their turn."""
        told: dict[int, Union[Connection, Listener]] = {}
        for _ in range(_ROUNDS):
            count = lib.door_queue_take(self._queue, self._found, _ROOM, 0)
            for i in range(count):
                found = self._found[i]
                member = self._members.get(found.member)
                if member is not None:
                    told[found.member] = member
                    if found.kind == lib.ZCRP_CONNECTION_ENDED:
                        member._is_lost = True
                    if found.post:
                        member._ended(found.post)
            if count < _ROOM:
                break
        for member in told.values():
            member._changed()


class Connection:
    """A connection to a peer. Messages go both ways.

    The n-th message that one end sends lands in the n-th buffer that the other end posts.

    The event loop holds a connection until it is closed.
    """

    def __init__(self, handle: Handle) -> None:
        self._loop = asyncio.get_running_loop()
        self._handle = handle
        handle.keep()
        self._waiting: dict[int, Posted[Any]] = {}
        self._changes, self._over = _Bell(self._loop), _Bell(self._loop)
        self._is_lost = False
        self._next_look: Optional[asyncio.TimerHandle] = None
        self._asking: collections.deque[Posted[Any]] = collections.deque()  # the first one waits for a size
        self.peer = handle.address(lib.door_connection_peer)
        """The peer's address and port: ``192.0.2.1:7000``, ``[2001:db8::1]:7000``."""
        self.local = handle.address(lib.door_connection_local)
        """This end's address and port."""
        self._events = _Events.of(self._loop)
        self._member = self._events.add(self)
        handle.at_exit = weakref.WeakMethod(self._at_exit)

    # ---- messages

    def send(self, buffer: Buffers) -> Posted[None]:
        """Sends a message. Await that the peer has it; the buffer must not change before. A list or a tuple of up to
        1,024 buffers is one message, gathered from all of them; :meth:`receive_into` takes such a list, too."""
        return Posted(self, SENDER, [readable_or_pieces(buffer)], _nothing)

    def receive_into(self, buffer: Buffers) -> Posted[int]:
        """Posts a buffer for the next message that has no buffer yet. Await its number of bytes.

        :class:`zcrp.EndOfStreamError`: the peer has closed, and there is no next message.
        """
        return Posted(self, RECEIVER, [writable_or_pieces(buffer)], _one)

    def send_batch(self, buffers: Iterable[Buffer]) -> Posted[None]:
        """Sends a message for each buffer; all are posted, or none. Await that the peer has all of them.

        Raises the error of the first that failed; its ``index`` says which.
        """
        return Posted(self, SENDER, [readable(buffer) for buffer in buffers], _nothing)

    def receive_batch(self, buffers: Iterable[Buffer]) -> Posted[list[int]]:
        """Posts buffers for the next messages, in their order; all are posted, or none. Await their sizes."""
        return Posted(self, RECEIVER, [writable(buffer) for buffer in buffers], _all)

    def receive(self, limit: Optional[int] = None) -> Posted[bytearray]:
        """Asks for the next message, of any size. Await it. The peer announces the size first: a round trip more.

        Buffers that you post meanwhile are for later messages. If you cancel the call before the size has come, no
        message is lost: the next call gets it.

        A message of more than ``limit`` bytes stays with the peer: :class:`zcrp.TooLargeError`. Give a limit if you do
        not trust the peer. :class:`zcrp.EndOfStreamError`: the peer has closed, and there is no next message.
        """
        most = None if limit is None else whole(limit, "a limit")
        self._check_here()
        return _Received(self, most)

    async def receive_first(self, index: int = 0) -> bytearray:
        """Awaits the caller's first message, or another one by its number, that lands in a buffer of
        ``Options.first_messages``, and returns a copy. See :meth:`zcrp.Connection.receive_first`."""
        while (message := self._handle.first(index, 0)) is None:
            await self._changes.wait()
        return message

    async def messages(self, limit: Optional[int] = None) -> AsyncIterator[bytearray]:
        """Iterates over the messages, each as :meth:`receive` returns it, until the peer closes. A loop over the
        connection does the same: ``async for message in connection``."""
        while True:
            try:
                message = await self.receive(limit)
            except EndOfStreamError:
                return
            yield message

    def __aiter__(self) -> AsyncIterator[bytearray]:
        return self.messages()

    def send_copy(self, buffer: Buffer) -> None:
        """Sends a copy of up to 16 KiB, as one message, and returns at once: the buffer may change. There is nothing to
        await.

        Nothing reports its end, and copies that are under way when the peer is lost are lost. Use it for answers and
        control messages. :class:`zcrp.BusyError`: there is no room, because 1 MiB of copies are under way.
        :class:`zcrp.SizeError`: the message is larger than 16 KiB.
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
        """Raises why nothing can be asked for any more at this end."""
        code = lib.door_connection_status(self._handle.door)
        if code in (ForkedError.code, ClosedError.code):
            raise error_of(code)

    def _ask(self) -> None:
        """Those whose turn has come go on."""
        while self._asking and self._asking[0]._go_on():
            self._asking.popleft()
        if self._asking and self._is_lost and self._next_look is None:
            self._next_look = self._loop.call_later(_STEP_S, self._look_again)

    def _look_again(self) -> None:
        """The end of a connection is told once, and may be known before the receiver knows that nothing comes."""
        self._next_look = None
        self._ask()

    def _ended(self, number: int) -> None:
        """What was posted under this number has ended."""
        posted = self._waiting.get(number)
        if posted is not None:
            posted._end()

    def _changed(self) -> None:
        """Messages have ended, a size has come, or the connection has changed."""
        self._ask()
        self._changes.ring()

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

    async def _connected(self) -> None:
        while (code := lib.door_connection_status(self._handle.door)) == _door.BUSY:
            await self._changes.wait()
        _door.check_connected(code)

    def _let_go(self) -> None:
        """The loop looks at the connection no more."""
        self._events.remove(self, self._member)

    async def close(self) -> bool:
        """Waits until all that was sent is acknowledged, and closes. True if the peer has confirmed.

        It gives up after ``Options.linger`` seconds (5) without a new acknowledgement, and returns False.
        Messages that are still in flight then fail with :class:`zcrp.ClosedError`. If you cancel the close, it cancels
        them, and closes the connection nevertheless.
        """
        self._let_go()
        self._handle.begin_close()
        self._end_asking()
        self._changes.ring()
        try:
            return await _closed(self) == OK
        finally:
            self._end_all()

    def abort(self) -> None:
        """Cancels all messages in flight, and closes without waiting for the peer."""
        self._let_go()
        if not self._handle.abandon():
            self._handle.try_all_back()  # a close is under way
        self._end_waiting()

    def _at_exit(self) -> None:
        """The end of the process has closed it, in another thread than the loop's."""
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._end_waiting)

    def _end_waiting(self) -> None:
        """It is closed: all that wait are told."""
        self._end_asking()
        self._end_all()
        self._changes.ring()

    def _end_asking(self) -> None:
        """It is closed: those that were not posted yet are told."""
        asking = list(self._asking)
        self._ask()
        for posted in asking:
            posted.exception()  # whoever closes need not ask each of them

    def _end_all(self) -> None:
        """All say how they end. A signal's exception, or a peer that is stopped, may have left some in flight."""
        for posted in list(self._waiting.values()):
            posted._end_now()

    async def __aenter__(self) -> Connection:
        return self

    async def __aexit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        await self.close()

    def _name(self) -> str:
        return f"zcrp.asyncio.Connection from {self.local} to {self.peer}"

    def __repr__(self) -> str:
        return f"<{self._name()}{', closed' if self._handle.was_closed else ''}>"

    def __del__(self) -> None:
        if hasattr(self, "_handle") and self._handle.abandon():
            warnings.warn(f"<{self._name()}> was not closed", ResourceWarning, source=self, stacklevel=2)


async def _closed(closing: Union[Connection, Listener]) -> int:
    """Waits until it is closed, as several tasks may. Returns as Handle.end_close does."""
    loop, bell = closing._loop, closing._over
    descriptor = lib.door_closed_descriptor(closing._handle.door)

    def ring() -> None:
        loop.remove_reader(descriptor)
        closing._handle.end_close(0)  # those who waited may have been cancelled
        bell.ring()

    try:
        while (code := closing._handle.end_close(0)) == TIMEOUT:
            if descriptor < 0:
                await asyncio.sleep(_STEP_S)
                continue
            loop.add_reader(descriptor, ring)
            await bell.wait()
    except BaseException:
        closing._handle.leave()
        raise
    return code


class Listener:
    """A port that peers connect to."""

    def __init__(self, handle: Handle) -> None:
        self._loop = asyncio.get_running_loop()
        self._handle = handle
        handle.keep()
        self._callers, self._over = _Bell(self._loop), _Bell(self._loop)
        self._is_lost = False
        self.port: int = _door.check(lib.door_listener_port(handle.door))
        """The port, also one that the system chose."""
        self._events = _Events.of(self._loop)
        self._member = self._events.add(self)
        handle.at_exit = weakref.WeakMethod(self._at_exit)

    async def accept(self) -> Connection:
        """The next peer that connects."""
        while (handle := _door.accept(self._handle, 0)) is None:
            await self._callers.wait()
        try:
            return Connection(handle)
        except BaseException:
            handle.abandon()
            raise

    def _ended(self, number: int) -> None:
        """It has no messages."""

    def _changed(self) -> None:
        """Peers have called."""
        self._callers.ring()

    def _at_exit(self) -> None:
        """The end of the process has closed it, in another thread than the loop's."""
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._callers.ring)

    def statistics(self) -> ListenerStatistics:
        """The counters so far."""
        return ListenerStatistics._make(self._handle.listener_statistics(ListenerStatistics._fields))

    async def close(self) -> None:
        """Stops listening. Peers that were not accepted are turned away; connections go on."""
        self._events.remove(self, self._member)
        self._handle.begin_close()
        self._callers.ring()
        await _closed(self)

    def abort(self) -> None:
        """The same, without waiting for it."""
        self._events.remove(self, self._member)
        self._handle.abandon()
        self._callers.ring()

    async def __aenter__(self) -> Listener:
        return self

    async def __aexit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        await self.close()

    def _name(self) -> str:
        return f"zcrp.asyncio.Listener on port {self.port}"

    def __repr__(self) -> str:
        return f"<{self._name()}{', closed' if self._handle.was_closed else ''}>"

    def __del__(self) -> None:
        if hasattr(self, "_handle") and self._handle.abandon():
            warnings.warn(f"<{self._name()}> was not closed", ResourceWarning, source=self, stacklevel=2)


async def listen(host: Optional[str] = None, port: Union[int, str] = 0,
                 options: Optional[Options] = None) -> Listener:
    """Listens at an address of this machine (None: at any, of IPv4 and of IPv6) and a port (0: any free one)."""
    return Listener(_door.listen(host, port, native(options)))


def _begin_to_open(*arguments: Any) -> asyncio.Future[Handle]:
    """Opens a connection in another thread, because the resolver may take seconds. In an exit handler there is none,
    because Python starts none any more: then the loop waits."""
    loop = asyncio.get_running_loop()
    try:
        return loop.run_in_executor(None, _door.connect, *arguments)
    except RuntimeError as error:
        if "shutdown" not in str(error):
            raise
    opening: asyncio.Future[Handle] = loop.create_future()
    opening.set_result(_door.connect(*arguments))
    return opening


def _abandon(opening: asyncio.Future[Handle]) -> None:
    """Nobody waits any more for the connection that a thread has opened."""
    if not opening.cancelled() and opening.exception() is None:
        opening.result().abandon()


async def _opened(opening: asyncio.Future[Handle], limit: Optional[float]) -> Connection:
    """The connection that a thread opens, once it is up. asyncio.TimeoutError: that takes longer than the limit."""
    loop = asyncio.get_running_loop()
    started = loop.time()
    try:
        handle = await asyncio.wait_for(asyncio.shield(opening), limit)
    except BaseException:
        opening.add_done_callback(_abandon)
        raise
    try:
        connection = Connection(handle)
    except BaseException:
        handle.abandon()
        raise
    try:
        left = None if limit is None else max(0, limit - (loop.time() - started))
        await asyncio.wait_for(connection._connected(), left)
    except BaseException:
        connection.abort()
        raise
    return connection


async def connect(host: str, port: Union[int, str], options: Optional[Options] = None,
                  timeout: Optional[float] = None) -> Connection:
    """Connects to a listener, and waits until that has admitted this caller: its program may accept later.

    With a time limit it tries until that has passed (:class:`zcrp.CallTimeoutError`), or for as long as
    ``options.connect_timeout`` says. With neither it tries for 5 seconds, and its exception says why it found no peer.
    Where no process listens, it tries for one second (:class:`zcrp.RefusedError`). It tries only the first of the
    host's addresses to which this machine has a route.
    """
    limit = None if _door.limit_ns(timeout) < 0 else timeout
    native_options = native_to_connect(options, timeout)
    opening = _begin_to_open(host, port, native_options)
    try:
        return await _opened(opening, limit)
    except asyncio.TimeoutError as error:
        if isinstance(error, Error):
            raise
        raise error_of(TIMEOUT) from None
