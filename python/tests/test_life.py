"""Closing, dropping, forking, and the end of the interpreter; each also with messages in flight."""
import gc
import os
import signal
import socket
import threading
import time
import warnings

import pytest

import zcrp
import zcrp.asyncio
from zcrp import _door, _zcrp
from zcrp._buffers import writable
from conftest import HOST, IMPATIENT, LONG, StoppedPeer, in_child, in_thread, meet, run_program


def calls(connection):
    return [lambda: connection.send(b"x"), lambda: connection.receive(), lambda: connection.receive_into(bytearray(1)),
            lambda: connection.post_send(b"x"), lambda: connection.post_receive(bytearray(1)),
            lambda: connection.post_send_batch([b"x"]), lambda: connection.status() and raise_it(connection.status()),
            lambda: connection.statistics()]


def raise_it(error):
    raise error


def test_use_after_close(pair):
    one, other = pair
    assert one.close() is True and one.close() is True
    for call in calls(one):
        with pytest.raises(zcrp.ClosedError):
            call()
    assert repr(one).endswith("closed>")
    with zcrp.listen(HOST) as listener:
        pass
    for call in (listener.accept, listener.statistics):
        with pytest.raises(zcrp.ClosedError, match="the listener was closed"):
            call()
    listener.close()
    assert repr(listener).endswith("closed>")


def test_close_ends_what_waits(pair):
    one, _ = pair
    ended = []

    def waits(call):
        try:
            call()
        except zcrp.ClosedError:
            ended.append(call)

    posted = one.post_receive(bytearray(1))
    threads = [in_thread(lambda call=call: waits(call)) for call in
               (lambda: one.receive(), lambda: one.receive_into(bytearray(1)), lambda: posted.wait(),
                lambda: zcrp.wait([posted])[0].wait())]
    time.sleep(0.2)
    assert one.close() is True
    for thread in threads:
        thread.join()
    assert len(ended) == 4


def test_close_of_a_listener_ends_accept():
    listener = zcrp.listen(HOST)
    said = []

    def accepts():
        try:
            listener.accept()
        except zcrp.ClosedError as error:
            said.append(str(error))

    threads = [in_thread(accepts) for _ in range(3)]
    time.sleep(0.1)
    listener.close()
    for thread in threads:
        thread.join()
    assert said == ["the listener was closed"] * 3


def test_close_waits_for_what_was_sent(pair):
    one, other = pair
    sent = one.post_send(bytes(1 << 20))
    thread = in_thread(lambda: (time.sleep(0.3), other.receive(LONG)))
    assert one.close() is True and sent.wait() == 1 << 20
    thread.join()


def test_close_gives_up_in_the_end(impatient):
    one, _ = impatient
    sent = one.post_send(b"nobody receives")
    started = time.monotonic()
    assert one.close() is False and time.monotonic() - started < 10
    with pytest.raises(zcrp.ClosedError):
        sent.wait()


def test_close_by_many_threads(pair):
    threads = [in_thread(pair[0].close) for _ in range(8)]
    for thread in threads:
        thread.join()


def test_calls_while_it_closes():
    """Whatever is called when, each call ends, and by an error of its own."""
    for _ in range(20):
        one, other = meet(IMPATIENT)
        stop = threading.Event()

        def work(connection):
            while not stop.is_set():
                for call in (lambda: connection.post_receive(bytearray(100)).cancel(), connection.statistics,
                             lambda: connection.receive(0.001), lambda: connection.send(b"x", 0.001)):
                    try:
                        call()
                    except zcrp.Error:
                        pass

        threads = [in_thread(lambda c=c: work(c)) for c in (one, other) for _ in range(2)]
        time.sleep(0.02)
        one.close()
        other.close()
        stop.set()
        for thread in threads:
            thread.join()


def test_posts_of_two_threads(pair, monkeypatch):
    """One comes between the moment when another's buffer is held, and that when it is in flight: it stays held."""
    one, _ = pair
    submit = _door._submit_one
    others = [lambda: one.post_receive(bytearray(10))]

    def submit_later(*arguments):
        if others:
            others.pop()()
        return submit(*arguments)

    monkeypatch.setattr(_door, "_submit_one", submit_later)
    room = bytearray(100)
    posted = one.post_receive(room)
    with pytest.raises(BufferError):
        room.append(1)
    assert posted.cancel()
    room.append(1)


