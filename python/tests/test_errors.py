"""Exceptions by name; options; what cannot be opened."""
import asyncio
import errno
import resource
import socket
import time

import pytest

import zcrp
import zcrp.asyncio
from zcrp import errors
from zcrp._zcrp import ffi, lib
from conftest import HOST, IMPATIENT, LONG, in_thread, meet


def codes():
    return [-1 - i for i in range(lib.ZCRP_ERROR_COUNT)]


def test_each_code_has_a_class_with_the_librarys_text():
    kinds = [type(zcrp.errors.error_of(code)) for code in codes()]
    assert zcrp.Error not in kinds and len(set(kinds)) == len(kinds)
    for code, kind in zip(codes(), kinds):
        assert getattr(zcrp, kind.__name__) is kind and kind.code == code
        assert getattr(lib, f"ZCRP_ERROR_{kind.name}") == code and kind.__name__ in zcrp.__all__
        assert kind.__doc__
        assert ffi.string(lib.zcrp_strerror(code)).decode() in str(errors.error_of(code))


def test_a_code_that_is_not_known():
    error = errors.error_of(-1000)
    assert type(error) is zcrp.Error and str(error)


def test_they_are_pythons_own_too():
    for kind, base in ((zcrp.Timeout, TimeoutError), (zcrp.Refused, ConnectionRefusedError), (zcrp.System, OSError),
                       (zcrp.PeerClosed, ConnectionResetError), (zcrp.Address, ValueError),
                       (zcrp.Memory, MemoryError), (zcrp.Silent, ConnectionError)):
        assert issubclass(kind, base) and issubclass(kind, zcrp.Error)


def test_all_names_are_there():
    for name in zcrp.__all__:
        assert hasattr(zcrp, name)
    assert zcrp.version >= 200


def test_nobody_listens():
    with zcrp.listen(HOST) as listener:
        port = listener.port
    with pytest.raises(zcrp.Refused, match="nobody listens"):
        zcrp.connect(HOST, port, IMPATIENT)
    with pytest.raises(zcrp.Timeout):
        zcrp.connect(HOST, port, timeout=0.1)


def test_a_time_limit_of_connect_holds():
    """Also if it is longer than the library looks for a peer by default, and longer than can be counted."""
    ended = []

    def wait(port):
        with pytest.raises(zcrp.Timeout):
            zcrp.connect(HOST, port, timeout=6)
        ended.append(time.monotonic() - started)

    async def wait_for_many(port):
        plain, with_options, in_a_hurry, *patient = connecting = [
            asyncio.ensure_future(zcrp.asyncio.connect(HOST, port, options, timeout=limit)) for options, limit in (
                (None, 6), (zcrp.Options(silence=20), 6), (zcrp.Options(connect=0.2), 1e30),
                (None, 1e12), (None, 1e30), (None, float("inf")))]
        await asyncio.wait({in_a_hurry})
        assert isinstance(in_a_hurry.exception(), zcrp.Unreachable)
        await asyncio.wait({plain, with_options})
        ended.append(time.monotonic() - started)
        assert isinstance(plain.exception(), zcrp.Timeout) and isinstance(with_options.exception(), zcrp.Timeout)
        assert not any(one.done() for one in patient)
        for one in patient:
            one.cancel()
        await asyncio.wait(connecting)

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mute:
        mute.bind((HOST, 0))
        port = mute.getsockname()[1]
        started = time.monotonic()
        thread = in_thread(lambda: wait(port))
        try:
            asyncio.run(wait_for_many(port))
        finally:
            thread.join()
    assert len(ended) == 2 and all(6 <= one < 60 for one in ended)


def test_listens_but_does_not_accept():
    with zcrp.listen(HOST) as listener:
        started = time.monotonic()
        with pytest.raises(zcrp.Timeout):
            zcrp.connect(HOST, listener.port, timeout=0.2)
        assert 0.15 < time.monotonic() - started < 5


@pytest.mark.parametrize("host, port", [("", 7000), (HOST, 0), (HOST, 70000), (HOST, -1), (HOST, "http/2"),
                                        ("no host of this name.", 7000)])
def test_addresses_that_are_none(host, port):
    with pytest.raises(zcrp.Address):
        zcrp.connect(host, port)


def test_addresses_that_cannot_be_listened_at():
    with zcrp.listen(HOST) as listener:
        with pytest.raises(zcrp.Address):
            zcrp.listen(HOST, listener.port)
    with pytest.raises(zcrp.Address):
        zcrp.listen("192.0.2.77")
    with pytest.raises(ValueError, match="null"):
        zcrp.listen("a\0b")


def test_accept_in_time():
    with zcrp.listen(HOST) as listener:
        for wait in (0, 0.1):
            with pytest.raises(zcrp.Timeout):
                listener.accept(wait)


@pytest.mark.parametrize("options, text", [
    ({"messages": -1}, "messages"), ({"messages": 1 << 40}, "messages"), ({"silence": -1}, "silence"),
    ({"congestion": "vegas"}, "congestion"), ({"channel": "pigeon"}, "channel"), ({"linger": float("nan")}, "linger"),
    ({"window_bytes": -5}, "window_bytes"), ({"connect": float("inf")}, "connect")])
def test_options_that_cannot_be(options, text):
    with pytest.raises(ValueError, match=text):
        zcrp.listen(HOST, options=zcrp.Options(**options))


def test_options_out_of_range():
    with pytest.raises(zcrp.Argument):
        zcrp.listen(HOST, options=zcrp.Options(unit_bytes=63))


def test_options_that_can_be():
    options = zcrp.Options(unit_bytes=1400, messages=5, window_bytes=1 << 20, silence=2.5, linger=1, connect=3, progress=4,
                           spin=0, send_buffer=1 << 16, receive_buffer=1 << 16, congestion="cubic", channel="datagram",
                           segment=False, gro=False, ecn=False, memory=False, connections=3, backlog=2)
    one, other = meet(options)
    with one, other:
        posted = other.post_receive(bytearray(5000))
        one.send(bytes(5000), LONG)
        assert posted.wait(LONG) == 5000
        assert one.statistics().sender["bytes_copied_once"] == 0
        assert one.statistics().sender["units"] >= 4


def test_no_descriptor_left():
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = []
    with zcrp.listen(HOST) as listener:
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, before[1]))
        try:
            with pytest.raises(OSError):
                while True:
                    taken.append(socket.socket())
            with pytest.raises(zcrp.System) as failure:
                zcrp.connect(HOST, listener.port)
            assert failure.value.errno == errno.EMFILE and "open files" in str(failure.value)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
            for one in taken:
                one.close()


def test_the_peer_dies_or_closes(impatient):
    one, other = impatient
    posted = other.post_receive(bytearray(5))
    assert other.status() is None
    assert one.close() is True
    with pytest.raises(zcrp.PeerClosed):
        posted.wait(LONG)
    assert isinstance(other.status(), zcrp.PeerClosed)
    for call in (lambda: other.send(b"x"), lambda: other.receive(), lambda: other.receive_into(bytearray(1))):
        with pytest.raises(zcrp.PeerClosed):
            call()
