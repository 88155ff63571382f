"""zcrp:// under dask.distributed: the cases of its own tests of communication, and computations on a cluster.

distributed/comm/tests/test_comms.py has the cases; its packages leave it out, so they are written anew here."""
import asyncio
import functools
import gc
import logging
import os
import re
import struct
import subprocess
import sys
import textwrap
import threading
import time
import weakref

import pytest

numpy = pytest.importorskip("numpy")
dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

from distributed.comm import (CommClosedError, connect, get_address_host, get_local_address_for, listen, parse_address,
                              parse_host_port, resolve_address)
from distributed.comm.registry import backends, get_backend
from distributed.comm.utils import to_frames
from distributed.protocol import Serialized, deserialize, serialize, to_serialize
from distributed.utils import get_ip, get_ipv6

import zcrp
import zcrp.asyncio
import zcrp.dask
import upstream
from conftest import HOST, run_program

pytestmark = pytest.mark.filterwarnings("default")

EXTERNAL = get_ip()
PORT = 20000 + os.getpid() % 20000  # ports that are named; as many as there are names for


def awaited(test):
    @functools.wraps(test)
    def run(*arguments, **named):
        async def limited():
            await asyncio.wait_for(test(*arguments, **named), 60)
        asyncio.run(limited())
        gc.collect()
    return run


async def meet(address="zcrp://127.0.0.1", **options):
    """The two ends of a comm: who connected, and who listened."""
    queue = asyncio.Queue()
    async with listen(address, queue.put, **options) as listener:
        there = await connect(listener.contact_address, **options)
        return there, await queue.get()


async def part(*comms):
    await asyncio.gather(*(comm.close() for comm in comms))


# ---- addresses

def test_addresses():
    assert isinstance(get_backend("zcrp"), zcrp.dask.Backend)
    assert get_address_host("zcrp://127.0.0.1:123") == "127.0.0.1"
    assert get_backend("zcrp").get_address_host_port("127.0.0.1:123") == ("127.0.0.1", 123)
    for address in ("127.0.0.1:123", "0.0.0.0:456", "[::1]:123", "[::]:123"):
        assert resolve_address(f"zcrp://{address}") == f"zcrp://{address}"
    assert resolve_address("zcrp://localhost:456") == "zcrp://127.0.0.1:456"
    with dask.config.set({"distributed.comm.default-scheme": "zcrp"}):
        assert resolve_address("127.0.0.2:789") == "zcrp://127.0.0.2:789"
        assert resolve_address("[::2]:789") == "zcrp://[::2]:789"
    assert get_local_address_for("zcrp://127.0.0.1:80") == "zcrp://127.0.0.1"
    assert get_local_address_for("zcrp://8.8.8.8:4444") == f"zcrp://{EXTERNAL}"
    assert get_local_address_for("zcrp://[::1]:123") == "zcrp://[::1]"


def test_local_address_for_ip6(monkeypatch):
    """Also where Dask's get_ip answers with an address of IPv4 only, as it did."""
    monkeypatch.setattr(zcrp.dask, "get_ip", lambda host: HOST)
    assert get_local_address_for("zcrp://[::1]:123") == "zcrp://[::1]"
    assert get_local_address_for("zcrp://127.0.0.1:80") == "zcrp://127.0.0.1"


def is_at(host, port=None):
    def check(place):
        found, number = parse_host_port(place)
        assert found == host and (number == port if port else 1023 < number < 65536)
    return check


async def serve_and_ask(address, listens_at=None, contact_at=None):
    """A listener, and clients that ask it, one and many at once."""
    async def handle(comm):
        try:
            assert parse_address(comm.peer_address)[0] == "zcrp"
            assert comm.extra_info == {}
            question = await comm.read()
            assert question["op"] == "ping"
            question["op"] = "pong"
            await comm.write(question)
            assert (await comm.read())["op"] == "foobar"
        finally:
            await comm.close()

    listener = await listen(address, handle, xxx="is ignored")
    (listens_at or is_at(HOST))(parse_address(listener.listen_address)[1])
    if contact_at is not None:
        contact_at(parse_address(listener.contact_address)[1])
    else:
        assert listener.contact_address == listener.listen_address
    found = []

    async def ask(key, delay=0.0):
        comm = await connect(listener.contact_address, xxx="is ignored")
        try:
            assert comm.peer_address == listener.contact_address
            await comm.write({"op": "ping", "data": key})
            await comm.write({"op": "foobar"})
            await asyncio.sleep(delay)
            assert await comm.read() == {"op": "pong", "data": key}
            found.append(key)
        finally:
            await comm.close()

    await ask(1234)
    await asyncio.gather(*(ask(key, 0.05) for key in range(20)))
    assert set(found) == {1234, *range(20)}
    listener.stop()
    listener.stop()


@awaited
async def test_default_addresses():
    for address, listens, contact in (
            ("127.0.0.1", is_at(HOST), None), (f"127.0.0.1:{PORT}", is_at(HOST, PORT), None),
            ("0.0.0.0", is_at("0.0.0.0"), is_at(EXTERNAL)),
            (f"0.0.0.0:{PORT + 3}", is_at("0.0.0.0", PORT + 3), is_at(EXTERNAL, PORT + 3)),
            ("", is_at("0.0.0.0"), is_at(EXTERNAL)),
            (f":{PORT + 1}", is_at("0.0.0.0", PORT + 1), is_at(EXTERNAL, PORT + 1)),
            ("localhost", is_at("localhost"), None)):
        await serve_and_ask(f"zcrp://{address}", listens, contact)


