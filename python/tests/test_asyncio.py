"""The same awaited: many messages for a wake-up, cancelling that cancels, closing, and what an event loop does."""
import asyncio
import contextlib
import gc
import logging
import os
import socket
import threading
import time
import weakref

import pytest

import zcrp
import zcrp.asyncio
from zcrp import _door
from zcrp._door import RECEIVER, SENDER
from conftest import HOST, IMPATIENT, LONG, StoppedPeer, run_program


def awaited(test):
    """A test that is a coroutine, with a limit. Nothing may be left when it is over."""
    def run(*arguments, **named):
        async def limited():
            await asyncio.wait_for(test(*arguments, **named), 60)
        asyncio.run(limited())
        gc.collect()
        assert not _door._open
    run.__name__ = test.__name__
    run.__doc__ = test.__doc__
    run.pytestmark = getattr(test, "pytestmark", [])
    return run


async def meet(options=None, host=HOST):
    async with await zcrp.asyncio.listen(host, options=options) as listener:
        there, here = await asyncio.gather(zcrp.asyncio.connect(host, listener.port, options), listener.accept())
        assert "Listener on port" in repr(listener)
    return here, there


def with_pair(test, options=None):
    async def run():
        one, other = await meet(options)
        try:
            await test(one, other)
        finally:
            await asyncio.gather(one.close(), other.close())
    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return awaited(run)


def test_sizes():
    for size in (0, 1, 64, 100_001, 1 << 20):
        @with_pair
        async def test(one, other):
            data, room = os.urandom(size), bytearray(size + 3)
            assert await asyncio.gather(one.send(data), other.receive_into(room)) == [None, size]
            assert room == data + bytes(3)
            sent = other.send(data)
            assert await one.receive() == data
            await sent
        test()


@awaited
async def test_host_names():
    one, other = await meet(host="localhost")
    assert one.peer == other.local and "from" in repr(one)
    await asyncio.gather(one.close(), other.close())
    assert repr(one).endswith("closed>")


@with_pair
async def test_posted_ahead(one, other):
    rooms = [bytearray(10) for _ in range(1000)]
    posted = [other.receive_into(room) for room in rooms]
    for i in range(1000):
        one.send(b"%010d" % i)
    assert await asyncio.gather(*posted) == [10] * 1000
    assert rooms == [b"%010d" % i for i in range(1000)]


@with_pair
async def test_batches(one, other):
    rooms = [bytearray(64) for _ in range(64)]
    for _ in range(5):
        received = other.receive_batch(rooms)
        await one.send_batch([bytes([i]) * i for i in range(64)])
        assert await received == list(range(64))
    assert await one.send_batch([]) is None and await other.receive_batch([]) == []


@with_pair
async def test_batch_with_one_that_fails(one, other):
    received = other.receive_batch([bytearray(10), bytearray(3), bytearray(10)])
    sent = one.send_batch([b"0123456789"] * 3)
    with pytest.raises(zcrp.TooLargeError) as failure:
        await received
    assert (failure.value.index, failure.value.size) == (1, 10)
    with pytest.raises(zcrp.Error):
        await sent


@with_pair
async def test_what_has_ended_leaves_nothing(one, other):
    for _ in range(200):
        await asyncio.gather(one.send(b"x"), other.receive_into(bytearray(1)))
    assert len(one._handle.posted[SENDER]) < 10 and len(other._handle.posted[RECEIVER]) < 10


@with_pair
async def test_what_is_cancelled_leaves_nothing(one, other):
    """Though a buffer before it stays in flight."""
    first = other.receive_into(bytearray(1))
    for _ in range(1000):
        other.receive_into(bytearray(1)).cancel()
    assert len(other._handle.posted[RECEIVER]) < 200
    await one.send(b"x")
    assert await first == 1


@with_pair
async def test_bad_buffers(one, other):
    for call in (one.receive_into, lambda b: one.receive_batch([b])):
        with pytest.raises(BufferError, match="read-only"):
            call(b"read-only")
    with pytest.raises(TypeError):
        one.send("text")
    assert not one._waiting and not one._handle.held[0]


