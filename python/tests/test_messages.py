"""Messages by calls that wait: sizes, directions, posting ahead, batches, time limits, many threads."""
import os
import threading
import time

import pytest

import zcrp
from conftest import LONG, HOST, StoppedPeer, in_thread, meet
from zcrp import _door
from zcrp._zcrp import ffi

SIZES = [0, 1, 63, 64, 1000, 1 << 14, 100_001, 1 << 20]


@pytest.mark.parametrize("size", SIZES)
def test_receive_into(pair, size):
    one, other = pair
    data, room = os.urandom(size), bytearray(size + 3)
    thread = in_thread(lambda: one.send(data, LONG))
    assert other.receive_into(room, LONG) == size
    thread.join()
    assert room == data + bytes(3)


@pytest.mark.parametrize("size", SIZES)
def test_receive_asks_for_the_size(pair, size):
    one, other = pair
    data = os.urandom(size)
    for _ in range(2):
        posted = one.post_send(data)
        found = other.receive(LONG)
        assert isinstance(found, bytearray)
        assert found == data
        assert posted.wait(LONG) == size
    found += b"and it may grow"


@pytest.mark.parametrize("host", [HOST, "::1"])
def test_both_directions_and_addresses(host):
    one, other = meet(host=host)
    with one, other:
        assert one.peer == other.local and one.local == other.peer
        assert host in one.peer and repr(one) == f"<zcrp.Connection from {one.local} to {one.peer}>"
        for a, b in ((one, other), (other, one)):
            posted = b.post_receive(room := bytearray(5))
            a.send(b"hello", LONG)
            assert posted.wait(LONG) == 5 and room == b"hello"


def test_posted_ahead_in_order(pair):
    one, other = pair
    rooms = [bytearray(100) for _ in range(50)]
    posted = [other.post_receive(room) for room in rooms]
    assert not posted[0].done
    for i in range(50):
        one.post_send(bytes([i]) * 100)
    assert [message.wait(LONG) for message in posted] == [100] * 50
    assert rooms == [bytes([i]) * 100 for i in range(50)]
    assert posted[0].done and posted[0].wait() == 100  # again


def test_batch(pair):
    one, other = pair
    rooms = [bytearray(64) for _ in range(64)]
    batch = other.post_receive_batch(rooms)
    assert len(batch) == 64 and not batch.done
    sent = one.post_send_batch([bytes([i]) * i for i in range(64)])
    assert sent.wait(LONG) == batch.wait(LONG) == list(range(64))
    assert batch.done and batch.errors() == [None] * 64
    assert rooms == [bytes([i]) * i + bytes(64 - i) for i in range(64)]


def test_batch_of_none(pair):
    batch = pair[0].post_send_batch([])
    assert batch.wait(0) == [] and batch.done and batch.errors() == [] and len(batch) == 0


def test_batch_with_one_that_fails(pair):
    one, other = pair
    batch = other.post_receive_batch([bytearray(10), bytearray(3), bytearray(10)])
    sent = one.post_send_batch([b"0123456789"] * 3)
    with pytest.raises(zcrp.TooLargeError) as failure:
        batch.wait(LONG)
    assert (failure.value.index, failure.value.size) == (1, 10)
    first, second, third = batch.errors()
    assert first is third is None and isinstance(second, zcrp.TooLargeError)
    with pytest.raises(zcrp.Error):
        sent.wait(LONG)


def test_batch_is_posted_whole_or_not_at_all(pair):
    one, other = pair
    with pytest.raises(BufferError):
        other.post_receive_batch([bytearray(1), b"read-only"])
    posted = other.post_receive(room := bytearray(1))
    one.send(b"x", LONG)
    assert posted.wait(LONG) == 1 and room == b"x"


def test_wait_for_any(pair):
    one, other = pair
    first, second = other.post_receive(bytearray(1)), other.post_receive_batch([bytearray(1), bytearray(1)])
    assert zcrp.wait([first, second], 0) == []
    started = time.monotonic()
    assert zcrp.wait([first, second], 0.12) == []
    assert 0.1 < time.monotonic() - started < 5
    one.send(b"1", LONG)
    assert zcrp.wait([first, second], LONG) == [first]
    assert zcrp.wait([second], 0) == []
    thread = in_thread(lambda: (time.sleep(0.1), one.send(b"2", LONG), one.send(b"3", LONG)))
    assert zcrp.wait([second], LONG) == [second]
    assert zcrp.wait([first, second]) == [first, second]
    thread.join()
    with pytest.raises(ValueError, match="nothing to wait for"):
        zcrp.wait([])


def test_time_limits(pair):
    one, _ = pair
    for wait in (0, 0.01, 0.2):
        for call in (lambda: one.send(b"x", wait), lambda: one.receive(wait),
                     lambda: one.receive_into(bytearray(1), wait)):
            started = time.monotonic()
            with pytest.raises(zcrp.CallTimeoutError, match="the time limit passed"):
                call()
            assert wait <= time.monotonic() - started < wait + 5