@awaited
async def test_addresses_of_ip6():
    await serve_and_ask("zcrp://[::1]", is_at("::1"))
    await serve_and_ask(f"zcrp://[::1]:{PORT + 2}", is_at("::1", PORT + 2))
    await serve_and_ask("zcrp://[::]", is_at("::"), is_at(get_ipv6()))
    await serve_and_ask(f"zcrp://[::]:{PORT + 4}", is_at("::", PORT + 4), is_at(get_ipv6(), PORT + 4))


@awaited
async def test_hundred_clients():
    """They connect at once, to a listener that was made without a URI."""
    listener = await zcrp.dask.ZcrpListener(HOST, echo)
    host, port = listener.get_host_port()

    async def ask(key):
        comm = await connect(listener.contact_address)
        assert comm.peer_address == f"zcrp://{host}:{port}" and comm.extra_info == {}
        await comm.write({"key": key})
        await asyncio.sleep(0.05)
        assert await comm.read() == {"key": key}
        await comm.close()

    await asyncio.gather(*(ask(key) for key in range(100)))
    listener.stop()


@awaited
async def test_many_listeners():
    for address in ("zcrp://127.0.0.1", "zcrp://0.0.0.0", "zcrp://"):
        listeners = [await listen(address, lambda comm: None) for _ in range(100)]
        assert len({one.listen_address for one in listeners}) == len({one.contact_address for one in listeners}) == 100
        for one in listeners:
            one.stop()


@awaited
async def test_port_that_is_taken():
    """By the error that Dask looks for to try the next port."""
    async with listen("zcrp://127.0.0.1", lambda comm: None) as listener:
        with pytest.raises(OSError) as failure:
            await listen(listener.listen_address, lambda comm: None)
        assert failure.value.errno == 98


@awaited
async def test_address_of_another_machine():
    """That is no port that is taken: Dask need not try the next one."""
    with pytest.raises(OSError) as failure:
        await listen("zcrp://192.0.2.77", lambda comm: None)
    assert failure.value.errno == 99


@awaited
async def test_port_that_was_left():
    """Who stops listening can listen there again at once, as over tcp://."""
    for _ in range(50):
        async with listen(f"zcrp://127.0.0.1:{PORT + 5}", echo) as listener:
            comm = await connect(listener.contact_address)
            await comm.write("x")
            assert await comm.read() == "x"
            comm.abort()


@awaited
async def test_ports_that_were_left_are_forgotten(monkeypatch):
    monkeypatch.setattr(zcrp.dask, "_LEAVING_S", 0.0)
    for _ in range(5):
        async with listen("zcrp://127.0.0.1", echo):
            pass
    assert len(zcrp.dask._left) == 1


def test_refusals_are_forgotten(monkeypatch, caplog):
    """When there are many; each is in the log."""
    monkeypatch.setattr(zcrp.dask, "_refusals", set())
    monkeypatch.setattr(zcrp.dask, "_REFUSALS_MOST", 10, raising=False)
    for number in range(25):
        for _ in range(2):
            zcrp.dask._warn_once(f"192.0.2.1:{number}", f"refused {number}")
    assert len(zcrp.dask._refusals) <= 10
    assert caplog.messages == [f"refused {number}" for number in range(25)]


@awaited
async def test_encryption_is_not_there():
    with pytest.raises(RuntimeError, match="encryption required"):
        await connect("zcrp://127.0.0.1:1", require_encryption=True)
    with pytest.raises(RuntimeError, match="encryption required"):
        listen("zcrp://", lambda comm: None, require_encryption=True)


def needs_keys():
    try:
        zcrp.Keys.psk("x", bytes(32))
    except zcrp.NoKeysError as error:
        pytest.skip(str(error))


def with_a_key(tmp_path):
    file = tmp_path / "key"
    file.write_text("cluster:" + bytes(range(32)).hex() + "\n", encoding="ascii")
    file.chmod(0o600)
    return str(file)


def test_a_key_secures(tmp_path):
    """Who has it is served, also where encryption is demanded; nobody else is."""
    try:
        zcrp.Keys.psk("x", bytes(32))
    except zcrp.NoKeysError as error:
        pytest.skip(str(error))

    @awaited
    async def run():
        with dask.config.set({zcrp.dask.KEYS: with_a_key(tmp_path)}):
            listener = await listen("zcrp://127.0.0.1", echo, require_encryption=True)
            comm = await connect(listener.contact_address, require_encryption=True)
            await comm.write({"x": to_serialize(bytes(100_000))})
            assert bytes((await comm.read())["x"]) == bytes(100_000)
            await comm.close()
        with pytest.raises(IOError):
            await connect(listener.contact_address, timeout=1)
        listener.stop()

    run()