@with_pair
async def test_receive_sizes_in_order(one, other):
    sizes = [3, 0, 70_000, 5]
    sent = [one.send(bytes(size)) for size in sizes]
    assert [len(found) for found in await asyncio.gather(*(other.receive() for _ in sizes))] == sizes
    await asyncio.gather(*sent)


@with_pair
async def test_receive_is_posted_at_once(one, other):
    """Though nobody awaits it. Messages land in the order of the calls, also where the size has to be asked for."""
    first, second = other.receive(), other.receive_into(room := bytearray(10))
    third, fourth = other.receive_batch(rooms := [bytearray(1), bytearray(1)]), other.receive()
    with pytest.raises(BufferError):
        room.append(1)  # it is held already
    for message in (b"first", b"second", b"3", b"4", b"last"):
        await one.send(message)
    assert await fourth == b"last" and await third == [1, 1] and await second == 6 and await first == b"first"
    assert bytes(room[:6]) == b"second" and [bytes(one) for one in rooms] == [b"3", b"4"]
    room.append(1)


@with_pair
async def test_cancelled_before_its_turn(one, other):
    """It loses nothing, and does not hold up those behind it."""
    first, second, third = other.receive(), other.receive_into(room := bytearray(9)), other.receive()
    assert second.cancel() and second.cancelled() and not second.cancel()
    room.append(1)
    fourth = other.receive_into(bytearray(9))
    assert third.cancel() and first.cancel() and first.cancelled()
    await one.send(b"message")
    assert await fourth == 7 and not other._asking
    for cancelled in (first, second, third):
        with pytest.raises(asyncio.CancelledError):
            await cancelled


@with_pair
async def test_what_waits_for_its_turn_ends_with_the_connection(one, other):
    waiting = [other.receive(), other.receive_into(bytearray(1)), other.receive_batch([bytearray(1)]), other.receive()]
    mine = [one.receive(), one.receive_into(bytearray(1)), one.receive()]
    assert await one.close() is True
    for posted in mine:
        assert posted.done()
        with pytest.raises(zcrp.ClosedError):
            await posted
    for posted in waiting:
        with pytest.raises(zcrp.EndOfStreamError):
            await posted
    assert not one._asking and not other._asking


@with_pair
async def test_sizes_that_cannot_be(one, other):
    for limit, kind in ((-1, ValueError), ("5", TypeError), (5.0, TypeError)):
        with pytest.raises(kind, match="a limit"):
            other.receive(limit=limit)


@with_pair
async def test_limit(one, other):
    sent = one.send(b"12345")
    with pytest.raises(zcrp.TooLargeError, match="the message has 5 bytes, the limit is 4") as failure:
        await other.receive(limit=4)
    assert failure.value.size == 5
    assert await other.receive(limit=5) == b"12345"
    await sent