def test_all_is_taken_back_before_it_is_submitted(pair, monkeypatch):
    """By another thread, between the moment when a buffer is held, and that when it is in flight: it stays held."""
    one, _ = pair
    submit = _door._submit_one

    def submit_later(*arguments):
        one._handle.take_all_back()
        return submit(*arguments)

    monkeypatch.setattr(_door, "_submit_one", submit_later)
    room = bytearray(100)
    posted = one.post_receive(room)
    with pytest.raises(BufferError):
        room.append(1)
    assert posted.cancel()
    room.append(1)


def test_batch_is_taken_back_before_it_is_submitted(pair, monkeypatch):
    one, _ = pair

    class Lib:
        def door_submit(self, *arguments):
            one._handle.take_all_back()
            return zcrp._zcrp.lib.door_submit(*arguments)

        def __getattr__(self, name):
            return getattr(zcrp._zcrp.lib, name)

    rooms = [bytearray(100), bytearray(100)]
    with monkeypatch.context() as patch:
        patch.setattr(_door, "lib", Lib())
        posted = one.post_receive_batch(rooms)
    for room in rooms:
        with pytest.raises(BufferError):
            room.append(1)
    assert posted.cancel()
    for room in rooms:
        room.append(1)


def test_all_is_taken_back_while_it_is_submitted(pair, monkeypatch):
    """Behind the look that found nothing in flight: what was submitted since is cancelled, too."""
    one, _ = pair
    handle, room = one._handle, bytearray(100)
    post, export = _door.new_post(1), writable(room)
    submits = [lambda: zcrp._zcrp.lib.door_submit_one(handle.door, _door.RECEIVER, post, 1, *export)]

    class Lib:
        def door_post_cancel(self, *arguments):
            code = zcrp._zcrp.lib.door_post_cancel(*arguments)
            assert not submits or submits.pop()() == _door.OK
            return code

        def __getattr__(self, name):
            return getattr(zcrp._zcrp.lib, name)

    handle.held[_door.RECEIVER][1] = (post, export)
    with monkeypatch.context() as patch:
        patch.setattr(_door, "lib", Lib())
        handle.take_all_back()
    assert not submits and not handle.held[_door.RECEIVER] and _door._is_over(post)


def test_dropped(pair):
    """Taken back at once, with a warning; the peer is told. The buffers are free."""
    one, other = meet()
    room, data = bytearray(100), bytearray(100)
    one.post_receive(room)
    one.post_send(data)
    with pytest.warns(ResourceWarning, match=r"Connection from [\d.:]+ to [\d.:]+> was not closed"):
        del one
        gc.collect()
    room.append(1)
    data.append(1)
    with other, pytest.raises((zcrp.PeerClosedError, zcrp.PeerCancelledError)):
        other.receive_into(bytearray(1000), LONG)


def test_dropped_listener():
    listener = zcrp.listen(HOST)
    with pytest.warns(ResourceWarning, match=r"Listener on port \d+> was not closed"):
        del listener
        gc.collect()


@pytest.mark.parametrize("kind", [zcrp.Connection, zcrp.Listener, zcrp.asyncio.Connection, zcrp.asyncio.Listener])
def test_dropped_half_made(kind):
    """Its initialization was interrupted, so it has no name yet; and whoever made it has closed it."""
    class Handle:
        was_closed, asked = False, 0

        def abandon(self):
            self.asked += 1
            return False

    half, handle = kind.__new__(kind), Handle()
    half._handle = handle
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del half
        gc.collect()
    assert handle.asked == 1


def test_message_keeps_its_connection():
    one, other = meet()
    posted = one.post_receive(room := bytearray(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del one
        gc.collect()
        other.send(b"ok", LONG)
        assert posted.wait(LONG) == 2 and room == b"ok"
    other.close()
    with pytest.warns(ResourceWarning):
        del posted
        gc.collect()


def test_dropped_in_a_cycle(pair):
    one, other = meet()
    one.itself = one
    one.post_receive(room := bytearray(10))
    with pytest.warns(ResourceWarning):
        del one
        gc.collect()
    room.append(1)
    other.close()


def test_nothing_is_left():
    """No thread, no descriptor, and no entry."""
    def state():
        return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))

    def some(count):
        for _ in range(count):
            a, b = meet()
            a.post_send(b"x")
            assert b.receive(LONG) == b"x"
            a.close()
            b.close()

    others = set(_door._open)
    one, other = meet()  # the library's threads may stay, and what they use
    with one, other:
        some(5)
        before = state()
        some(50)
        for _ in range(200):
            if state() <= before:
                break
            time.sleep(0.01)
        assert all(now < then + 10 for now, then in zip(state(), before))
        assert _door._open - others == {one._handle, other._handle}
    assert not _door._open - others


