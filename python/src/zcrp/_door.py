"""What a connection or a listener of either kind is made of: its door (native/door.h), and what is in flight.

The one rule of this file: whoever has a buffer in flight is in ``held``, and ``held`` is reached from the module
itself. An entry comes before the message is submitted, and goes when it is known to have ended. So a buffer is
never released while the library may read or write it, at whatever instruction an exception of a signal handler
strikes, and whatever the garbage collector drops.

Waits are cut into slices. Python runs its signal handlers between two of them. A signal that comes just before a
wait begins is not lost: Python remembers it, and the slice ends.
"""
from __future__ import annotations

import atexit
import collections
import errno
import itertools
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Optional, cast

from ._buffers import SIZE_MOST, Export, Pieces, blank, release, whole
from ._places import Host, Port, host_chars, port_chars
from ._zcrp import ffi, lib
from .errors import ArgumentError, ClosedError, Error, PeerClosedError, error_of, error_of_receive

SLICE_NS = 50_000_000
OK: int = lib.ZCRP_OK
TIMEOUT: int = lib.ZCRP_ERROR_TIMEOUT
BUSY: int = lib.ZCRP_ERROR_BUSY
RECEIVER: int = lib.DOOR_RECEIVER
SENDER: int = lib.DOOR_SENDER

_ids = itertools.count(1)
_SPARE_MOST = 256
_SIFTED_LEAST = 64
_LATE_MOST = 4

# Looked up once: each message takes these ways, and an attribute of cffi's costs as much as the call.
_gc, _post_new, _post_free = ffi.gc, lib.door_post_new, lib.door_post_free
_submit_one, _is_over, _pass = lib.door_submit_one, lib.door_post_is_over, lib.door_pass

_open: set[Handle] = set()
#: Nobody waits for their close, and they may hold buffers. What is opened next looks whether they are closed.
_left: set[Handle] = set()


def check(code: int) -> int:
    """A result that is not negative, or the error that it stands for."""
    if code < 0:
        raise error_of(code)
    return code


def check_listener(code: int) -> None:
    """Raises Closed if this is the code of a listener that was closed."""
    if code == ClosedError.code:
        raise ClosedError("the listener was closed")


def check_connected(status: int) -> None:
    """Raises why a connection did not come up. A peer that has closed since was there: what receives tells of it."""
    if status != PeerClosedError.code:
        check(status)


def error_of_message(half: int, code: int, size: int = 0, index: int = 0) -> Error:
    """How a message of this half ended, as an exception."""
    return (error_of_receive if half == RECEIVER else error_of)(code, size, index)


def brief(interrupt: KeyboardInterrupt) -> KeyboardInterrupt:
    """Ctrl-C during a wait, without the traceback within this package, which helps nobody."""
    return interrupt.with_traceback(None)


def limit_ns(timeout: Optional[float]) -> int:
    """A time limit in nanoseconds; -1: there is none."""
    if timeout is None or timeout == float("inf"):
        return -1
    if isinstance(timeout, (str, bytes)) or not hasattr(timeout, "__float__"):
        raise TypeError(f"a time limit is a number of seconds or None, not {type(timeout).__name__}")
    if not timeout >= 0:
        raise ArgumentError(f"a time limit cannot be {timeout}")
    return round(min(timeout, 1 << 32) * 1_000_000_000)


def in_slices(call: Callable[[int], int], limit: int) -> int:
    """Calls with a slice of time until the result is another than TIMEOUT, or the limit has passed."""
    if 0 <= limit <= SLICE_NS:
        return call(limit)
    deadline = time.monotonic_ns() + limit if limit >= 0 else None
    while True:
        left = SLICE_NS if deadline is None else deadline - time.monotonic_ns()
        code = call(max(0, min(left, SLICE_NS)))
        if code != TIMEOUT or left <= 0:
            return code


def new_post(count: int) -> Any:
    post = _gc(_post_new(count), _post_free)
    if not post:
        raise MemoryError("there is no memory left for messages")
    return post


