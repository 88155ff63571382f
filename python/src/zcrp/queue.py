"""Completion queues: one queue reports the events of any number of connections and listeners."""
from __future__ import annotations

import enum
import itertools
import os
import threading
import time
import warnings
import weakref
from types import TracebackType
from typing import Any, NamedTuple, Optional, Union

from . import _door
from ._buffers import whole
from ._door import OK, TIMEOUT
from ._zcrp import ffi, lib
from .blocking import Batch, Connection, Listener, Message
from .errors import ArgumentError, Error, ForkedError, error_of, error_of_receive

__all__ = ["Completion", "Happened", "Queue"]

_ROOM = 64

#: Held while a source is put into a queue: of two threads that put one source into two queues one is refused.
_joining = threading.Lock()
os.register_at_fork(after_in_child=lambda: _joining._at_fork_reinit())  # type: ignore[attr-defined]


class Happened(enum.Enum):
    """The kinds of completions."""

    MESSAGE_ENDED = lib.ZCRP_MESSAGE_ENDED
    """``message``, or each message of a batch, has ended: with ``error``, or well if that is None."""
    PEER_CALLED = lib.ZCRP_PEER_CALLED
    """A peer has connected: accept it with a time limit of 0, because it may be gone by then."""
    CONNECTION_UP = lib.ZCRP_CONNECTION_UP
    """A connection without a peer when you added it, as it may be just after an accept, has found its peer."""
    CONNECTION_ENDED = lib.ZCRP_CONNECTION_ENDED
    """The connection has ended, for the reason ``error``. Close it. The queue reports this once, after all messages of
    the connection that ended well."""
    OFFER_CAME = lib.ZCRP_OFFER_CAME
    """The peer has announced the size of a message, so :meth:`zcrp.Connection.receive` need not wait for it.
    It still waits for the message itself."""


class Completion(NamedTuple):
    """One event, and the connection or listener that it is about."""

    what: Happened
    """What has happened."""
    source: Union[Connection, Listener]
    """The connection or listener that you added."""
    context: Any
    """The context that you added it with."""
    message: Optional[Union[Message, Batch]] = None
    """The message or batch that has ended. None if it landed in a buffer of ``Options.first_messages``
    (:meth:`zcrp.Connection.receive_first`)."""
    error: Optional[Error] = None
    """Why the message failed, or the connection ended."""