def test_who_has_no_key_is_told(tmp_path):
    """At once, by an error of its own; Dask would try again until the time to connect in is over."""
    needs_keys()
    good = with_a_key(tmp_path)
    wrong = tmp_path / "wrong"
    wrong.write_text("cluster:" + bytes(32).hex() + "\n", encoding="ascii")
    wrong.chmod(0o600)

    async def refused(address, text):
        started = time.monotonic()
        with pytest.raises(zcrp.AuthenticationError, match=text) as failure:
            await connect(address, timeout=60)
        assert isinstance(failure.value, CommClosedError) and time.monotonic() - started < 20

    @awaited
    async def run():
        with dask.config.set({zcrp.dask.KEYS: good}):
            keyed = await listen("zcrp://127.0.0.1", echo)
        open_to_all = await listen("zcrp://127.0.0.1", echo)
        await refused(keyed.contact_address, "distributed.comm.zcrp.keys names no key file here")
        with dask.config.set({zcrp.dask.KEYS: str(wrong)}):
            await refused(keyed.contact_address, f"distributed.comm.zcrp.keys is '{wrong}' here")
            await refused(open_to_all.contact_address, "one end has no keys")
        keyed.stop()
        open_to_all.stop()

    run()


def test_a_client_without_the_key(tmp_path):
    needs_keys()

    @awaited
    async def run():
        with dask.config.set({zcrp.dask.KEYS: with_a_key(tmp_path)}):
            scheduler = await distributed.Scheduler(protocol="zcrp", host=HOST, port=0, dashboard=False)
        with pytest.raises(zcrp.AuthenticationError, match="names no key file"):
            await distributed.Client(scheduler.address, asynchronous=True, set_as_default=False, timeout=60)
        await scheduler.close()

    run()


def test_the_log_says_that_keys_are_refused(caplog, tmp_path):
    """Once, however often a worker tries, and again after it was served."""
    needs_keys()

    def said():
        return [record.getMessage() for record in caplog.records
                if record.levelname == "WARNING" and record.getMessage().startswith("cannot connect")]

    async def refused(address):
        for _ in range(3):
            with pytest.raises(zcrp.dask.KeysRefusedError):
                await connect(address, timeout=60)

    @awaited
    async def run():
        key = with_a_key(tmp_path)
        with dask.config.set({zcrp.dask.KEYS: key}):
            listener = await listen("zcrp://127.0.0.1", echo)
        address = listener.contact_address
        await refused(address)
        assert len(said()) == 1 and address in said()[0] and "zcrp.keys names no key file here" in said()[0]
        with dask.config.set({zcrp.dask.KEYS: key}):
            await part(await connect(address))
        await refused(address)
        assert len(said()) == 2
        listener.stop()

    run()


@awaited
async def test_a_key_file_that_is_missing(tmp_path):
    """It names the file, and does not try again."""
    needs_keys()
    with dask.config.set({zcrp.dask.KEYS: str(tmp_path / "none")}):
        started = time.monotonic()
        with pytest.raises(CommClosedError, match="distributed.comm.zcrp.keys: .*No such file or directory: .*none"):
            await connect("zcrp://127.0.0.1:1", timeout=60)
        assert time.monotonic() - started < 20
        with pytest.raises(FileNotFoundError) as failure:
            await listen("zcrp://127.0.0.1", echo)
        assert failure.value.filename == str(tmp_path / "none")


@awaited
async def test_properties():
    a, b = await meet()
    assert a.peer_address == b.local_address and a.local_address == b.peer_address and a.same_host
    assert "closed" not in repr(a) and a.local_address in repr(b) and b.local_address in repr(a)
    await a.close()
    assert "closed" in repr(a) and a.local_address in repr(a) and b.peer_address in repr(a)
    await b.close()
    assert "closed" in repr(b) and a.local_address in repr(b)
    a.abort()
    b.abort()


# ---- connecting

@awaited
async def test_time_limit_of_connect():
    started = time.monotonic()
    with pytest.raises(IOError):
        await connect("zcrp://127.0.0.1:44444", timeout=0.15)
    assert 0.1 <= time.monotonic() - started <= 1


@awaited
async def test_no_threads_for_a_failing_connect():
    before = threading.active_count()
    task = asyncio.ensure_future(connect("zcrp://127.0.0.1:28400", 0.06))
    most = 0
    while not task.done():
        await asyncio.sleep(0.001)
        most = max(most, threading.active_count())
    with pytest.raises(IOError):
        await task
    assert most <= before + 2


@awaited
async def test_no_handler_without_a_handshake():
    called = []

    async def handle(comm):
        called.append(comm)

    async with listen("zcrp://127.0.0.1", handle) as listener:
        host, port = listener.get_host_port()
        async with await zcrp.asyncio.connect(host, port):
            await asyncio.sleep(0.05)
        async with await zcrp.asyncio.connect(host, port) as stranger:
            await stranger.send(b"no table of frames")
            with pytest.raises(zcrp.Error):
                while True:
                    await stranger.receive_into(bytearray(1 << 16))
        await asyncio.sleep(0.05)
        assert not called
        await part(await connect(listener.contact_address))  # others are served


class Unreliable(zcrp.dask.ZcrpConnector):
    failures = 0

    async def connect(self, *arguments, **named):
        Unreliable.failures += 1
        if Unreliable.failures <= 3:
            raise OSError("not yet")
        return await super().connect(*arguments, **named)