@with_pair
async def test_cancelling_a_task_takes_back(one, other):
    room = bytearray(10)

    async def receive():
        await other.receive_into(room)

    task = asyncio.ensure_future(receive())
    await asyncio.sleep(0.05)
    with pytest.raises(BufferError):
        room.append(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    del task
    gc.collect()
    room.append(1)
    with pytest.raises(zcrp.PeerCancelledError):
        await one.send(b"for it")
    assert not other._waiting


@with_pair
async def test_cancelling_is_at_once(one, other):
    """Not in some later turn of the loop."""
    room = bytearray(10)
    posted = other.receive_into(room)
    assert posted.cancel() is True and posted.cancelled() and posted.cancel() is False
    del posted
    room.append(1)
    batch = one.send_batch([room, room])
    assert batch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await batch


@with_pair
async def test_cancel_of_what_has_ended_keeps_the_result(one, other):
    posted = other.receive_into(room := bytearray(2))
    sent = one.send(b"ok")
    while one.statistics().sender["messages"] == 0:
        time.sleep(0.001)  # the loop does not run meanwhile
    assert posted.cancel() is False and posted.done() and await posted == 2 and room == b"ok"
    await sent


@with_pair
async def test_time_limits(one, other):
    for call in (lambda: other.receive(), lambda: other.receive_into(bytearray(100))):
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(call(), 0.05)
    sent = one.send(b"for the buffer"), one.send(b"for the next")
    with pytest.raises(zcrp.PeerCancelledError):
        await sent[0]
    assert await other.receive() == b"for the next"
    await sent[1]


@with_pair
async def test_cancelled_receive_loses_nothing_while_it_waits_for_a_size(one, other):
    task = asyncio.ensure_future(other.receive())
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    sent = one.send(b"whole")
    assert await other.receive() == b"whole"
    await sent


@with_pair
async def test_the_peer_closes(one, other):
    posted, asked = other.receive_into(bytearray(1)), asyncio.ensure_future(other.receive())
    await asyncio.sleep(0.05)
    assert other.status() is None and await one.close() is True and await one.close() is True
    for waiting in (posted, asked):
        with pytest.raises(zcrp.EndOfStreamError):
            await waiting
    assert isinstance(other.status(), zcrp.PeerClosedError)
    with pytest.raises(zcrp.PeerClosedError) as failure:
        await other.send(b"x")
    assert not isinstance(failure.value, EOFError)


@with_pair
async def test_a_loop_ends_with_what_the_peer_sent(one, other):
    sent = [b"a", b"", b"c" * 100000]

    async def send():
        for message in sent:
            await one.send(message)
        await one.close()

    sending = asyncio.ensure_future(send())
    assert [message async for message in other] == sent and [message async for message in other] == []
    await sending


@with_pair
async def test_end_that_is_known_late(one, other):
    """The end of the connection was told before the receiver knew that nothing comes: it is asked again."""
    other._events.remove(other, other._member)
    other._is_lost = True
    received = other.receive()
    await asyncio.gather(one.close(), other._loop.run_in_executor(None, time.sleep, 0.05))
    with pytest.raises(zcrp.EndOfStreamError):
        await asyncio.wait_for(received, LONG)


@with_pair
async def test_use_after_close(one, other):
    await one.close()
    for call in (lambda: one.send(b"x"), lambda: one.receive_into(bytearray(1)), lambda: one.send_batch([b"x"])):
        with pytest.raises(zcrp.ClosedError):
            call()
    with pytest.raises(zcrp.ClosedError):
        await one.receive()
    with pytest.raises(zcrp.ClosedError):
        one.statistics()


@with_pair
async def test_close_ends_what_waits(one, other):
    waiting = [one.receive_into(bytearray(1)), asyncio.ensure_future(one.receive()),
               one.receive_batch([bytearray(1)] * 3)]
    await asyncio.sleep(0.05)
    assert await one.close() is True
    for call in waiting:
        with pytest.raises(zcrp.ClosedError):
            await call


@with_pair
async def test_close_waits_for_what_was_sent(one, other):
    sent = one.send(bytes(1 << 20))
    closing = asyncio.ensure_future(one.close())
    await asyncio.sleep(0.1)
    assert not closing.done()
    assert len(await other.receive()) == 1 << 20
    assert await closing is True
    assert await sent is None


@awaited
async def test_close_that_is_cancelled_takes_back():
    one, other = await meet(zcrp.Options(linger=60))
    sent = one.send(room := bytearray(10))
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(one.close(), 0.1)
    room.append(1)
    with pytest.raises(zcrp.MessageCancelledError):
        await sent
    await asyncio.gather(one.close(), other.close())


@awaited
async def test_close_that_is_cancelled_leaves_nothing():
    """Though nobody looks whether it is closed."""
    one, other = await meet(zcrp.Options(linger=1))
    one.send(bytearray(10))
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(one.close(), 0.1)
    await other.close()
    deadline = time.monotonic() + LONG
    while one._handle in _door._open and time.monotonic() < deadline:
        await asyncio.sleep(0.01)
    assert one._handle not in _door._open and not one._over._waiters
    assert await asyncio.wait_for(asyncio.gather(one.close(), one.close()), LONG) == [True] * 2


@with_pair
async def test_abort(one, other):
    room = bytearray(10)
    posted, sent, asked = one.receive_into(room), one.send(room), asyncio.ensure_future(one.receive())
    await asyncio.sleep(0.05)
    one.abort()
    one.abort()
    room.append(1)
    for waiting in (posted, sent):
        with pytest.raises(zcrp.MessageCancelledError):
            await waiting
    with pytest.raises(zcrp.ClosedError):
        await asked


@awaited
async def test_abort_during_a_close():
    """It cancels what the close waits for."""
    one, other = await meet(zcrp.Options(linger=60))
    sent = one.send(room := bytearray(10))
    closing = asyncio.ensure_future(one.close())
    while not one._handle.was_closed:
        await asyncio.sleep(0)
    one.abort()
    room.append(1)
    with pytest.raises(zcrp.MessageCancelledError):
        await sent
    await asyncio.gather(closing, other.close())


@awaited
async def test_refused_and_time_limits():
    async with await zcrp.asyncio.listen(HOST) as listener:
        assert listener.statistics().connections == 0
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(listener.accept(), 0.05)
        assert not listener._callers._waiters
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mute, pytest.raises(zcrp.CallTimeoutError):
            mute.bind((HOST, 0))
            await zcrp.asyncio.connect(HOST, mute.getsockname()[1], timeout=0.1)
        port = listener.port
    with pytest.raises(zcrp.RefusedError):
        await zcrp.asyncio.connect(HOST, port, IMPATIENT)
    for host in ("", "no host of this name."):
        with pytest.raises(zcrp.AddressError):
            await zcrp.asyncio.connect(host, 7000)
    with pytest.raises(ValueError):
        await zcrp.asyncio.connect(HOST, 7000, timeout=-1)


@awaited
async def test_a_connect_that_is_cancelled_while_the_resolver_works():
    """What its thread opens then is closed."""
    opened, is_cancelled, connect = [], threading.Event(), _door.connect

    def late(*arguments):
        assert is_cancelled.wait(LONG)
        opened.append(connect(*arguments))
        return opened[0]

    with pytest.MonkeyPatch.context() as patch:
        async with await zcrp.asyncio.listen(HOST) as listener:
            patch.setattr(_door, "connect", late)
            connecting = asyncio.ensure_future(zcrp.asyncio.connect(HOST, listener.port))
            await asyncio.sleep(0.01)
            connecting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await connecting
            is_cancelled.set()
            for _ in range(int(1000 * LONG)):
                if opened and opened[0].was_closed:
                    break
                await asyncio.sleep(0.001)
            assert opened[0].was_closed


@awaited
async def test_time_limit_of_a_connect_while_the_resolver_works():
    """What its thread opens behind the limit is closed."""
    opened, is_over, connect = [], threading.Event(), _door.connect

    def late(*arguments):
        is_over.wait(LONG)
        opened.append(connect(*arguments))
        return opened[0]

    with pytest.MonkeyPatch.context() as patch:
        async with await zcrp.asyncio.listen(HOST) as listener:
            patch.setattr(_door, "connect", late)
            with pytest.raises(zcrp.CallTimeoutError):
                await zcrp.asyncio.connect(HOST, listener.port, timeout=0.1)
            assert not opened
            is_over.set()
            for _ in range(int(1000 * LONG)):
                if opened and opened[0].was_closed:
                    break
                await asyncio.sleep(0.001)
            assert opened[0].was_closed


def test_a_loop_is_closed_while_the_resolver_works(caplog):
    """The thread still opens a connection, which nobody gets. So it is closed."""
    caplog.set_level(logging.CRITICAL, "concurrent.futures")  # Python before 3.12 logs that the loop is closed
    is_over, connect = threading.Event(), _door.connect

    def late(*arguments):
        is_over.wait(LONG)
        return connect(*arguments)

    with pytest.MonkeyPatch.context() as patch, zcrp.listen(HOST) as listener:
        patch.setattr(_door, "connect", late)
        loop = asyncio.new_event_loop()
        with pytest.raises(zcrp.CallTimeoutError):
            loop.run_until_complete(zcrp.asyncio.connect(HOST, listener.port, timeout=0.1))
        loop.close()
        is_over.set()
        with listener.accept(LONG) as here, pytest.raises(zcrp.PeerClosedError):
            until = time.monotonic() + LONG
            while time.monotonic() < until:
                gc.collect()
                with contextlib.suppress(zcrp.CallTimeoutError):
                    here.receive(0.05)


@awaited
async def test_a_cancelled_connect_keeps_its_keys():
    """They are the library's to read as long as the thread that resolves the name works."""
    try:
        keys = zcrp.Keys.psk("laboratory", bytes(range(32)))
    except zcrp.NoKeysError as error:
        pytest.skip(str(error))
    known, is_there, is_cancelled, connect = weakref.ref(keys), [], threading.Event(), _door.connect

    def late(*arguments):
        assert is_cancelled.wait(LONG)
        gc.collect()
        is_there.append(known() is not None)
        return connect(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_door, "connect", late)
        connecting = asyncio.ensure_future(zcrp.asyncio.connect(HOST, 9, zcrp.Options(keys=keys)))
        del keys
        await asyncio.sleep(0.01)
        connecting.cancel()
        await asyncio.wait({connecting})
        del connecting
        is_cancelled.set()
        while not is_there or _door._open:
            await asyncio.sleep(0.001)
    assert is_there == [True]


@awaited
async def test_close_by_several_tasks():
    """Each of them ends, also if another one is cancelled."""
    async with await zcrp.asyncio.listen(HOST) as listener:
        one, other = await meet_at(listener)
        sent = one.send(b"received late")
        closing = [asyncio.ensure_future(one.close()) for _ in range(3)]
        await asyncio.sleep(0.05)
        assert await other.receive() == b"received late"
        assert await asyncio.wait_for(asyncio.gather(*closing), LONG) == [True] * 3
        await sent
        await asyncio.wait_for(asyncio.gather(other.close(), other.close()), LONG)
        one, other = await meet_at(listener)
        sent = one.send(b"nobody receives")
        first, second = (asyncio.ensure_future(one.close()) for _ in range(2))
        await asyncio.sleep(0.05)
        second.cancel()
        await asyncio.wait_for(asyncio.gather(first, other.close()), LONG)
        assert isinstance(sent.exception(), zcrp.Error)
        await asyncio.wait_for(asyncio.gather(listener.close(), listener.close()), LONG)


@awaited
async def test_first_messages():
    async with await zcrp.asyncio.listen(HOST, options=zcrp.Options(first_messages=2)) as listener:
        there, here = await meet_at(listener)
        waiting = [asyncio.ensure_future(here.receive_first(i)) for i in range(2)]
        await there.send(b"first")
        assert await waiting[0] == b"first" and await here.receive_first() == b"first"
        with pytest.raises(IndexError):
            await here.receive_first(2)
        await here.close()
        with pytest.raises(zcrp.ClosedError):
            await waiting[1]
        await there.close()


@awaited
async def test_close_ends_accept():
    listener = await zcrp.asyncio.listen(HOST)
    waiting = [asyncio.ensure_future(listener.accept()) for _ in range(3)]
    await asyncio.sleep(0.05)
    await listener.close()
    for task in waiting:
        with pytest.raises(zcrp.ClosedError):
            await task
    await listener.close()
    assert repr(listener).endswith("closed>")


@awaited
async def test_many_accept():
    async with await zcrp.asyncio.listen(HOST) as listener:
        here = asyncio.gather(*(listener.accept() for _ in range(20)))
        there = await asyncio.gather(*(zcrp.asyncio.connect(HOST, listener.port) for _ in range(20)))
        here = await here
    assert sorted(c.peer for c in here) == sorted(c.local for c in there)
    await asyncio.gather(*(connection.close() for connection in here + there))


@with_pair
async def test_one_wake_for_many(one, other):
    """What has ended when the loop looks is told in one turn."""
    turns = 0
    events = other._events

    def counting():
        nonlocal turns
        turns += 1
        events.take()

    other._loop.add_reader(events.descriptor, counting)
    posted = [other.receive_into(bytearray(8)) for _ in range(200)]
    sent = [one.send(bytes(8)) for _ in range(200)]
    while one.statistics().sender["messages"] < 200:
        time.sleep(0.001)
    assert await asyncio.gather(*posted) == [8] * 200
    assert turns <= 3
    await asyncio.gather(*sent)


def descriptors():
    return len(os.listdir("/proc/self/fd"))


@awaited
async def test_one_descriptor_a_loop():
    """However many connections there are, the loop watches one descriptor for all."""
    loop = asyncio.get_running_loop()
    watched = len(loop._selector.get_map())
    async with await zcrp.asyncio.listen(HOST) as listener:
        pairs = [await meet_at(listener) for _ in range(5)]
        assert len(loop._selector.get_map()) == watched + 1
        for one, other in pairs:
            sent = one.send(b"to each")
            assert await other.receive() == b"to each"
            await sent
        before = descriptors()
        await asyncio.gather(*(end.close() for pair in pairs for end in pair))
        assert before - descriptors() >= 10
    assert len(loop._selector.get_map()) == watched


async def meet_at(listener):
    one, other = await asyncio.gather(zcrp.asyncio.connect(HOST, listener.port), listener.accept())
    return one, other


@with_pair
async def test_send_copy(one, other):
    data = bytearray(b"an answer")
    one.send_copy(data)
    data[:] = bytes(9)
    assert await other.receive() == b"an answer"
    with pytest.raises(zcrp.SizeError):
        one.send_copy(bytes(16385))


def test_loop_that_is_gone():
    """A connection that was not closed when its loop was: it warns, and its buffers are free."""
    room = bytearray(10)

    async def forget():
        one, other = await meet()
        one.receive_into(room)
        return other

    loop = asyncio.new_event_loop()
    other = loop.run_until_complete(forget())
    with pytest.warns(ResourceWarning, match=r"asyncio.Connection from [\d.:]+ to [\d.:]+> was not closed"):
        loop.close()
        del loop, other
        gc.collect()
    room.append(1)


def test_close_that_ends_with_its_loop():
    """It is cancelled, and that loop tells nothing any more. What is opened next looks after it."""
    async def leave():
        one, other = await meet(zcrp.Options(linger=1))
        one.send(bytearray(10))
        closing = asyncio.ensure_future(one.close())
        await asyncio.sleep(0.01)
        assert not closing.done()
        # It takes longer to close than the loop lasts.
        assert one._loop.remove_reader(_door.lib.door_closed_descriptor(one._handle.door))
        return one._handle, other

    async def meet_again():
        await asyncio.gather(*(end.close() for end in await meet()))

    handle, other = asyncio.run(leave())
    assert handle in _door._open
    other.abort()
    deadline = time.monotonic() + LONG
    while handle in _door._open and time.monotonic() < deadline:
        asyncio.run(meet_again())
    assert handle not in _door._open and handle not in _door._left


@awaited
async def test_signal_during_a_cancelled_close():
    """A signal strikes while the close cancels messages. The others count as cancelled, and an abort cancels them."""
    one, other = await meet(zcrp.Options(linger=60))
    room = bytearray(4)
    posted, sent = one.receive_into(room), one.send(bytes(10))

    class Signalled(Exception):
        pass

    class Struck(StoppedPeer):
        def door_post_cancel(self, post, has_cancelled):
            self.looks += 1
            if self.looks == 1:
                raise Signalled
            return zcrp._zcrp.lib.door_post_cancel(post, has_cancelled)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_door, "lib", Struck())
        closing = asyncio.ensure_future(one.close())
        await asyncio.sleep(0)
        closing.cancel()
        await asyncio.wait([closing])
        assert isinstance(closing.exception(), Signalled)
    for ended in (posted, sent):
        with pytest.raises((zcrp.MessageCancelledError, zcrp.ClosedError)):
            await ended
    del closing, posted, sent, ended  # the traceback
    gc.collect()
    one.abort()
    room.append(1)
    assert await one.close() in (True, False)
    await other.close()


