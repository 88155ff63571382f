"""Completion queues: what they tell, of whom, and what ends a take."""
import gc
import os
import selectors
import signal
import time

import pytest

import zcrp
import zcrp.queue as queue_module
from conftest import HOST, LONG, in_thread, meet, run_program
from zcrp import Happened, _door, _zcrp


@pytest.fixture
def queue():
    with zcrp.Queue() as opened:
        yield opened


@pytest.fixture
def pair():
    """Both ends know that the other one is there: so no queue tells of that."""
    one, other = meet()
    for here, there in ((one, other), (other, one)):
        posted = here.post_receive(bytearray(1))
        there.send(b"!")
        posted.wait()
    yield one, other
    thread = in_thread(one.close)
    other.close()
    thread.join()


def take(queue):
    """The next completion."""
    return queue.take(1, LONG)[0]


def test_messages(queue, pair):
    one, other = pair
    queue.add(one, "one")
    queue.add(other, "other")
    room = bytearray(8)
    received, sent = other.post_receive(room), one.post_send(b"a word")
    told = {completion.context: completion for completion in (take(queue), take(queue))}
    assert told["one"] == (Happened.MESSAGE_ENDED, one, "one", sent, None)
    assert told["other"] == (Happened.MESSAGE_ENDED, other, "other", received, None)
    assert received.wait(0) == 6 and room[:6] == b"a word"
    assert queue.take(timeout=0) == []
    assert not one._handle.held[1] and not other._handle.held[0]


def test_batch(queue, pair):
    """It is told once, when all of it has ended."""
    one, other = pair
    queue.add(other)
    batch = other.post_receive_batch([bytearray(4) for _ in range(3)])
    for i in range(3):
        assert queue.take(timeout=0) == []
        one.send(bytes(i))
    completion = take(queue)
    assert completion.message is batch and completion.error is None
    assert batch.wait() == [0, 1, 2]
    other.post_receive_batch([])  # which has ended
    assert not any(queue._asked.values())


def test_order_and_most(queue, pair):
    one, other = pair
    queue.add(other)
    posted = [other.post_receive(bytearray(4)) for _ in range(200)]
    for _ in posted:
        one.post_send(b"some")
    told = []
    while len(told) < 200:
        completions = queue.take(7, LONG)
        assert 1 <= len(completions) <= 7
        told += [completion.message for completion in completions]
    assert told == posted


def test_failures(queue, pair):
    one, other = pair
    queue.add(other)
    small, cancelled = other.post_receive(bytearray(2)), other.post_receive(bytearray(2))
    with pytest.raises(zcrp.TooLargeError):
        one.send(b"12345")
    completion = take(queue)
    assert completion.message is small
    assert isinstance(completion.error, zcrp.TooLargeError) and completion.error.size == 5
    assert cancelled.cancel()
    assert isinstance(take(queue).error, zcrp.MessageCancelledError)


def test_listener_and_connections(queue):
    """A server in one thread."""
    with zcrp.listen(HOST) as listener:
        queue.add(listener, "door")
        there = []
        thread = in_thread(lambda: there.append(zcrp.connect(HOST, listener.port)))
        called = take(queue)
        assert (called.what, called.source, called.context) == (Happened.PEER_CALLED, listener, "door")
        here = listener.accept(0)
        queue.add(here, "peer")
        thread.join()
        posted = here.post_receive(bytearray(10))
        there[0].send(b"hello")
        told = take(queue)
        while told.what is not Happened.MESSAGE_ENDED:
            assert told.what is Happened.CONNECTION_UP
            told = take(queue)
        assert told.message is posted
        in_thread(there[0].close)
        while (told := take(queue)).what is not Happened.CONNECTION_ENDED:
            pass
        assert told.source is here and isinstance(told.error, zcrp.PeerClosedError)
        here.close()
        assert len(queue) == 1


def test_offer(queue, pair):
    one, other = pair
    queue.add(other)
    with pytest.raises(zcrp.CallTimeoutError):
        other.receive(timeout=0)
    sent = one.post_send(b"of some size")
    assert take(queue).what is Happened.OFFER_CAME
    assert other.receive() == b"of some size"
    sent.wait()


def test_first_message(queue):
    """It is told without a message, which the connection has."""
    with zcrp.listen(HOST, options=zcrp.Options(first_messages=2)) as listener:
        with zcrp.connect(HOST, listener.port) as there, listener.accept(LONG) as here:
            queue.add(here, "here")
            there.send(b"at once")
            while (told := take(queue)).what is not Happened.MESSAGE_ENDED:
                pass
            assert told == (Happened.MESSAGE_ENDED, here, "here", None, None)
            assert here.receive_first(timeout=0) == b"at once"
            in_thread(there.close)
            while (told := take(queue)).what is not Happened.MESSAGE_ENDED:
                pass
            assert told.message is None and isinstance(told.error, zcrp.EndOfStreamError)