async def echo(comm):
    await comm.write(await comm.read())
    await comm.close()


async def send_and_return(connector):
    """A message to an echo and its answer, over a connection that such a connector makes."""

    class Backend(zcrp.dask.Backend):
        _connector_class = connector

    before = get_backend("zcrp")
    backends["zcrp"] = Backend()
    try:
        async with listen("zcrp://127.0.0.1", echo) as listener:
            comm = await connect(listener.contact_address)
            await comm.write(b"test")
            assert await comm.read() == b"test"
            await comm.close()
    finally:
        backends["zcrp"] = before


@awaited
async def test_retries():
    await send_and_return(Unreliable)
    assert Unreliable.failures == 4


class SlowComm(zcrp.dask.ZcrpComm):
    async def read(self, *arguments, **named):
        await asyncio.sleep(0.3)
        return await super().read(*arguments, **named)

    async def write(self, *arguments, **named):
        await asyncio.sleep(0.3)
        return await super().write(*arguments, **named)


@awaited
async def test_slow_handshake():
    class SlowConnector(zcrp.dask.ZcrpConnector):
        comm_class = SlowComm

    await send_and_return(SlowConnector)


@awaited
async def test_handlers_that_fail():
    """One fails, the others go on; who is connected to it learns of it."""
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)

    async def handle(comm):
        if await comm.read() == "fail":
            comm.abort()
            raise RuntimeError("as it should")
        await comm.write("fine")
        await comm.close()

    async with listen("zcrp://127.0.0.1", handle) as listener:
        for question in ("fail", "go on", "fail", "go on"):
            comm = await connect(listener.contact_address)
            await comm.write(question)
            if question == "fail":
                with pytest.raises(CommClosedError):
                    await comm.read()
            else:
                assert await comm.read() == "fine"
            await comm.close()


@awaited
async def test_a_listener_that_stops_while_it_accepts():
    """Who has just been accepted is turned away, and does not wait for a handshake."""
    listener = await listen("zcrp://127.0.0.1", echo)
    serve = listener._serve

    async def stop_first(connection):
        listener.stop()
        await serve(connection)

    listener._serve = stop_first
    with pytest.raises(CommClosedError):
        await asyncio.wait_for(connect(listener.contact_address), 20)


# ---- closing

@awaited
async def test_closed_by_the_peer():
    async def handle(comm):
        await comm.close()

    async with listen("zcrp://127.0.0.1", handle) as listener:
        comm = await connect(listener.contact_address)
        with pytest.raises(CommClosedError):
            await comm.write({})
            await comm.read()
        other = await connect(listener.contact_address)
        with pytest.raises(CommClosedError):
            await other.read()
        await part(comm, other)


@awaited
async def test_closed_is_noticed_when_nobody_reads():
    a, b = await meet()
    await a.close()
    for _ in range(500):
        if b.closed():
            break
        await asyncio.sleep(0.01)
    assert b.closed()
    with pytest.raises(CommClosedError):
        await b.write("x")
    await b.close()


def test_closed_by_the_peer_is_let_go(caplog):
    """Dask forgets a comm that it finds closed, without closing it."""
    @awaited
    async def run():
        a, b = await meet()
        await a.close()
        while not b.closed():
            await asyncio.sleep(0.01)
        connection = b._connection
        del a, b
        gc.collect()
        await asyncio.sleep(0.01)
        assert "closed" in repr(connection) and "dangling" not in caplog.text

    run()


@awaited
async def test_closed():
    a, b = await meet()
    reads = a.read(), b.read()
    await a.close()
    for read in (*reads, a.read(), b.read()):
        with pytest.raises(CommClosedError):
            await read
    for comm in (a, b):
        with pytest.raises(CommClosedError):
            await comm.write({})
    await part(a, b)
    assert a.closed() and b.closed()


@awaited
async def test_close_while_it_reads():
    a, b = await meet()
    reads = [asyncio.ensure_future(comm.read()) for comm in (a, b)]
    await asyncio.sleep(0.05)
    await a.close()
    for read in reads:
        with pytest.raises(CommClosedError):
            await read
    await b.close()


@pytest.mark.parametrize("ends", ["close", "abort"])
@awaited
async def test_what_has_arrived_before_this_end_closes_is_not_read(ends):
    """As over tcp://. Dask ends a stream so while another coroutine is about to read."""
    a, b = await meet()
    await a.write("x")
    await asyncio.wait({b._table})
    if ends == "close":
        await b.close()
    else:
        b.abort()
    with pytest.raises(CommClosedError):
        await b.read()
    await a.close()


@awaited
async def test_what_was_written_before_a_close_arrives():
    a, b = await meet()
    data = os.urandom(1 << 20)
    await a.write({"x": to_serialize(data)})
    await a.write("last")
    closing = asyncio.ensure_future(a.close())
    assert bytes((await b.read())["x"]) == data and await b.read() == "last"
    with pytest.raises(CommClosedError):
        await b.read()
    await closing
    await b.close()