def test_close_without_a_thread():
    """Where none can be had, the caller's thread closes."""
    run_program("""
        import _thread, resource, threading, zcrp
        with zcrp.listen("127.0.0.1") as listener:
            box = []
            thread = threading.Thread(target=lambda: box.append(zcrp.connect("127.0.0.1", listener.port)))
            thread.start()
            connection = listener.accept(20)
            thread.join()
        ended = threading.Event()
        threads = [threading.Thread(target=ended.wait) for _ in range(8)]
        for thread in threads:  # they take the stacks of threads that have ended, which the C library keeps
            thread.start()
        used = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmSize")) * 1024
        resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 19), -1))
        try:
            while True:  # a start does not wait: one that gets no memory never says that it has begun
                _thread.start_new_thread(ended.wait, ())
        except (RuntimeError, MemoryError):
            pass
        assert connection.close() in (True, False) and box[0].close() in (True, False)
        ended.set()
        for thread in threads:
            thread.join()
        """)


# ---- fork

def test_child_may_not_use_its_parents(pair):
    one, other = pair
    posted = one.post_receive(room := bytearray(5))

    def child():
        for call in calls(one) + [posted.wait]:
            with pytest.raises(zcrp.ForkedError, match="parent"):
                call()
        with zcrp.listen(HOST) as listener:
            thread = in_thread(lambda: zcrp.connect(HOST, listener.port).send(b"own", LONG))
            with listener.accept(LONG) as own:
                assert own.receive(LONG) == b"own"
            thread.join()
        one.close()
        assert one.close() in (True, False)

    assert in_child(child) == 0
    other.send(b"still", LONG)
    assert posted.wait(LONG) == 5 and room == b"still"


def test_child_drops_its_parents(pair):
    one, other = meet()
    kept = [one]
    kept[0].post_receive(bytearray(5))
    del one

    def child():
        with pytest.warns(ResourceWarning):
            kept.clear()
            gc.collect()

    assert in_child(child) == 0
    posted = kept[0].post_receive(bytearray(5))
    other.send(b"first", LONG)
    other.send(b"still", LONG)
    assert posted.wait(LONG) == 5
    kept[0].close()
    other.close()


def test_fork_while_another_thread_waits(pair):
    one, other = pair
    thread = in_thread(lambda: one.receive(LONG))
    time.sleep(0.1)

    def child():
        with pytest.raises(zcrp.ForkedError):
            one.receive(1)
        one.close()

    assert in_child(child) == 0
    other.send(b"x", LONG)
    thread.join()


def test_fork_while_another_thread_frees_messages():
    """The child frees messages, too: no lock that nobody will open is in its way."""
    run_program("""
        import os, threading, time, warnings
        from zcrp._zcrp import lib
        warnings.simplefilter("ignore", DeprecationWarning)
        is_over = threading.Event()

        def work():
            while not is_over.is_set():
                lib.door_post_free(lib.door_post_new(2000))

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for _ in range(30):
            child = os.fork()
            if child == 0:
                lib.door_post_free(lib.door_post_new(1))
                os._exit(0)
            deadline = time.monotonic() + 10
            while os.waitpid(child, os.WNOHANG) == (0, 0):
                if time.monotonic() > deadline:
                    os.kill(child, 9)
                    os._exit(1)
                time.sleep(0.001)
        is_over.set()
        for thread in threads:
            thread.join()
        """)


# ---- the end of the interpreter

PEER = """
import sys, zcrp
connection = zcrp.connect("127.0.0.1", sys.argv[1])
"""


def with_program(text, work):
    """Runs a program that connects to a listener here, and the work on the connection. What it printed."""
    with zcrp.listen(HOST) as listener:
        printed = []
        thread = in_thread(lambda: printed.append(run_program(PEER + text, str(listener.port))))
        with listener.accept(LONG) as connection:
            work(connection)
        thread.join()
    return printed[0]