def test_time_limit_while_a_peer_is_stopped(pair, monkeypatch):
    """It is amid a copy to the buffer, which is held until the peer goes on: a later call releases it."""
    one, other = pair
    room = bytearray(4)
    with monkeypatch.context() as patch:
        patch.setattr(_door, "lib", StoppedPeer())
        with pytest.raises(zcrp.CallTimeoutError) as failure:
            other.receive_into(room, timeout=0.05)
        with pytest.raises(BufferError):
            room.append(1)
    one.send(b"word")
    thread = in_thread(lambda: one.send(b"next"))
    assert other.receive_into(bytearray(4)) == 4
    thread.join()
    room.append(1)
    assert failure.type is zcrp.CallTimeoutError  # whose traceback does not hold the buffer


def test_wait_that_times_out_leaves_the_message(pair):
    one, other = pair
    posted = other.post_receive(room := bytearray(1))
    for _ in range(3):
        with pytest.raises(zcrp.CallTimeoutError):
            posted.wait(0.06)
    one.send(b"x", LONG)
    assert posted.wait(LONG) == 1 and room == b"x"


def test_receive_that_times_out_loses_nothing(pair):
    one, other = pair
    with pytest.raises(zcrp.CallTimeoutError):
        other.receive(0.05)
    sent = one.post_send(b"later")
    assert other.receive(LONG) == b"later" and sent.wait(LONG) == 5


@pytest.mark.parametrize("timeout", [-1, float("nan"), -float("inf")])
def test_time_limits_that_are_none(pair, timeout):
    for call in (lambda: pair[0].send(b"x", timeout), lambda: pair[0].receive(timeout),
                 lambda: pair[0].post_send(b"x").wait(timeout), lambda: zcrp.connect(HOST, 1, timeout=timeout)):
        with pytest.raises(zcrp.ArgumentError, match="a time limit cannot be"):
            call()


def test_without_end_is_without_limit(pair):
    one, other = pair
    sent = one.post_send(b"x")
    assert other.receive(float("inf")) == b"x"
    assert sent.wait(1e30) == sent.wait(1e300) == 1


def test_a_signal_at_any_instruction_of_a_receive(pair):
    """Also at the one behind the lock that gives it its turn: others have theirs nevertheless."""
    one, other = pair
    turn, struck = other._receiving, []

    class Struck:
        """A lock that a signal's exception follows, once."""
        def acquire(self, *arguments, **named):
            turn.acquire(*arguments, **named)
            if not struck:
                struck.append(True)
                raise KeyboardInterrupt
            return True

        def __getattr__(self, name):
            return getattr(turn, name)

    other._receiving = Struck()
    with pytest.raises(KeyboardInterrupt):
        other.receive()
    sent, found = one.post_send(b"whole"), []
    in_thread(lambda: found.append(other.receive(LONG))).join()
    assert found == [b"whole"] and sent.wait(LONG) == 5


@pytest.fixture
def with_first():
    """A listener with two first buffers, and a caller."""
    with zcrp.listen(HOST, options=zcrp.Options(first_messages=2, first_bytes=8)) as listener:
        with zcrp.connect(HOST, listener.port) as there, listener.accept(LONG) as here:
            yield here, there


def test_first_messages(with_first):
    """They land before the program has posted anything, and what it posts is for the next ones."""
    here, there = with_first
    sent = there.post_send_batch([b"first", b"", b"third"])
    assert here.receive_first(timeout=LONG) == b"first" and here.receive_first(1, LONG) == b""
    assert here.receive_first() == b"first"  # again
    room = bytearray(8)
    assert here.receive_into(room, LONG) == 5 and room[:5] == b"third"
    assert sent.wait(LONG) == [5, 0, 5]
    for end, index in ((here, 2), (here, 1 << 70), (there, 0)):
        with pytest.raises(IndexError, match=f"no first message {index}"):
            end.receive_first(index)
    with pytest.raises(zcrp.ArgumentError, match="an index cannot be -1"):
        here.receive_first(-1)
    here.close()
    with pytest.raises(zcrp.ClosedError):
        here.receive_first()


def test_first_messages_that_fail(with_first):
    here, there = with_first
    with pytest.raises(zcrp.CallTimeoutError):
        here.receive_first(0, 0.01)
    with pytest.raises(zcrp.TooLargeError):
        there.send(b"123456789", LONG)
    with pytest.raises(zcrp.TooLargeError) as failure:
        here.receive_first(0, LONG)
    assert failure.value.size == 9
    thread = in_thread(there.close)
    with pytest.raises(zcrp.EndOfStreamError):
        here.receive_first(1, LONG)
    thread.join()


def test_close_ends_the_wait_for_a_first_message(with_first):
    here, _ = with_first
    ended = []

    def wait():
        with pytest.raises(zcrp.ClosedError):
            here.receive_first()
        ended.append(True)

    thread = in_thread(wait)
    time.sleep(0.1)
    here.close()
    thread.join()
    assert ended