def new_post_of(pieces: Pieces) -> Any:
    """A post of one message that lies in these pieces."""
    post = _gc(lib.door_post_of_pieces(pieces.vector, pieces.count), _post_free)
    if not post:
        code = lib.ZCRP_ERROR_MEMORY if ffi.errno == errno.ENOMEM else ArgumentError.code
        let_go([pieces])
        raise error_of(code)
    return post


def let_go(exports: Sequence[Export]) -> None:
    """Releases buffers that a traceback would hold."""
    for export in exports:
        release(export)


def new_room() -> Any:
    """Where a call puts the door that it makes. The door goes with the room, also if a signal's exception strikes
    before there is a handle."""
    return ffi.gc(ffi.new("struct door **"), lib.door_free_made)


class Handle:
    """A door, and the messages in flight by half and id. Used by any thread."""

    def __init__(self, room: Any) -> None:
        #: It owns the door.
        self.room = room
        self.door = room[0]
        self.held: tuple[collections.OrderedDict[int, tuple[Any, Any]], ...] = (
            collections.OrderedDict(), collections.OrderedDict())
        #: Numbers of what was submitted and may be reaped. Some may be released already.
        self.posted: tuple[collections.deque[int], ...] = (collections.deque(), collections.deque())
        self.spare: list[Any] = []
        self.was_closed = False
        #: The queue that it is in, and its number there. Only the program holds a queue.
        self.queue: Optional[weakref.ref[Any]] = None
        self.member = 0
        #: Its owner's, if that has an event loop: called once the end of the process has closed it.
        self.at_exit: Optional[weakref.WeakMethod[Callable[[], None]]] = None
        for handle in list(_left):
            handle.end_close(0)

    def keep(self) -> None:
        """An owner has it, and closes it. The module holds it until then. One that nobody keeps closes when it is
        dropped."""
        _open.add(self)

    # ---- the queue

    def in_queue(self) -> Any:
        """The queue that it is in, or None."""
        queue = self.queue
        return None if queue is None else queue()

    @property
    def told(self) -> Optional[dict[int, Any]]:
        """What its queue is to tell of, by id. None: it is in no queue. If it is, no post is used again."""
        queue = self.in_queue()
        return None if queue is None else queue._asked.get(self.member)

    # ---- posting

    def take_post(self, export: Export) -> Any:
        """A post for one message: one that was used before, or a new one. One of pieces has its message before it is
        held, and keeps it: other threads cancel what is held, which may be about to be submitted."""
        if not isinstance(export, tuple):
            return new_post_of(export)
        if self.spare:
            try:
                return self.spare.pop()
            except IndexError:
                pass  # another thread has taken it
        return new_post(1)

    def give_post(self, post: Any) -> None:
        """A post of one message that has ended, and that nobody else will use."""
        if len(self.spare) < _SPARE_MOST and self.told is None:
            self.spare.append(post)

    def post(self, half: int, exports: Sequence[Export], owner: Any = None) -> tuple[int, Any]:
        """Submits messages, which a queue tells of as this. The id and the post."""
        if len(exports) == 1:
            return self.post_one(half, exports[0], owner)
        number = next(_ids)
        post = new_post(len(exports))
        if owner is not None:
            self.will_tell(half, number, post, owner)
        self.held[half][number] = (post, exports)
        parts = cast(Sequence[tuple[Any, int]], exports)  # messages of a batch lie in one piece each
        code = lib.door_submit(self.door, half, post, number, [pointer for pointer, _ in parts],
                               [size for _, size in parts])
        if code != OK:
            self.refuse(half, number, exports, code)
        told = self.told
        if told is not None and not exports:
            told.pop(number, None)  # it has ended, and no queue tells of what has no messages
        self.hold_again(half, number, post, exports)
        self.posted[half].append(number)
        return number, post

    def post_one(self, half: int, export: Export, owner: Any = None) -> tuple[int, Any]:
        """The same for one message."""
        number = next(_ids)
        post = self.take_post(export)
        if owner is not None:
            self.will_tell(half, number, post, owner)
        self.held[half][number] = (post, export)
        if isinstance(export, tuple):
            code = _submit_one(self.door, half, post, number, *export)
        else:
            code = lib.door_submit_pieces(self.door, half, post, number)
        if code != OK:
            self.refuse(half, number, (export,), code)
        if number not in self.held[half]:
            self.hold_again(half, number, post, export)
        self.posted[half].append(number)
        return number, post

    def will_tell(self, half: int, number: int, post: Any, owner: Any) -> None:
        """The messages of this owner are about to be submitted. A queue knows them before they can end."""
        owner._half, owner._number, owner._post = half, number, post
        told = self.told
        if told is not None:
            told[number] = owner

    def hold_again(self, half: int, number: int, post: Any, exports: Any) -> None:
        """They are submitted. Another thread may have released them just before, as not in flight."""
        if number not in self.held[half] and not _is_over(post):
            self.held[half][number] = (post, exports)

    def send_copy(self, export: tuple[Any, int]) -> None:
        """Sends a copy of this memory."""
        code = lib.door_send_copy(self.door, *export)
        let_go([export])
        check(code)

    def refuse(self, half: int, number: int, exports: Sequence[Export], code: int) -> NoReturn:
        """They could not be submitted."""
        told = self.told
        if told is not None:
            told.pop(number, None)
        self.release(half, number)
        let_go(exports)
        raise error_of(code)

    def release(self, half: int, number: int) -> None:
        """The messages have ended."""
        self.held[half].pop(number, None)

    def reap(self, half: int) -> None:
        """Releases those at the head that have ended, and that nobody may ever wait for.

        What another thread is about to submit is no more in flight than what has ended: it is not in ``posted`` yet.
        """
        held, posted = self.held[half], self.posted[half]
        try:
            while True:
                number = posted.popleft()
                entry = held.get(number)
                if entry is not None and not _is_over(entry[0]):
                    posted.appendleft(number)
                    break
                self.release(half, number)
            if len(posted) > 2 * len(held) + _SIFTED_LEAST:
                self.sift(half)
        except IndexError:
            pass  # there are no more

    def sift(self, half: int) -> None:
        """Forgets the numbers of what was released behind the head, which may be in flight for ever."""
        held, posted = self.held[half], self.posted[half]
        for _ in range(len(posted)):
            number = posted.popleft()
            if number in held:
                posted.append(number)

    def pass_one(self, half: int, export: Export, timeout: Optional[float]) -> int:
        """Submits one message and waits for it. Its length. If it does not end well, it has ended, or a peer on this
        host is stopped amid a copy to it (try_back): then reap releases it."""
        limit = -1 if timeout is None else limit_ns(timeout)
        if self.posted[half]:
            self.reap(half)
        number = next(_ids)
        post = self.take_post(export)
        self.held[half][number] = (post, export)
        slice_ns = SLICE_NS if limit < 0 else min(limit, SLICE_NS)
        try:
            if isinstance(export, tuple):
                end: int = _pass(self.door, half, post, *export, slice_ns)
            else:
                end = lib.door_submit_pieces(self.door, half, post, 0)
                if end == OK:
                    end = lib.door_post_end(post, slice_ns)
            if end == TIMEOUT:
                end = self.go_on(post, limit)
        except BaseException:
            if self.give_up(half, number, post) is not None:
                let_go([export])
            raise
        if end == TIMEOUT:
            was_in_flight = self.give_up(half, number, post)
            if was_in_flight is None:
                del export  # the traceback does not hold it
                raise error_of_message(half, TIMEOUT)
            if not was_in_flight:
                end = lib.door_post_end(post, 0)  # it ended just then
        self.release(half, number)
        if end < 0:
            let_go([export])
            raise error_of_message(half, end, lib.door_post_length(post, 0))
        self.give_post(post)
        return end

    @staticmethod
    def go_on(post: Any, limit: int) -> int:
        """Waits on for one message, after a slice of this time limit."""
        if 0 <= limit <= SLICE_NS:
            return TIMEOUT
        return in_slices(lambda slice_ns: int(lib.door_post_end(post, slice_ns)), limit - SLICE_NS if limit >= 0 else -1)

    def try_back(self, half: int, number: int, post: Any) -> Optional[bool]:
        """Cancels what is in flight. False if all had ended. None: a peer on this host is stopped amid a copy to a
        buffer. The buffer stays held, and its message ends as cancelled once the peer goes on."""
        has_cancelled = ffi.new("bool *")
        if lib.door_post_cancel(post, has_cancelled) == BUSY:
            return None
        self.release(half, number)
        return bool(has_cancelled[0])

    def take_back(self, half: int, number: int, post: Any) -> bool:
        """The same, and waits for a peer that is stopped. A signal's exception ends that, and the buffer stays held."""
        while (was_in_flight := self.try_back(half, number, post)) is None:
            pass
        return was_in_flight

    def give_up(self, half: int, number: int, post: Any) -> Optional[bool]:
        """As try_back, of a message that is not in ``posted``: it comes in there if it stays in flight."""
        was_in_flight = self.try_back(half, number, post)
        if was_in_flight is None:
            self.posted[half].append(number)
        return was_in_flight

    def try_all_back(self) -> None:
        """Cancels all messages, also those that another thread submits meanwhile; one that it submits later, it holds
        again. A message to which a stopped peer copies stays held (try_back). Each such message takes 100 ms, so a few
        are tried, and the close ends the others."""
        late = 0

        def back(half: int, number: int, post: Any) -> Optional[bool]:
            nonlocal late
            was_in_flight = self.try_back(half, number, post) if late < _LATE_MOST else None
            late += was_in_flight is None
            return was_in_flight

        self._all_back(back)

    def take_all_back(self) -> None:
        """The same, and waits for a peer that is stopped (take_back)."""
        self._all_back(self.take_back)

    def _all_back(self, back: Callable[[int, int, Any], Optional[bool]]) -> None:
        for half in (RECEIVER, SENDER):
            for number, (post, exports) in list(self.held[half].items()):
                while back(half, number, post) is not None and not _is_over(post):
                    self.held[half][number] = (post, exports)

    # ---- closing

    def begin_close(self) -> bool:
        """Begins to close. False if that was done before. If a signal's exception strikes amid it, the next call does
        what is left; door_close does nothing the second time."""
        is_first = not self.was_closed
        self.was_closed = True
        lib.door_close(self.door)
        queue = self.in_queue()  # behind the close, which refuses an add from then on
        if queue is not None:
            queue.forget(self)
        return is_first

    def end_close(self, limit: int) -> int:
        """Waits until it is closed: TIMEOUT if it is not. Else all messages have ended; OK if the peer confirmed."""
        code = ffi.new("int *")
        found: int = lib.door_closed(self.door, limit, code)
        if found == TIMEOUT:
            return TIMEOUT
        for held in self.held:
            held.clear()
        _open.discard(self)
        _left.discard(self)
        return OK if code[0] == OK else BUSY

    def close(self) -> bool:
        """Closes, and waits for it. True if the peer has confirmed. A signal's exception cancels what is left."""
        try:
            self.begin_close()
            return in_slices(self.end_close, -1) == OK
        except BaseException:
            self.leave()
            raise

    def leave(self) -> None:
        """Nobody waits for the close any more, which may not have begun: begins it, and cancels all messages."""
        _left.add(self)
        self.begin_close()
        self.try_all_back()

    def abandon(self) -> bool:
        """Cancels all messages, and closes in the background. False if it was closed before."""
        if self.was_closed:
            return False
        self.try_all_back()
        self.begin_close()
        if any(self.held):
            _left.add(self)  # a peer is stopped amid a copy to a buffer
        else:
            _open.discard(self)
        return True

    def tell_owner(self) -> None:
        """The end of the process has closed it."""
        at_exit = None if self.at_exit is None else self.at_exit()
        if at_exit is not None:
            at_exit()

    # ---- what both kinds of connection ask

    def address(self, ask: Callable[[Any, Any, int], int]) -> str:
        room = ffi.new("char[80]")
        check(ask(self.door, room, len(room)))
        return str(ffi.string(room).decode())

    def identity(self) -> Optional[str]:
        """The peer's authenticated identity; None without keys."""
        room = ffi.new("char[]", 256)
        code = lib.door_connection_identity(self.door, room, len(room))
        if code == lib.ZCRP_ERROR_IDLE:
            return None
        check(code)
        return str(ffi.string(room).decode(errors="replace"))

    def first(self, index: int, limit: int) -> Optional[bytearray]:
        """A copy of a message in one of the listener's first buffers; None if it has not ended in time."""
        number, length = min(whole(index, "an index"), 0xffffffff), ffi.new("uint64_t *")
        code = in_slices(lambda slice_ns: int(lib.door_first_end(self.door, number, slice_ns, length)), limit)
        if code == TIMEOUT:
            return None
        if code == lib.ZCRP_ERROR_ARGUMENT:
            raise IndexError(f"the connection has no first message {index}")
        if code != OK:
            raise error_of_message(RECEIVER, code, length[0])
        data = blank(length[0])
        check(lib.door_first_copy(self.door, number, ffi.from_buffer(data), len(data)))
        return data

    def allocate(self, size: int) -> memoryview:
        """Memory that lasts until nobody has a view of it."""
        size = whole(size, "a buffer's size")
        if size > SIZE_MOST:
            raise MemoryError(f"there is no room for {size} bytes")
        message, memory = ffi.new("struct zcrp_msg **"), ffi.new("void **")
        check(lib.door_alloc(self.door, size, message, memory))
        owner = ffi.gc(message[0], lib.zcrp_free_msg)
        held = ffi.gc(memory[0], lambda _: ffi.release(owner))
        return memoryview(ffi.buffer(held, size))

    def statistics(self, half: int) -> dict[str, int]:
        stats = ffi.new("struct zcrp_stats *")
        check(lib.door_stats(self.door, half, stats))
        return {name: getattr(stats, name) for name, _ in ffi.typeof("struct zcrp_stats").fields}

    def listener_statistics(self, names: Sequence[str]) -> list[int]:
        stats = ffi.new("struct zcrp_listener_stats *")
        code = lib.door_listener_stats(self.door, stats)
        check_listener(code)
        check(code)
        return [getattr(stats, name) for name in names]