def test_exit_sends_what_was_posted():
    found = []
    with_program("connection.post_send(bytes(1 << 22))", lambda c: (time.sleep(0.3), found.append(c.receive(LONG))))
    assert len(found[0]) == 1 << 22


def test_exit_with_buffers_posted():
    printed = with_program("posted = [connection.post_receive(bytearray(1 << 20)) for _ in range(50)]",
                           lambda c: pytest.raises(zcrp.Error, lambda: [c.send(bytes(1 << 20)) for _ in range(51)]))
    assert printed == ""


def test_exit_while_a_thread_waits():
    with_program("""
import threading, time
threading.Thread(target=lambda: connection.receive(), daemon=True).start()
threading.Thread(target=lambda: connection.receive_into(bytearray(100)), daemon=True).start()
time.sleep(0.2)
""", lambda c: time.sleep(0.1))


def test_exit_closes_before_older_handlers():
    """As multiprocessing's, which waits for children that may wait for the end of a connection."""
    printed = run_program("""
        import atexit, tempfile
        room = tempfile.TemporaryDirectory()  # it has a finalizer
        atexit.register(lambda: print("open" if zcrp._door._open else "closed"))
        import zcrp
        listener = zcrp.listen("127.0.0.1")
        """)
    assert printed == "closed\n"


def test_exit_by_an_exception():
    run_program("""
        import zcrp
        listener = zcrp.listen("127.0.0.1")
        raise SystemExit(3)
        """, status=3)


def test_exit_in_a_child():
    run_program("""
        import os, sys, warnings, zcrp
        warnings.simplefilter("ignore")
        listener = zcrp.listen("127.0.0.1")
        child = os.fork()
        if child == 0:
            sys.exit(4)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 4
        """)


# ---- signals

def interrupted(work, after=0.15):
    """Sends this process a signal whose handler raises; the time that it took to be raised."""
    class Signalled(Exception):
        pass

    def handle(number, frame):
        raise Signalled

    before = signal.signal(signal.SIGUSR1, handle)
    timer = threading.Timer(after, os.kill, (os.getpid(), signal.SIGUSR1))
    try:
        timer.start()
        started = time.monotonic()
        with pytest.raises(Signalled):
            work()
        return time.monotonic() - started - after
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, before)


def test_signals_end_each_wait(pair):
    one, _ = pair
    posted = one.post_receive(bytearray(1))
    listener = zcrp.listen(HOST)
    mute = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    mute.bind((HOST, 0))
    for call in (lambda: one.send(b"x"), lambda: one.receive_into(bytearray(1)), one.receive, posted.wait,
                 lambda: zcrp.wait([posted]), listener.accept, lambda: one.send(b"x", 1000.0),
                 lambda: zcrp.connect(HOST, mute.getsockname()[1])):
        assert interrupted(call) < 2
    mute.close()
    assert not posted.done
    posted.cancel()
    listener.close()


def test_signal_as_a_caller_is_accepted(monkeypatch):
    """It strikes once the library has the connection, and nobody else has: the peer is told that it is closed."""
    class Struck:
        def door_accept(self, *arguments):
            code = _zcrp.lib.door_accept(*arguments)
            if code == _door.OK:
                raise KeyboardInterrupt
            return code

        def __getattr__(self, name):
            return getattr(_zcrp.lib, name)

    with zcrp.listen(HOST) as listener, zcrp.connect(HOST, listener.port, timeout=LONG) as there:
        with monkeypatch.context() as patch:
            patch.setattr(_door, "lib", Struck())
            with pytest.raises(KeyboardInterrupt):
                listener.accept(LONG)
        gc.collect()
        with pytest.raises(zcrp.EndOfStreamError):
            there.receive(LONG)


def test_signal_as_a_listener_is_opened(monkeypatch):
    """It strikes as the package looks after a close that was left, and nobody has the listener: its port is free."""
    class Left:
        def end_close(self, limit):
            raise KeyboardInterrupt

    with zcrp.listen(HOST) as listener:
        port = listener.port
    with monkeypatch.context() as patch:
        patch.setattr(_door, "_left", {Left()})
        with pytest.raises(KeyboardInterrupt):
            zcrp.listen(HOST, port)
    gc.collect()
    until = time.monotonic() + LONG
    while True:
        try:
            zcrp.listen(HOST, port).close()
            break
        except zcrp.AddressError:
            assert time.monotonic() < until
            time.sleep(0.01)


