"""What can be sent and received into, what cannot, and how long it is held."""
import array
import ctypes
import gc
import mmap
import tempfile

import pytest

import zcrp
from conftest import LONG

numpy = pytest.importorskip("numpy")


def pass_on(pair, data, room):
    one, other = pair
    posted = other.post_receive(room)
    one.send(data, LONG)
    return posted.wait(LONG)


def test_what_can_be_sent(pair):
    with tempfile.TemporaryFile() as file, mmap_of(file, b"x" * 5000) as mapped:
        for data in (b"bytes", bytearray(b"bytearray"), memoryview(b"memoryview")[2:6], array.array("d", [1, 2]),
                     numpy.arange(12).reshape(3, 4), numpy.arange(12)[3:7], numpy.empty((0, 3)), mapped,
                     (ctypes.c_int * 4)(1, 2, 3, 4), numpy.zeros(3, "i4,f8"), numpy.array(3.5),
                     numpy.zeros(2, numpy.dtype([("On", "i4")]))):
            raw = bytes(memoryview(data).cast("B")) if memoryview(data).nbytes else b""
            room = bytearray(len(raw) + 1)
            assert pass_on(pair, data, room) == len(raw)
            assert room[:-1] == raw


def mmap_of(file, content):
    file.write(content)
    file.flush()
    return mmap.mmap(file.fileno(), 0)


def test_what_can_be_received_into(pair):
    numbers = numpy.arange(1000, dtype="f8")
    into = numpy.zeros((20, 50), "f8")
    assert pass_on(pair, numbers, into) == 8000
    assert (into.ravel() == numbers).all()
    part = numpy.zeros(1000, "f8")
    assert pass_on(pair, numbers[:10], part[500:510]) == 80
    assert (part[500:510] == numbers[:10]).all() and not part[510:].any() and not part[:500].any()
    mapped = mmap.mmap(-1, 8000)
    assert pass_on(pair, numbers, mapped) == 8000
    assert mapped[:] == numbers.tobytes()
    words = array.array("q", bytes(80))
    assert pass_on(pair, numbers[:10], words) == 80
    place = (ctypes.c_double * 10)()
    assert pass_on(pair, numbers[:10], place) == 80
    assert list(place) == list(range(10))


class Tensor:
    """What torch gives: no buffer, but numpy()."""

    def __init__(self):
        self.memory = numpy.zeros(4, "f4")

    def numpy(self):
        return self.memory


def test_tensors_go_by_numpy(pair):
    tensor = Tensor()
    assert pass_on(pair, numpy.ones(4, "f4"), tensor.numpy()) == 16
    assert tensor.memory.sum() == 4
    with pytest.raises(TypeError, match=r"what a tensor's numpy\(\) gives\), not Tensor"):
        pair[0].send(tensor)


@pytest.mark.parametrize("room", [b"bytes", memoryview(b"view"), numpy.zeros(3).view().__class__(3).copy(),
                                  numpy.broadcast_to(numpy.zeros(1), 3)])
def test_read_only(pair, room):
    if isinstance(room, numpy.ndarray):
        room.flags.writeable = False
    for call in (pair[0].receive_into, pair[0].post_receive, lambda b: pair[0].post_receive_batch([b])):
        with pytest.raises(BufferError, match="read-only|not contiguous"):
            call(room)


@pytest.mark.parametrize("data", [numpy.arange(10)[::2], numpy.zeros((3, 4)).T, memoryview(b"abcdef")[::2]])
def test_not_contiguous(pair, data):
    for call in (pair[0].send, pair[0].post_send, pair[0].receive_into):
        with pytest.raises(BufferError, match="not contiguous"):
            call(data)


@pytest.mark.parametrize("data", [numpy.array([None, "x"], object), numpy.zeros(2, "i4,O")])
def test_references(pair, data):
    for call in (pair[0].send, pair[0].receive_into):
        with pytest.raises(BufferError, match="references to Python objects"):
            call(data)


def test_dates_have_no_buffer(pair):
    with pytest.raises(BufferError, match="cannot be used"):
        pair[0].send(numpy.zeros(2, "M8[s]"))
    assert pass_on(pair, numpy.zeros(2, "M8[s]").view("i8"), bytearray(16)) == 16


@pytest.mark.parametrize("data", ["text", 5, None, {b"x"}, object()])
def test_what_is_no_buffer(pair, data):
    for call in (pair[0].send, pair[0].post_send, pair[0].receive_into, pair[0].post_receive):
        with pytest.raises(TypeError, match="a message needs a buffer"):
            call(data)


def test_held_until_the_end(pair):
    """A bytearray in flight cannot be resized, nor a map closed."""
    one, other = pair
    room, mapped = bytearray(4), mmap.mmap(-1, 4096)
    posted, second = other.post_receive(room), other.post_receive(mapped)
    with pytest.raises(BufferError):
        room.append(1)
    with pytest.raises(BufferError):
        mapped.close()
    one.send(b"1234", LONG)
    assert posted.wait(LONG) == 4
    room.append(1)
    second.cancel()
    mapped.close()


def test_released_when_it_failed(pair):
    """Also while the exception is handled, whose traceback has the frames."""
    room = bytearray(4)
    try:
        pair[0].receive_into(room, 0.01)
    except zcrp.CallTimeoutError:
        room.append(1)
    try:
        pair[0].send(room, 0.01)
    except zcrp.CallTimeoutError:
        room.append(1)
    posted = pair[0].post_send(room)
    try:
        posted.wait(0)
    except zcrp.CallTimeoutError:
        with pytest.raises(BufferError):
            room.append(1)
    posted.cancel()
    room.append(1)
    assert len(room) == 7


def test_a_buffer_that_nobody_has_is_held(pair):
    one, other = pair
    posted = other.post_receive(memoryview(bytearray(1 << 20)))
    gc.collect()
    sent = one.post_send(bytes(1 << 20))
    assert posted.wait(LONG) == sent.wait(LONG) == 1 << 20


def test_a_map_that_shrank_fails_alone(pair):
    one, other = pair
    with tempfile.TemporaryFile() as file:
        mapped = mmap_of(file, bytes(1 << 20))
        file.truncate(0)
        posted = other.post_receive(bytearray(1 << 20))
        with pytest.raises(zcrp.FaultError):
            one.send(mapped, LONG)
        with pytest.raises(zcrp.Error):
            posted.wait(LONG)
        mapped.close()
    assert pass_on(pair, b"goes on", bytearray(7)) == 7