@pytest.mark.parametrize("closes", ["who connected", "who listened"])
@awaited
async def test_what_was_written_before_a_close_waits_for_a_late_reader(closes, monkeypatch):
    """As over tcp://, and longer than the library's usual time, which is made short here."""
    monkeypatch.setattr(zcrp.dask, "Options", lambda **named: zcrp.Options(**{"linger": 0.01, **named}))
    writer, reader = (await meet())[::1 if closes == "who connected" else -1]
    for word in ("first", "second", "third"):
        await writer.write(word)
    closing = asyncio.ensure_future(writer.close())
    await asyncio.wait([closing], timeout=0.3)
    for word in ("first", "second", "third"):
        assert await reader.read() == word
    await part(writer, reader)
    await closing


class Strange(BaseException):
    pass


@awaited
async def test_closed_by_an_error_in_write():
    for kind in (BufferError, Strange):
        a, b = await meet()

        def fail(messages):
            raise kind()

        a.stream.write = fail
        with pytest.raises(kind):
            await a.write("x")
        assert a.closed()
        await part(a, b)


@awaited
async def test_closed_by_a_read_that_is_cancelled():
    a, b = await meet()
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(a.read(), 0.01)
    assert a.closed()
    await part(a, b)


@awaited
async def test_a_server_that_stops_ends_what_it_reads():
    """Dask stops its listeners, and cancels then what reads still: from a peer that died unnoticed, for instance.
    Before, and at the other end, who cancels a read finds it cancelled."""
    queue = asyncio.Queue()
    async with listen("zcrp://127.0.0.1", queue.put) as listener:
        pairs = []
        for _ in range(2):
            there = await connect(listener.contact_address)
            pairs.append((there, await queue.get()))
        reads = [[asyncio.ensure_future(comm.read()) for comm in pair] for pair in pairs]
        await asyncio.sleep(0.01)
        reads[0][1].cancel()
        await asyncio.wait({reads[0][1]})
        assert reads[0][1].cancelled()
    for read in reads[1]:
        read.cancel()
    await asyncio.wait(reads[1])
    assert reads[1][0].cancelled() and not reads[1][1].cancelled()
    assert isinstance(reads[1][1].exception(), CommClosedError) and pairs[1][1].closed()
    await asyncio.wait(reads[0])
    await part(*pairs[0], *pairs[1])


@pytest.mark.parametrize("kind", [MemoryError, OverflowError, RuntimeError, OSError])
@awaited
async def test_whatever_fails_ends_a_read(kind, monkeypatch):
    a, b = await meet()
    await a.write({"x": to_serialize(bytes(100_000))})

    def fail(*arguments):
        raise kind("underneath")

    monkeypatch.setattr(b._connection, "receive_batch", fail)
    with pytest.raises(CommClosedError, match="underneath"):
        await b.read()
    assert b.closed()
    await part(a, b)


@awaited
async def test_dropped():
    """A comm that nobody has is closed."""
    a, b = await meet()
    gone = weakref.ref(a)
    del a
    gc.collect()
    assert gone() is None
    with pytest.raises(CommClosedError):
        await b.read()
    await b.close()


@awaited
async def test_tables_that_are_damaged():
    good = zcrp.dask.pack([memoryview(b"abc"), memoryview(bytes(5000))])[0]
    for table in (b"", b"short", good[:15], good[:-1], good + b"x", struct.pack("<2Q", 0, 1 << 60), bytes(15),
                  struct.pack("<3Q", 0, 1, 1 << 62 | 4) + b"abc", struct.pack("<3Q", 0, 1, 1 << 62 | 2) + b"abc"):
        async with await zcrp.asyncio.listen(HOST) as listener:
            asked = asyncio.ensure_future(zcrp.dask.ZcrpConnector().connect(f"{HOST}:{listener.port}"))
            peer = await listener.accept()
            comm = await asked
        sent = peer.send(table)
        with pytest.raises(CommClosedError, match="ValueError"):
            await comm.read()
        assert comm.closed()
        await asyncio.wait({sent})
        await peer.close()


async def asked_by_a_stranger():
    """A comm, and the connection of a peer that writes to it what it likes."""
    async with await zcrp.asyncio.listen(HOST) as listener:
        asked = asyncio.ensure_future(zcrp.dask.ZcrpConnector().connect(f"{HOST}:{listener.port}"))
        return await listener.accept(), await asked


@pytest.mark.parametrize("size", [0, 1, 59_999, 60_001])
@awaited
async def test_frames_of_another_size_than_was_announced(size):
    """What did not arrive is memory of this process: nobody reads it."""
    peer, comm = await asked_by_a_stranger()
    data = b"x" * 60_000
    frames = await to_frames({"data": to_serialize(data)})
    sent = peer.send_batch([message if len(message) != len(data) else bytes(size)
                            for message in zcrp.dask.pack([memoryview(frame) for frame in frames])])
    with pytest.raises(CommClosedError):
        await comm.read()
    assert comm.closed()
    await asyncio.wait({sent})
    await peer.close()


@pytest.mark.parametrize("change", [-1, 1])
@awaited
async def test_a_table_of_another_size_than_was_announced(change):
    peer, comm = await asked_by_a_stranger()
    first, table = zcrp.dask.pack(frames_of([4000] * 20))
    sent = peer.send_batch([struct.pack("<Q", len(table) + change), table])
    with pytest.raises(CommClosedError):
        await comm.read()
    assert comm.closed()
    await asyncio.wait({sent})
    await peer.close()


