"""Buffers that both ends map, and statistics that other programs map."""
import asyncio
import gc
import os

import pytest

import zcrp
import zcrp.asyncio
from conftest import HOST, LONG, meet, run_program

MAPPED = zcrp.Options(mapped_bytes=1 << 22)


def mapped_now():
    """The memory of this process that others may map, as the kernel lists it."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return [line for line in maps if "memfd:" in line]


def test_an_array_in_mapped_memory():
    numpy = pytest.importorskip("numpy")
    one, other = meet(MAPPED)
    with one, other:
        source = numpy.frombuffer(one.allocate(1 << 20), "f8")
        target = numpy.frombuffer(other.allocate(1 << 20), "f8")
        source[:] = numpy.arange(len(source))
        target[:] = 0
        addresses = [array.ctypes.data for array in (source, target)]
        assert all(any(int(line.split("-")[0], 16) <= at < int(line.split("-")[1].split()[0], 16)
                       for line in mapped_now()) for at in addresses)
        sent = one.post_send(source)
        assert other.receive_into(target, LONG) == 1 << 20 and sent.wait(LONG) == 1 << 20
        assert (source == target).all()
    target[0] = 7  # after the close, too
    assert target[0] == 7


def test_mapped_memory_is_given_back():
    """More than there is, one after the other; a view of a view holds it."""
    one, other = meet(MAPPED)
    with one, other:
        first = one.allocate(3 << 20)
        place = memoryview(first)[100:200]
        del first
        gc.collect()
        place[:] = b"x" * 100
        for _ in range(20):
            one.allocate(3 << 20)[:4] = b"abcd"
        assert bytes(place) == b"x" * 100


def test_sizes_of_mapped_memory():
    one, other = meet()  # there is none: ordinary memory
    with one, other:
        assert len(one.allocate(0)) == 0 and not one.allocate(10).readonly
        with pytest.raises(ValueError):
            one.allocate(-1)
        with pytest.raises(MemoryError):
            one.allocate((1 << 63) - 1)
    with pytest.raises(zcrp.ClosedError):
        one.allocate(1)


def test_mapped_memory_awaited():
    async def run():
        async with await zcrp.asyncio.listen(HOST, options=MAPPED) as listener:
            one, other = await asyncio.gather(listener.accept(), zcrp.asyncio.connect(HOST, listener.port, MAPPED))
            async with one, other:
                source, target = one.allocate(5000), other.allocate(5000)
                source[:] = bytes(range(250)) * 20
                sent = one.send(source)
                assert await other.receive_into(target) == 5000
                await sent
                assert source == target
    asyncio.run(asyncio.wait_for(run(), 60))


def test_folder_of_statistics(tmp_path):
    """The process has a file there while it runs."""
    found = run_program("""
        import os, pathlib, sys, threading, zcrp
        folder = sys.argv[1]
        for path in (folder, pathlib.Path(folder)):
            options = zcrp.Options(stats_directory=path)
            with zcrp.listen("127.0.0.1", options=options) as listener:
                caller = threading.Thread(target=lambda: zcrp.connect("127.0.0.1", listener.port, options).close())
                caller.start()
                with listener.accept(20):
                    print(len(os.listdir(folder)))
                caller.join()
        """, str(tmp_path), env={name: value for name, value in os.environ.items() if name != "ZCRP_STATS"})
    assert found.split() == ["1", "1"] and os.listdir(tmp_path) == []
    with pytest.raises(ValueError):
        zcrp.listen(HOST, options=zcrp.Options(stats_directory="a\0b"))