def test_waiting_calls_are_not_told(queue, pair):
    one, other = pair
    queue.add(one)
    queue.add(other)
    for _ in range(20):
        posted = other.post_receive(bytearray(4))
        one.send(b"some")
        assert take(queue).message is posted
    assert queue.take(timeout=0) == []


def test_message_that_nobody_keeps(queue, pair):
    """The queue keeps it until it is told."""
    one, other = pair
    queue.add(one)
    for _ in range(100):
        one.post_send(b"x")
    gc.collect()
    for _ in range(100):
        assert other.receive() == b"x"
    told = 0
    while told < 100:
        told += len(queue.take(timeout=LONG))
    assert not one._handle.told and not one._handle.held[1]


def test_two_threads_add_one_source(queue, pair):
    """One of them is refused, and the other one is told of all."""
    one, other = pair
    second, refused = zcrp.Queue(), []

    def add_to_second():
        try:
            second.add(other)
        except zcrp.ArgumentError as error:
            refused.append(error)

    class Members(dict):
        """The second thread comes when the first one has seen that the source is in no queue."""

        def __setitem__(self, number, member):
            self.thread = in_thread(add_to_second)
            self.thread.join(0.5)
            super().__setitem__(number, member)

    queue._members = members = Members()
    queue.add(other)
    members.thread.join()
    assert len(refused) == 1 and len(second) == 0
    other.post_receive(bytearray(4))
    one.send(b"some")
    assert take(queue).source is other
    second.close()


def test_remove(queue, pair):
    one, other = pair
    queue.add(other)
    with pytest.raises(zcrp.ArgumentError, match="in a queue already"):
        queue.add(other)
    posted = other.post_receive(bytearray(4))
    one.send(b"some")
    assert posted.wait() == 4
    queue.remove(other)
    assert queue.take(timeout=0) == [] and len(queue) == 0
    with pytest.raises(zcrp.ArgumentError, match="not in this queue"):
        queue.remove(other)
    queue.add(other)
    other.post_receive(bytearray(4))
    one.send(b"more")
    assert take(queue).source is other


def test_arguments(queue, pair):
    with pytest.raises(TypeError, match="connections and listeners"):
        queue.add("a string")
    with pytest.raises(TypeError):
        queue.remove(3)
    with pytest.raises(TypeError):
        queue.take("many")
    with pytest.raises(ValueError):
        queue.take(1, -1)
    closed = meet()
    for end in closed:
        in_thread(end.close)
    closed[0].close()
    with pytest.raises(zcrp.ClosedError):
        queue.add(closed[0])
    closed[1].close()


def test_time(queue):
    started = time.monotonic()
    assert queue.take(timeout=0.2) == []
    assert time.monotonic() - started >= 0.2


def test_signals_do_not_shorten_a_time_limit(queue):
    """Also one of a single slice."""
    came = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: came.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        started = time.monotonic()
        assert queue.take(timeout=0.05) == []
        assert time.monotonic() - started >= 0.05
        while not came:
            signal.pause()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_time_limit_while_others_end(queue, monkeypatch):
    """Messages end that nobody asks for: the limit does not begin anew with each."""
    limits = []

    class Busy:
        def door_queue_take(self, native, found, room, limit):
            assert len(limits) < 100
            limits.append(limit)
            time.sleep(0.01)
            found[0].member = 0
            return 1

        def __getattr__(self, name):
            return getattr(_zcrp.lib, name)

    with monkeypatch.context() as patch:
        patch.setattr(queue_module, "lib", Busy())
        assert queue.take(timeout=0.05) == []
    assert len(limits) <= 6 and limits == sorted(limits, reverse=True)


def test_interrupt(queue):
    queue.interrupt()
    with pytest.raises(zcrp.WaitInterruptedError):
        queue.take()
    assert queue.take(timeout=0) == []
    thread = in_thread(lambda: (time.sleep(0.1), queue.interrupt()))
    with pytest.raises(zcrp.WaitInterruptedError):
        queue.take()
    thread.join()


def test_close_ends_takes(pair):
    queue = zcrp.Queue()
    queue.add(pair[0])
    found = []

    def look():
        try:
            queue.take()
        except zcrp.Error as error:
            found.append(error)

    threads = [in_thread(look) for _ in range(3)]
    time.sleep(0.1)
    queue.close()
    queue.close()
    for thread in threads:
        thread.join()
    assert [type(error) for error in found] == [zcrp.ClosedError] * 3
    for call in (queue.take, queue.interrupt, queue.fileno, lambda: queue.add(pair[1])):
        with pytest.raises(zcrp.ClosedError):
            call()
    with zcrp.Queue() as another:
        another.add(pair[0])