def test_cancel(pair):
    one, other = pair
    posted = other.post_receive(bytearray(1))
    assert posted.cancel() is True and posted.done and posted.cancel() is False
    with pytest.raises(zcrp.MessageCancelledError):
        posted.wait()
    with pytest.raises(zcrp.PeerCancelledError):
        one.send(b"x", LONG)
    batch = one.post_send_batch([b"1", b"2"])
    assert batch.cancel() and [type(error) for error in batch.errors()] == [zcrp.MessageCancelledError] * 2


def test_too_large(pair):
    one, other = pair
    posted = other.post_receive(bytearray(4))
    sent = one.post_send(b"12345")
    with pytest.raises(zcrp.TooLargeError) as failure:
        posted.wait(LONG)
    assert failure.value.size == 5
    with pytest.raises(zcrp.Error):
        sent.wait(LONG)
    thread = in_thread(lambda: pytest.raises(zcrp.Error, one.send, b"12345", LONG))
    with pytest.raises(zcrp.TooLargeError) as failure:
        other.receive_into(bytearray(4), LONG)
    assert failure.value.size == 5
    thread.join()


def test_limit_leaves_the_message_with_the_peer(pair):
    one, other = pair
    sent = one.post_send(b"12345")
    with pytest.raises(zcrp.TooLargeError, match="the message has 5 bytes, the limit is 4") as failure:
        other.receive(LONG, limit=4)
    assert failure.value.size == 5
    assert other.receive(LONG, limit=5) == b"12345" and sent.wait(LONG) == 5


def test_many_threads(pair):
    """Each of them receives what some thread sent; nothing is lost and nothing comes twice."""
    one, other = pair
    found, lock = [], threading.Lock()

    def receive():
        for _ in range(25):
            message = bytes(other.receive(LONG))
            with lock:
                found.append(message)

    def send(number):
        for i in range(25):
            one.send(b"%d %d" % (number, i) * (1 + i * 100), LONG)

    threads = [in_thread(work) for work in [receive] * 4 + [lambda n=n: send(n) for n in range(4)]]
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted(b"%d %d" % (n, i) * (1 + i * 100) for n in range(4) for i in range(25))


def test_others_run_while_one_waits(pair):
    """A call that waits does not hold the interpreter's lock."""
    counted = []
    thread = in_thread(lambda: pytest.raises(zcrp.CallTimeoutError, pair[0].receive_into, bytearray(1), 0.5))
    while thread.is_alive():
        counted.append(time.monotonic())
        time.sleep(0.001)
    assert max(b - a for a, b in zip(counted, counted[1:])) < 0.3


def test_statistics(pair):
    one, other = pair
    posted = other.post_receive(bytearray(10))
    one.send(b"0123456789", LONG)
    posted.wait(LONG)
    assert one.statistics().sender["messages"] == 1 and one.statistics().sender["bytes"] == 10
    assert other.statistics().receiver["messages"] == 1
    assert "memory_refused" in one.statistics().receiver
    with zcrp.listen(HOST) as listener:
        assert listener.statistics() == zcrp.ListenerStatistics(0, 0, 0, 0)
    assert zcrp.ListenerStatistics._fields == tuple(name for name, _ in ffi.typeof("struct zcrp_listener_stats").fields)


def test_fire_and_forget_is_released(pair):
    """What nobody waits for is let go by later calls, though a buffer that was posted long ago is in flight."""
    one, other = pair
    other.post_receive(bytearray(1))
    one.post_receive(bytearray(1))
    batch = other.post_receive_batch([bytearray(1) for _ in range(99)])
    for i in range(100):
        one.post_send(b"x")
    assert batch.wait(LONG) == [1] * 99
    time.sleep(0.1)
    other.post_receive(bytearray(1))
    one.post_send(b"x").wait(LONG)
    assert len(one._handle.held[1]) <= 1


def test_an_ended_message_keeps_its_result(pair):
    """Also while others are posted after it, and to each thread that asks."""
    one, other = pair
    first = other.post_receive(bytearray(8))
    one.send(b"abc", LONG)
    assert first.wait(LONG) == 3
    for _ in range(3):
        posted = other.post_receive(bytearray(8))
        one.send(b"defgh", LONG)
        assert posted.wait(LONG) == 5
        del posted
    assert first.done and not first.cancel() and first.wait(LONG) == 3


def test_posts_are_used_again(pair):
    """Those of messages that have ended, and that nobody holds any more; each by one message at a time."""
    one, other = pair
    for _ in range(10):
        posted = other.post_receive(bytearray(8))
        one.send(b"x", LONG)
        assert posted.wait(LONG) == 1
        del posted
    assert len(other._handle.spare) == 1
    dropped = other.post_receive(bytearray(8))
    del dropped  # in flight: it keeps its post
    held = [other.post_receive(bytearray(8)) for _ in range(3)]
    assert len({ffi.cast("uintptr_t", message._post) for message in held}) == 3 and not other._handle.spare
    for message in held:
        assert message.cancel()
    del message, held
    assert len(other._handle.spare) == 3
    one.post_send(b"y")