def _open_at(call: Callable[..., int], host: Host, port: Port, options: Any, listens: bool) -> Handle:
    room = new_room()
    check(call(room, host_chars(host, listens), port_chars(port), options))
    return Handle(room)


def connect(host: Host, port: Port, options: Any) -> Handle:
    return _open_at(lib.door_connect, host, port, options, False)


def listen(host: Host, port: Port, options: Any) -> Handle:
    return _open_at(lib.door_listen, host, port, options, True)


def accept(listener: Handle, limit: int) -> Optional[Handle]:
    """The next caller, or None if none came in time."""
    room = new_room()
    code = in_slices(lambda slice_ns: int(lib.door_accept(listener.door, room, slice_ns)), limit)
    check_listener(code)
    return None if code == TIMEOUT else Handle(room) if check(code) == OK else None


@atexit.register
def _close_all() -> None:
    """At exit, what was sent still arrives, and nothing is received into memory that Python gives back. Ctrl-C ends
    that, and says nothing: it may be the second one, of somebody who has read a traceback already. The event loops of
    other threads are told, which may run still."""
    handles = list(_open)
    try:
        for handle in handles:
            handle.begin_close()
        for handle in handles:
            in_slices(handle.end_close, -1)
    except KeyboardInterrupt:
        pass
    finally:
        for handle in handles:
            handle.begin_close()
            handle.take_all_back()
            handle.tell_owner()