def test_signal_as_a_close_leaves_its_queue(queue, monkeypatch):
    """The connection is closed all the same."""
    one, other = meet()
    queue.add(one)
    forget, left = queue.forget, [KeyboardInterrupt()]

    def strike(handle):
        if left:
            raise left.pop()
        forget(handle)

    monkeypatch.setattr(queue, "forget", strike)
    with pytest.raises(KeyboardInterrupt):
        one.close()
    assert one._handle.end_close(int(LONG * 1e9)) != _door.TIMEOUT and len(queue) == 0
    other.close()


def test_added_while_it_closes(queue, monkeypatch):
    """Another thread adds it just before its close begins: it leaves the queue all the same."""
    one, other = meet()

    class Slow:
        def __getattr__(self, name):
            if name == "door_close" and one._handle.in_queue() is None:
                queue.add(one)
            return getattr(_zcrp.lib, name)

    with monkeypatch.context() as patch:
        patch.setattr(_door, "lib", Slow())
        one.close()
    assert len(queue) == 0
    assert one._handle.was_closed
    other.close()


def test_dropped(pair):
    queue = zcrp.Queue()
    queue.add(pair[0])
    with pytest.warns(ResourceWarning, match=r"zcrp.Queue with \d+> was not closed"):
        del queue
        gc.collect()
    with zcrp.Queue() as another:
        another.add(pair[0])


def test_dropped_with_its_connection():
    """Nothing else holds a connection that only its queue knows. What was posted is cancelled."""
    one, other = meet()
    queue = zcrp.Queue()
    queue.add(one)
    one.post_receive(room := bytearray(9))
    with pytest.warns(ResourceWarning) as warned:
        del queue, one
        gc.collect()
    assert {str(warning.message)[:8] for warning in warned} == {"<zcrp.Qu", "<zcrp.Co"}
    room.append(1)
    other.close()


def test_descriptor(queue, pair):
    one, other = pair
    queue.add(other)
    with selectors.DefaultSelector() as selector:
        selector.register(queue, selectors.EVENT_READ)
        while selector.select(0):
            assert queue.take(timeout=0) == []
        posted = other.post_receive(bytearray(4))
        one.post_send(b"some")
        told = []
        while not told:
            assert selector.select(LONG)
            told = queue.take(timeout=0)
        assert told[0].message is posted


def test_many_threads(queue):
    """Takers beside threads that post, wait and drop: each message is told once."""
    pairs = [meet() for _ in range(4)]
    told, over = [], []

    def look():
        while not over:
            told.extend(c.message for c in queue.take(5, 0.05) if c.message is not None)

    def talk(one, other):
        for i in range(200):
            received, sent = other.post_receive(bytearray(4)), one.post_send(b"some")
            if i % 2:
                received.wait()
            del received
            sent.wait()

    for one, other in pairs:
        queue.add(one, "one")
        queue.add(other, "other")
    lookers = [in_thread(look) for _ in range(2)]
    for thread in [in_thread(lambda pair=pair: talk(*pair)) for pair in pairs]:
        thread.join()
    deadline = time.monotonic() + LONG
    while len(told) < 1600 and time.monotonic() < deadline:
        time.sleep(0.01)
    over.append(True)
    for thread in lookers:
        thread.join()
    assert len(told) == len(set(told)) == 1600
    for one, other in pairs:
        thread = in_thread(one.close)
        other.close()
        thread.join()


def test_in_a_child(queue, pair):
    queue.add(pair[0])
    child = os.fork()
    if child == 0:
        try:
            queue.take(timeout=0)
        except zcrp.ForkedError:
            queue.close()
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert queue.take(timeout=0) == []


def test_interrupt_by_ctrl_c():
    printed = run_program("""
        import signal, threading, time, os, zcrp
        with zcrp.Queue() as queue:
            threading.Thread(target=lambda: (time.sleep(0.3), os.kill(os.getpid(), signal.SIGINT))).start()
            try:
                queue.take()
            except KeyboardInterrupt:
                print("as it should")
        """)
    assert printed == "as it should\n"


def test_send_copy(impatient):
    one, other = impatient
    data = bytearray(b"an answer")
    one.send_copy(data)
    data[:] = bytes(9)
    assert other.receive() == b"an answer"
    with pytest.raises(zcrp.SizeError):
        one.send_copy(bytes(16385))
    with pytest.raises(zcrp.BusyError):
        for _ in range(2000):
            one.send_copy(bytes(1000))
    one.close()
    with pytest.raises(zcrp.ClosedError):
        one.send_copy(b"late")