@with_pair
async def test_time_limit_while_a_peer_is_stopped(one, other):
    """It is amid a copy to the buffer. The loop goes on, and the buffer is held until the peer goes on, too."""
    room = bytearray(4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_door, "lib", StoppedPeer())
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(other.receive_into(room), 0.05)
        with pytest.raises(BufferError):
            room.append(1)
    await one.send(b"word")
    while other._waiting:
        await asyncio.sleep(0)
    room.append(1)


@awaited
async def test_abort_while_a_peer_is_stopped():
    """It returns. The buffer is held until the connection is closed, which waits for the peer."""
    one, other = await meet()
    room = bytearray(4)
    all_posted = [other.receive_into(room) for _ in range(50)]

    class Stopped(StoppedPeer):
        def door_close(self, door):
            """It waits for the peer."""

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_door, "lib", Stopped())
        other.abort()
        assert _door.lib.looks <= 4  # each takes 100 ms
        for posted in all_posted:
            with pytest.raises((zcrp.MessageCancelledError, zcrp.ClosedError)):
                await posted
        with pytest.raises(BufferError):
            room.append(1)
        assert other._handle in _door._open and other._handle in _door._left
    await other.close()
    room.append(1)
    await one.close()


@awaited
async def test_cancelled_close_while_a_peer_is_stopped():
    one, other = await meet(zcrp.Options(linger=60))
    posted, sent = one.receive_into(room := bytearray(4)), one.send(bytes(10))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_door, "lib", StoppedPeer())
        closing = asyncio.ensure_future(one.close())
        await asyncio.sleep(0)  # so that it waits
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        for ended in (posted, sent):
            with pytest.raises((zcrp.MessageCancelledError, zcrp.ClosedError)):
                await ended
    assert one._handle.held[SENDER]
    one.abort()
    await asyncio.gather(one.close(), other.close())
    room.append(1)