class Queue:
    """Reports the events of the connections and listeners that you add. Any thread may call at any time.

    A program with events needs one thread for all its peers::

        queue.add(listener)
        while True:
            for completion in queue.take():
                if completion.what is zcrp.Happened.PEER_CALLED:
                    connection = listener.accept(0)
                    queue.add(connection, context=Peer(connection))
                ...

    A connection or listener stays yours when you add it, and you use it as without a queue. The queue reports messages
    and batches that you post (``post_send``, ``post_receive``, ...) after you have added their connection. It holds
    them until it has reported them, and holds connections and listeners until you remove or close them. Nothing but
    your program holds the queue itself. It does not report calls that wait, such as ``send``, nor a batch of no
    messages, which has ended when you have posted it.
    """

    def __init__(self) -> None:
        made = ffi.new("struct door_queue **")
        _door.check(lib.door_queue_open(made))
        self._native = ffi.gc(made[0], lib.door_queue_free)
        self._members: dict[int, tuple[Union[Connection, Listener], Any]] = {}
        #: What is to be told of, by member and id.
        self._asked: dict[int, dict[int, Union[Message, Batch]]] = {}
        self._numbers = itertools.count(1)
        self._was_closed = False

    # ---- members

    def add(self, source: Union[Connection, Listener], context: Any = None) -> None:
        """Adds a connection or a listener, which is in one queue at most. Each of its completions has the context.

        The queue also reports earlier events: waiting callers, or that the connection has ended.
        """
        _check_source(source)
        handle, number = source._handle, next(self._numbers)
        with _joining:
            if handle.in_queue() is not None:
                raise ArgumentError(f"{source!r} is in a queue already")
            self._members[number], self._asked[number] = (source, context), {}
            handle.member, handle.queue = number, weakref.ref(self)
        code = lib.door_queue_add(self._native, handle.door, number)
        if code != OK:
            self.forget(handle)
            raise error_of(code)

    def remove(self, source: Union[Connection, Listener]) -> None:
        """Removes a connection or listener. The queue drops what you have not taken. Closing removes it, too."""
        _check_source(source)
        handle = source._handle
        if handle.in_queue() is not self:
            raise ArgumentError(f"{source!r} is not in this queue")
        code = lib.door_queue_remove(self._native, handle.door)
        if code == ForkedError.code:
            raise error_of(code)
        self.forget(handle)

    def forget(self, handle: _door.Handle) -> None:
        """Forgets what has left the queue, or is about to leave. For this package's own use."""
        if handle.in_queue() is self:
            self._members.pop(handle.member, None)
            self._asked.pop(handle.member, None)
            handle.queue = None

    # ---- taking

    def take(self, most: int = _ROOM, timeout: Optional[float] = None) -> list[Completion]:
        """Waits for a completion, and takes up to ``most``. An empty list: the time limit has passed.

        With a time limit of 0 the call does not wait, but receives messages that have arrived. Messages of one
        connection and direction come in the order in which they ended. Connections with several completions take
        turns.

        :class:`zcrp.WaitInterruptedError`: :meth:`interrupt` was called. :class:`zcrp.ClosedError`: the queue was
        closed. If a signal handler raises during the call, completions may be lost.
        """
        room = min(max(1, whole(most, "a number of completions")), _ROOM)
        limit, started = _door.limit_ns(timeout), time.monotonic_ns()
        found = ffi.new("struct door_completion[]", room)
        while True:
            left = limit if limit < 0 else max(0, limit - (time.monotonic_ns() - started))
            try:
                count = _door.in_slices(lambda slice_ns: lib.door_queue_take(self._native, found, room, slice_ns)
                                        or TIMEOUT, left)
            except KeyboardInterrupt as interrupt:
                raise _door.brief(interrupt)
            if count == TIMEOUT and left > 0 and time.monotonic_ns() - started < limit:
                continue  # a signal came
            if count == TIMEOUT:
                return []
            completions = [told for i in range(_door.check(count)) if (told := self._told(found[i])) is not None]
            if completions or left == 0:
                return completions

    def _told(self, found: Any) -> Optional[Completion]:
        """None: nobody asks for it, or it has left the queue since."""
        source, context = self._members.get(found.member, (None, None))
        if source is None:
            return None
        what = Happened(found.kind)
        if what is not Happened.MESSAGE_ENDED or found.is_first:
            error = (error_of_receive if found.is_first else error_of)(found.code) if found.code != OK else None
            return Completion(what, source, context, None, error)
        told = self._asked.get(found.member)
        message = told.get(found.post) if told is not None else None
        if told is None or message is None or not message.done:
            return None
        told.pop(found.post, None)
        source._handle.release(message._half, found.post)
        return Completion(what, source, context, message, message._error())

    def interrupt(self) -> None:
        """Ends the calls of :meth:`take` that wait, or else the next one that finds nothing, with
        :class:`zcrp.WaitInterruptedError`."""
        _door.check(lib.door_queue_interrupt(self._native))

    def fileno(self) -> int:
        """A descriptor for ``select`` and ``selectors``: readable while there is something to take or to receive.
        Then take with a time limit of 0, which may find nothing."""
        return _door.check(lib.door_queue_descriptor(self._native))

    # ---- closing

    def close(self) -> None:
        """Closes the queue. Calls of :meth:`take` raise :class:`zcrp.ClosedError`. Connections and listeners stay
        open."""
        self._was_closed = True
        lib.door_queue_close(self._native)
        for source, _ in list(self._members.values()):
            self.forget(source._handle)

    def __enter__(self) -> Queue:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def __len__(self) -> int:
        """The number of connections and listeners in the queue."""
        return len(self._members)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<zcrp.Queue with {len(self)}{', closed' if self._was_closed else ''}>"

    def __del__(self) -> None:
        if hasattr(self, "_native") and not self._was_closed:
            name = repr(self)  # while it is not closed
            self.close()
            warnings.warn(f"{name} was not closed", ResourceWarning, source=self, stacklevel=2)


def _check_source(source: Any) -> None:
    if not isinstance(source, (Connection, Listener)):
        raise TypeError(f"a queue has connections and listeners of zcrp, not {type(source).__name__}")