def test_frames_that_fail_together(monkeypatch, caplog):
    """The first one ends the read, and nobody awaits the others."""
    monkeypatch.setattr(zcrp.dask, "AHEAD", 1)

    @awaited
    async def run():
        peer, comm = await asked_by_a_stranger()
        reading = asyncio.ensure_future(comm.read())
        await peer.send(zcrp.dask.pack(frames_of([1 << 20] * 2))[0])
        await peer.close()
        with pytest.raises(CommClosedError):
            await reading

    run()
    gc.collect()
    assert "never retrieved" not in caplog.text


HUNGRY = """
    import asyncio, os, struct, sys
    if "without numpy" in sys.argv:
        sys.modules["numpy"] = None
    import zcrp.asyncio, zcrp.dask
    from distributed.comm import CommClosedError

    TABLE_MOST = getattr(zcrp.dask, "TABLE_MOST", 1 << 24)
    ANNOUNCED = {
        "a table of 3 GiB": struct.pack("<Q", 3 << 30),
        "a table of all that can be": struct.pack("<Q", (1 << 64) - 1),
        "a table as large as may be": struct.pack("<Q", TABLE_MOST),
        "a table that is a byte larger": struct.pack("<Q", TABLE_MOST + 1),
        "a frame of 3 GiB": struct.pack("<3Q", 0, 1, 3 << 30 | 1 << 63),
        "a frame of all that can be": struct.pack("<3Q", 0, 1, (1 << 64) - 1),
        "a small frame of all that can be": struct.pack("<3Q", 0, 1, (1 << 63) - 1),
        "as many frames as have room": struct.pack("<2Q4094Q", 0, 4094, *[1 << 20 | 1 << 63] * 4094),
    }

    def memory():
        with open("/proc/self/statm") as numbers:
            return int(numbers.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    async def main():
        async with await zcrp.asyncio.listen("127.0.0.1") as listener:
            async def offer(message):
                asked = asyncio.ensure_future(zcrp.dask.ZcrpConnector().connect(f"127.0.0.1:{listener.port}"))
                peer, comm = await listener.accept(), await asked
                reading = asyncio.ensure_future(comm.read())
                sent = peer.send(message)
                await asyncio.wait({sent})
                await asyncio.wait({reading}, timeout=0.3)
                used = memory()
                ended = reading.done()
                comm.abort()
                await asyncio.wait({reading})
                assert isinstance(reading.exception(), CommClosedError), reading.exception()
                await peer.close()
                return used, ended

            await offer(b"x")
            before = memory()
            used, ended = await offer(ANNOUNCED[sys.argv[1]])
            print((used - before) >> 20, ended)

    asyncio.run(main())
    """


@pytest.mark.parametrize("numpy", ["with numpy", "without numpy"])
@pytest.mark.parametrize("announced, ends", [
    ("a table of 3 GiB", True), ("a table of all that can be", True), ("a table as large as may be", False),
    ("a table that is a byte larger", True), ("a frame of 3 GiB", False), ("a frame of all that can be", True),
    ("a small frame of all that can be", True),
    ("as many frames as have room", False)])
def test_what_is_announced_costs_nothing(announced, ends, numpy):
    """Memory is taken as bytes arrive, and none have. What cannot be ends the comm."""
    mebibytes, ended = run_program(HUNGRY, announced, numpy).split()
    assert int(mebibytes) < 12 and ended == str(ends)


def test_a_listener_without_keys_says_so(caplog, tmp_path):
    """Once, however many connect; one with keys has nothing to say."""
    def said():
        return [record.getMessage() for record in caplog.records if "no keys" in record.getMessage()]

    @awaited
    async def run():
        async with listen("zcrp://127.0.0.1", echo) as listener:
            for _ in range(3):
                await part(await connect(listener.contact_address))
            assert len(said()) == 1 and listener.listen_address in said()[0]
        caplog.clear()
        with dask.config.set({zcrp.dask.KEYS: with_a_key(tmp_path)}):
            async with listen("zcrp://127.0.0.1", echo):
                assert not said()

    run()


# ---- what is passed

def frames_of(sizes):
    return [memoryview(os.urandom(size)) for size in sizes]


@pytest.mark.parametrize("sizes", [[], [0], [1, 0, 3], [4095, 4096, 4097], [5] * 5000, [4000] * 20, [4000] * 5000,
                                   [100_000, 7, 5000, 0]])
def test_tables(sizes):
    frames = frames_of(sizes)
    first, *rest = zcrp.dask.pack(frames)
    if struct.unpack_from("<Q", first)[0]:
        assert len(first) == 8 and struct.unpack("<Q", first)[0] == len(rest[0]) <= zcrp.dask.TABLE_MOST
        first, *rest = rest
    found, large = zcrp.dask.unpack(bytearray(first))
    assert [len(message) for message in rest] == large
    arrived = iter(rest)
    assert [bytes(next(arrived) if frame is None else frame) for frame in found] == [bytes(frame) for frame in frames]