def test_signal_takes_back(pair):
    one, _ = pair
    room = bytearray(4)
    interrupted(lambda: one.receive_into(room))
    room.append(1)
    assert not one._handle.held[0]


def test_signal_ends_a_cancel(pair, monkeypatch):
    """That waits for a peer, which is stopped amid a copy to the buffer: it stays held."""
    one, _ = pair
    room = bytearray(4)
    posted = one.post_receive(room)

    class Stopped(StoppedPeer):
        def door_post_cancel(self, post, has_cancelled):
            time.sleep(0.001)
            return _door.BUSY

    with monkeypatch.context() as patch:
        patch.setattr(_door, "lib", Stopped())
        assert interrupted(posted.cancel) < 2
    with pytest.raises(BufferError):
        room.append(1)
    assert posted.cancel()
    room.append(1)


def test_signal_while_a_peer_is_stopped(pair, monkeypatch):
    """The call does not wait for the peer, which is amid a copy to the buffer: it stays held."""
    one, _ = pair
    room = bytearray(4)
    with monkeypatch.context() as patch:
        patch.setattr(_door, "lib", StoppedPeer())
        interrupted(lambda: one.receive_into(room))
        with pytest.raises(BufferError):
            room.append(1)


def test_signal_ends_a_close():
    """What is left is taken back, and the connection is closed all the same."""
    one, other = meet(zcrp.Options(linger=60))
    sent = one.post_send(bytes(10))
    assert interrupted(one.close) < 2
    with pytest.raises(zcrp.MessageCancelledError):
        sent.wait(0)
    assert one.close() in (True, False)
    other.close()


class Struck:
    """The library, with a signal that strikes as a close begins, once it has begun."""

    def __init__(self):
        self.left = 1

    def door_close(self, door):
        _zcrp.lib.door_close(door)
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt

    def __getattr__(self, name):
        return getattr(_zcrp.lib, name)


def test_signal_as_a_close_begins(monkeypatch):
    """It cancels what is left, as one that comes later."""
    one, other = meet(zcrp.Options(linger=60))
    sent = one.post_send(room := bytearray(10))
    monkeypatch.setattr(_door, "lib", Struck())
    with pytest.raises(KeyboardInterrupt):
        one.close()
    room.append(1)
    with pytest.raises(zcrp.MessageCancelledError):
        sent.wait(0)
    other.close()
    one.close()


def test_close_that_a_signal_ends_leaves_nothing():
    """Nobody looks whether it is closed, but for what is opened next."""
    one, other = meet(zcrp.Options(linger=1))
    one.post_send(bytes(10))
    assert interrupted(one.close) < 2
    other.close()
    assert one._handle in _door._open
    deadline = time.monotonic() + LONG
    while one._handle in _door._open and time.monotonic() < deadline:
        for end in meet():
            end.close()
    assert one._handle not in _door._open and one._handle not in _door._left


def test_signal_that_does_not_raise(pair):
    """Its handler runs, and the wait goes on."""
    one, other = pair
    seen = []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
    threads = [threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1)),
               threading.Timer(0.4, lambda: other.send(b"x", LONG))]
    for thread in threads:
        thread.start()
    assert one.receive(LONG) == b"x"
    for thread in threads:
        thread.join()
    signal.signal(signal.SIGUSR1, before)
    assert seen == [signal.SIGUSR1]


def test_signals_at_any_moment():
    """Storms of signals whose handler raises: nothing crashes, and no buffer is left held."""
    run_program("""
        import os, random, signal, threading, time, zcrp
        class Stop(Exception): pass
        package = os.path.dirname(zcrp.__file__)
        def handle(number, frame):
            if frame is not None and frame.f_code.co_filename.startswith(package) and armed:
                raise Stop
        armed = False
        signal.signal(signal.SIGUSR1, handle)
        listener = zcrp.listen("127.0.0.1")
        box = []
        thread = threading.Thread(target=lambda: box.append(zcrp.connect("127.0.0.1", listener.port)))
        thread.start()
        one = listener.accept(20)
        thread.join()
        other = box[0]
        ended = threading.Event()
        def storm():
            while not ended.is_set():
                os.kill(os.getpid(), signal.SIGUSR1)
                time.sleep(random.random() * 0.0004)
        def serve():
            while not ended.is_set():
                try:
                    other.send(bytes(200), 0.01)
                except zcrp.Error:
                    pass
        threads = [threading.Thread(target=storm), threading.Thread(target=serve)]
        for thread in threads:
            thread.start()
        until = time.monotonic() + 3
        count = stops = 0
        armed = True
        while time.monotonic() < until:
            try:
                one.receive_into(bytearray(200), 0.001)
                one.post_receive(bytearray(200))
            except zcrp.Error:
                pass
            except Stop:
                stops += 1
            count += 1
        armed = False
        ended.set()
        for thread in threads:
            thread.join()
        one.close()
        other.close()
        assert count > 50 and stops > 20, (count, stops)
        """)