def test_exit_with_messages_in_flight():
    run_program("""
        import asyncio, zcrp, zcrp.asyncio
        async def main():
            listener = await zcrp.asyncio.listen("127.0.0.1")
            one, other = await asyncio.gather(zcrp.asyncio.connect("127.0.0.1", listener.port), listener.accept())
            for _ in range(20):
                one.receive_into(bytearray(1 << 20))
                other.send(bytes(1 << 20))
            asyncio.ensure_future(one.receive())
            await asyncio.sleep(0)
        asyncio.run(main())
        """)


#: An event loop in a thread that goes on as the program ends, and a pair of its connections.
DAEMON = """
import asyncio, atexit, threading
import zcrp, zcrp.asyncio
loop = asyncio.new_event_loop()
threading.Thread(target=loop.run_forever, daemon=True).start()

def run(coroutine):
    return asyncio.run_coroutine_threadsafe(coroutine, loop).result(20)

async def meet():
    listener = await zcrp.asyncio.listen("127.0.0.1")
    one, other = await asyncio.gather(zcrp.asyncio.connect("127.0.0.1", listener.port), listener.accept())
    return listener, one, other
"""


def test_exit_ends_what_a_loop_waits_for():
    """A loop in another thread goes on behind the close of all: nobody waits there for what does not come."""
    printed = run_program("""
import atexit
atexit.register(lambda: look())  # before any package registers its own, so it runs behind theirs
""" + DAEMON + """
async def wait():
    global waiting
    ends = listener, one, other = await meet()
    calls = (one.receive_into(bytearray(1)), one.receive_batch([bytearray(1)] * 2), other.receive(),
             other.receive_into(bytearray(1)), listener.accept())
    waiting = [asyncio.ensure_future(call) for call in calls]
    await asyncio.sleep(0.01)
    return ends

def look():
    run(asyncio.wait(waiting, timeout=5))
    print([call.done() and isinstance(call.exception(), ConnectionError) for call in waiting])

ends = run(wait())
""")
    assert printed == f"{[True] * 5}\n"


