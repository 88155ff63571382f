"""Messages that lie in several buffers."""
import asyncio
import gc
import os

import pytest

import zcrp
import zcrp.asyncio
from conftest import HOST, in_thread, run_program


def test_there_and_back(pair):
    """Cut differently at either end."""
    one, other = pair
    header, body, tail = bytearray(5), bytearray(90000), bytearray(10)
    data = bytes(range(250)) * 360
    posted = other.post_receive([header, body, tail])
    one.send((b"head!", memoryview(data)[:1000], b"", data[1000:]))
    assert posted.wait() == 90005
    assert (header, body, tail) == (b"head!", data, bytes(10))
    thread = in_thread(lambda: other.send([b"a", bytearray(b"b")]))
    assert one.receive() == b"ab"
    thread.join()
    posted = one.post_send([])
    assert other.receive_into([bytearray(3)]) == 0
    posted.wait()


def test_posts_are_used_again(pair):
    """A post that was in pieces is one of a buffer next, and back."""
    one, other = pair
    for i in range(200):
        room = bytearray(4)
        posted = other.post_receive([memoryview(room)[:1], memoryview(room)[1:]] if i % 3 else room)
        one.send([b"so", b"me"] if i % 2 else b"some")
        assert posted.wait() == 4 and room == b"some"
        del posted


def test_others_cancel_what_is_being_submitted():
    """As a close that a signal ends does. What it looks at is not freed meanwhile: freed memory has other contents."""
    run_program("""
        import sys, threading, zcrp
        sys.setswitchinterval(1e-6)
        with zcrp.listen("127.0.0.1") as listener:
            one, other = zcrp.connect("127.0.0.1", listener.port), listener.accept()
        is_over = False

        def cancel():
            while not is_over:
                one._handle.take_all_back()

        threads = [threading.Thread(target=cancel) for _ in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(3000):
            posted = one.post_receive([bytearray(1), bytearray(1)])
            posted.cancel()
        is_over = True
        for thread in threads:
            thread.join()
        for connection in (one, other):
            threading.Thread(target=connection.close).start()
        """, env={**os.environ, "MALLOC_PERTURB_": "165"})


def test_buffers_are_held(pair):
    one, other = pair
    rooms = [bytearray(2), bytearray(2)]
    posted = other.post_receive(rooms)
    with pytest.raises(BufferError):
        rooms[1].append(1)
    one.send(b"abc")
    posted.wait()
    del posted
    gc.collect()
    other.post_receive(bytearray(1)).cancel()
    for room in rooms:
        room.append(1)


def test_bad_pieces(pair):
    one, other = pair
    with pytest.raises(BufferError, match="read-only"):
        other.receive_into([bytearray(1), b"read-only"])
    with pytest.raises(TypeError):
        one.send([b"x", "text"])
    with pytest.raises(zcrp.ArgumentError, match="1025 pieces"):
        one.send([b"x"] * 1025)
    with pytest.raises(TypeError):
        one.post_send_batch([[b"x"]])
    room = bytearray(10)
    with pytest.raises(zcrp.ArgumentError, match="overlap"):
        other.post_receive([room, room])
    room.append(1)
    posted = other.post_receive([bytearray(1), bytearray(1)])
    with pytest.raises(zcrp.TooLargeError):
        one.send([b"123"])
    with pytest.raises(zcrp.TooLargeError):
        posted.wait()
    with pytest.raises(zcrp.CallTimeoutError):
        other.receive_into([bytearray(1)], 0.01)


def test_told_by_a_queue(pair):
    one, other = pair
    with zcrp.Queue() as queue:
        queue.add(other)
        posted = other.post_receive([bytearray(2), bytearray(2)])
        one.send(b"some")
        while (told := queue.take()[0]).message is None:
            pass
        assert told.message is posted and told.error is None


def test_awaited():
    async def talk():
        async with await zcrp.asyncio.listen(HOST) as listener:
            there, here = await asyncio.gather(zcrp.asyncio.connect(HOST, listener.port), listener.accept())
            rooms = [bytearray(3), bytearray(3)]
            posted = here.receive_into(rooms)
            await there.send([b"a", b"bcd", b"e"])
            assert await posted == 5 and rooms == [b"abc", b"de\0"]
            await asyncio.gather(there.close(), here.close())

    asyncio.run(talk())