def test_ctrl_c():
    printed = run_program("""
        import os, signal, threading, zcrp
        listener = zcrp.listen("127.0.0.1")
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            listener.accept()
        except KeyboardInterrupt:
            print("as it should")
        """)
    assert printed == "as it should\n"


# ---- what Ctrl-C prints

CONNECTED = """
import atexit, signal, socket, sys, zcrp
listener = zcrp.listen("127.0.0.1")
mute = socket.socket(type=socket.SOCK_DGRAM)
mute.bind(("127.0.0.1", 0))
one = zcrp.connect("127.0.0.1", sys.argv[1], zcrp.Options(linger=60))
left = int(sys.argv[2])

def ring(number, frame):
    global left
    left -= 1
    if left == 0:
        signal.setitimer(signal.ITIMER_REAL, 0)
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, ring)
"""
RING = "signal.setitimer(signal.ITIMER_REAL, 0.3, 0.3)\n"


def interrupted_program(text, times, status=-signal.SIGINT):
    """A program with a connection to this process, which receives nothing. What it printed."""
    with zcrp.listen(HOST) as listener:
        printed = []
        thread = in_thread(lambda: printed.append(run_program(CONNECTED + text, str(listener.port), str(times),
                                                              status=status)))
        with listener.accept(LONG):
            thread.join()
    return printed[0]


@pytest.mark.parametrize("call", [
    "listener.accept()", "one.receive()", "one.receive_into(bytearray(1))", "one.send(b'x')", "one.send(b'x', 1000)",
    "one.post_receive(bytearray(1)).wait()", "one.post_receive_batch([bytearray(1)]).wait(1000)",
    "zcrp.wait([one.post_receive(bytearray(1))])", "one.post_send(b'x') and one.close()",
    "zcrp.connect('127.0.0.1', mute.getsockname()[1], timeout=1000)"])
def test_ctrl_c_names_the_line_that_waited(call):
    """And the call that was made there, not what that is made of."""
    printed = interrupted_program(RING + call, 1)
    assert printed.count("  File ") == 2 and printed.count("Traceback") == 1, printed
    assert '  File "<string>"' in printed and printed.rstrip().endswith("KeyboardInterrupt")


def test_ctrl_c_twice_is_one_traceback():
    """The second one ends the close of a with block that the first one has left."""
    printed = interrupted_program("with one:\n    one.post_send(b'x')\n    " + RING + "    one.receive()", 2)
    assert printed.count("Traceback") == 1 and printed.count("  File ") == 2, printed


def test_ctrl_c_at_the_end_is_quiet():
    """It ends the wait for what was sent."""
    text = "one.post_send(b'x')\natexit.register(signal.setitimer, signal.ITIMER_REAL, 0.3, 0.3)"
    assert interrupted_program(text, 1, status=0) == ""


def test_ctrl_c_as_the_last_close_begins_is_quiet():
    """What was posted is cancelled before Python gives its memory back."""
    text = """
room = bytearray(10)
one.post_send(room)
class Struck:
    left = 1
    def door_close(self, door):
        zcrp._zcrp.lib.door_close(door)
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
    def __getattr__(self, name):
        return getattr(zcrp._zcrp.lib, name)
zcrp._door.lib = Struck()
def look():
    room.append(1)  # BufferError while it is in flight
    print("it is free")
atexit.unregister(zcrp._door._close_all)
atexit.register(look)
atexit.register(zcrp._door._close_all)
"""
    assert interrupted_program(text, 1, status=0) == "it is free\n"