def test_connect_at_exit():
    """No thread starts any more that could look up a name."""
    printed = run_program(DAEMON + """
async def meet_and_part():
    for end in await meet():
        await end.close()

@atexit.register
def connect():
    run(meet_and_part())
    print("up")
""")
    assert printed == "up\n"


def test_ctrl_c():
    printed = run_program("""
        import asyncio, os, signal, threading, zcrp, zcrp.asyncio
        async def main():
            async with await zcrp.asyncio.listen("127.0.0.1") as listener:
                threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
                await listener.accept()
        try:
            asyncio.run(main())
        except KeyboardInterrupt:
            print("as it should")
        """)
    assert printed == "as it should\n"


def test_no_descriptor_left_for_a_close():
    """It looks every now and then instead."""
    run_program("""
        import asyncio, resource, os, zcrp, zcrp.asyncio
        async def main():
            listener = await zcrp.asyncio.listen("127.0.0.1")
            one, other = await asyncio.gather(zcrp.asyncio.connect("127.0.0.1", listener.port), listener.accept())
            taken = []
            resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
            try:
                while True:
                    taken.append(os.dup(0))
            except OSError:
                pass
            assert await asyncio.gather(one.close(), other.close(), listener.close()) == [True, True, None]
        asyncio.run(main())
        """)