def test_frames_that_are_objects():
    """They are in memory of their own, but for the first one of a small table."""
    for sizes, shared in (([3000, 2049], 0), ([3000, 2048], 1), ([5, 6, 7], 1), ([0, 5, 0, 6], 1), ([5000, 5], 1)):
        frames = [memoryview(bytearray(os.urandom(size))) for size in sizes]
        table = bytearray(zcrp.dask.pack(frames)[0])
        found = [frame for frame in zcrp.dask.unpack(table)[0] if frame is not None]
        assert [bytes(frame) for frame in found] == [bytes(frame) for frame in frames if len(frame) < 4096]
        assert sum(frame.obj is table for frame in found if len(frame)) == shared


def test_too_many_frames():
    """Their sizes alone would be more than a table may have."""
    zcrp.dask.pack([memoryview(b"")] * (zcrp.dask.TABLE_MOST // 8 - 2))
    with pytest.raises(ValueError, match="frames"):
        zcrp.dask.pack([memoryview(b"")] * (zcrp.dask.TABLE_MOST // 8 - 1))


@awaited
async def test_messages_of_all_sizes():
    a, b = await meet()
    for message in ([to_serialize(b"z" * 5000)] * 2000, [to_serialize(b"z" * 4000)] * 5000, {}, b"", "x", {"n": list(range(20000))}, [to_serialize(b"x" * n) for n in (0, 1, 4096, 300_000)],
                    {i: to_serialize(numpy.arange(i)) for i in range(0, 3000, 7)}, [to_serialize(b"y")] * 6000):
        await a.write(message)
        found = await b.read()
        assert len(found) == len(message)
        if isinstance(message, dict) and 7 in message:
            assert all((found[i] == numpy.arange(i)).all() for i in message)
    await part(a, b)


@awaited
async def test_many_small():
    a, b = await meet()
    for number in range(1000):
        await a.write({"number": number})
        await b.write({"number": -number})
    for number in range(1000):
        assert (await b.read()) == {"number": number}
        assert (await a.read()) == {"number": -number}
    await part(a, b)


@awaited
async def test_arrays_land_in_memory_of_their_own():
    """They can be written, and none keeps the memory of another."""
    a, b = await meet()
    arrays = [numpy.random.default_rng(i).random((100, 100 + i)) for i in range(5)]
    await a.write({"arrays": [to_serialize(array) for array in arrays]})
    found = (await b.read())["arrays"]
    for array, copy in zip(arrays, found):
        assert (array == copy).all() and copy.flags.writeable
        copy[0] = 0
    assert b._connection.statistics().receiver["messages"] >= 6
    await part(a, b)


def owner(array):
    """The memory that an array is in."""
    while getattr(array, "base", None) is not None:
        array = array.base.obj if isinstance(array.base, memoryview) else array.base
    return array


@pytest.mark.parametrize("count", [1, 2, 50])
@awaited
async def test_small_arrays_have_memory_of_their_own(count):
    """Who keeps one keeps neither the others nor the rest of the message."""
    a, b = await meet()
    arrays = [numpy.arange(1 + i) for i in range(count)]
    await a.write({"arrays": [to_serialize(array) for array in arrays], "other": "x" * 3000})
    found = (await b.read())["arrays"]
    for array, copy in zip(arrays, found):
        assert (array == copy).all() and copy.flags.writeable and owner(copy).nbytes == array.nbytes
        copy[0] = 7
    assert len({id(owner(copy)) for copy in found}) == count
    await part(a, b)


@awaited
async def test_frames_are_as_over_tcp(monkeypatch):
    """Whatever its size, a frame is a memoryview of NumPy's memory, which can be written."""
    frames, from_frames = [], zcrp.dask.from_frames

    async def spy(found, **named):
        frames.extend(found)
        return await from_frames(found, **named)

    a, b = await meet()
    monkeypatch.setattr(zcrp.dask, "from_frames", spy)
    for message in ({"x": 1}, {"x": [to_serialize(bytes(size)) for size in (0, 1, 5000, 1 << 20)]},
                    {"x": [to_serialize(numpy.zeros(size, "u1")) for size in (0, 1, 5000, 1 << 20)]},
                    {"x": [to_serialize(b"x" * 4000)] * 20}):
        await a.write(message)
        await b.read()
    assert len(frames) > 30
    for frame in frames:
        assert isinstance(frame, memoryview) and not frame.readonly and isinstance(frame.obj, numpy.ndarray)
    await part(a, b)


@awaited
async def test_deserialize():
    large = os.urandom(1 << 20) * 4
    for content, is_large in ((b"abc", False), (large, True)):
        message = {"op": "update", "x": content, "to_ser": [to_serialize(content)], "ser": Serialized(*serialize(content))}
        for does in (True, False):
            a, b = await meet(deserialize=does)
            await a.write(message)
            await b.write(await b.read())
            found = await a.read()
            assert sorted(found) == sorted(message) and found["op"] == "update" and found["x"] == content
            for one in (found["to_ser"][0], found["ser"]):
                if does:
                    assert bytes(one) == content
                elif isinstance(one, Serialized):
                    assert deserialize(one.header, one.frames) == content
                else:
                    assert one == to_serialize(content)
            await part(a, b)


def raise_eof():
    raise EOFError


class EndOfFile:
    def __reduce__(self):
        return raise_eof, ()


@awaited
async def test_deserialize_that_fails():
    logging.getLogger("distributed.comm.utils").setLevel(logging.CRITICAL)
    logging.getLogger("distributed.protocol.core").setLevel(logging.CRITICAL)
    a, b = await meet()
    await a.write({"data": to_serialize(EndOfFile())})
    with pytest.raises(CommClosedError):
        await b.read()
    with pytest.raises(CommClosedError):
        await a.read()
    await part(a, b)


# ---- a cluster

CLUSTER = """
    import dask, dask.array as da, numpy
    from distributed import Client, LocalCluster

    if __name__ == "__main__":
        dask.config.set({"distributed.worker.memory.target": False, "distributed.worker.memory.spill": False})
        with LocalCluster(n_workers=4, threads_per_worker=1, protocol="zcrp", dashboard_address=None,
                          memory_limit=0) as cluster, Client(cluster) as client:
            assert all(address.startswith("zcrp://") for address in client.scheduler_info()["workers"])
            COMPUTE
    """

CLUSTER_LEFT_OPEN = """
    from distributed import Client, LocalCluster

    if __name__ == "__main__":
        cluster = LocalCluster(n_workers=2, threads_per_worker=1, protocol="zcrp", dashboard_address=None,
                               memory_limit=0)
        client = Client(cluster)
        assert client.submit(sum, [1, 2]).result() == 3
        COMPUTE
    """


def on_a_cluster(tmp_path, compute, cluster=CLUSTER):
    """Runs it on four workers, each a process. The lines that it, and Dask, printed."""
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(cluster.replace("COMPUTE", compute.strip())), encoding="utf-8")
    done = subprocess.run([sys.executable, str(program)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=150, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout.splitlines()


def test_transpose_on_four_workers(tmp_path):
    assert "right" in on_a_cluster(tmp_path, """
            n = 4000
            x = da.arange(n * n, chunks=n * n // 16, dtype="f8").reshape(n, n).rechunk((500, 500)).persist()
            found = (x + x.T).rechunk((n, 250)).sum(axis=0).compute()
            column = numpy.arange(n)
            assert numpy.allclose(found, n * column + n * n * column + n * (n - 1) / 2 * (n + 1))
            print("right")
    """)


def test_shuffle_on_four_workers(tmp_path):
    """From rows to columns by way of all workers."""
    assert "right" in on_a_cluster(tmp_path, """
            x = da.random.default_rng(1).random((3000, 3000), chunks=(100, 3000)).persist()
            with dask.config.set({"array.rechunk.method": "p2p"}):
                columns = x.rechunk((3000, 100)).persist()
            assert float(abs(columns - x).max().compute()) == 0.0
            sums = columns.sum(axis=0).compute()
            assert numpy.allclose(sums, x.compute().sum(axis=0))
            print("right")
    """)


def test_worker_that_was_killed(tmp_path):
    """The cluster closes as one whose workers live: nobody logs an error."""
    printed = on_a_cluster(tmp_path, """
            import os, signal, time
            before = client.run(os.getpid)
            os.kill(next(iter(before.values())), signal.SIGKILL)
            while set(client.scheduler_info()["workers"]) <= set(before):
                time.sleep(0.05)  # until another one has come for it
            # distributed logs a heartbeat whose answer does not come because it closes, over TCP, too
            client.run(lambda dask_worker: dask_worker.periodic_callbacks["heartbeat"].stop())
            client.run(os.getpid)
    """)
    assert any("Restarting worker" in line for line in printed)
    assert not [line for line in printed if "ERROR" in line or "Traceback" in line], printed


def test_cluster_that_is_left_open(tmp_path):
    """Dask shuts it down as the program ends, over connections that are open still."""
    printed = on_a_cluster(tmp_path, 'print("right")', CLUSTER_LEFT_OPEN)
    assert "right" in printed
    assert not [line for line in printed if re.search("atexit|ERROR|Traceback", line)], printed


# ---- Dask's own tests

def test_the_list_of_what_fails():
    """Each test in it has a reason, and the tests of this file that a reason names are there."""
    expected = upstream.expected_to_fail()
    assert expected and all(len(reason) > 20 for reason in expected.values())
    for test, reason in expected.items():
        assert test.split("::")[0] in [os.path.basename(file) for file in upstream.FILES]
        for name in re.findall(r"test_dask\.py: (test_\w+)", reason):
            assert callable(globals()[name])


def test_a_file_of_dasks_is_changed():
    text = upstream.over_zcrp("from __future__ import annotations\nfrom distributed.comm.tcp import get_stream_address\n"
                              "from distributed.comm.tcp import TCPBackend\nimport distributed.comm.tcp as tcp\n"
                              'await tcp.TCPListener("tcp://")\ntcp.TLSBackend()\n')
    assert text == ("from __future__ import annotations\n" + upstream.START +
                    "from distributed.comm.tcp import get_stream_address\nfrom zcrp.dask import Backend\n"
                    'import zcrp.dask as tcp\nawait tcp.ZcrpListener("zcrp://")\ndistributed.comm.tcp.TLSBackend()\n')
