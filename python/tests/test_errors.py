"""Exceptions by name; options; what cannot be opened."""
import asyncio
import builtins
import dataclasses
import errno
import importlib.metadata
import os
import pickle
import re
import resource
import socket
import time

import pytest

import zcrp
import zcrp.asyncio
from zcrp import errors
from zcrp import options as options_of
from zcrp._zcrp import ffi, lib
from conftest import HOST, IMPATIENT, LONG, in_thread, meet


def codes():
    return [-1 - i for i in range(lib.ZCRP_ERROR_COUNT)]


def test_each_code_has_a_class_with_the_librarys_text():
    ffi.errno = errno.EMFILE  # Python has no class of its own for it
    kinds = [type(zcrp.errors.error_of(code)) for code in codes()]
    assert zcrp.Error not in kinds and len(set(kinds)) == len(kinds)
    for code, kind in zip(codes(), kinds):
        assert getattr(zcrp, kind.__name__) is kind and kind.code == code
        assert getattr(lib, f"ZCRP_ERROR_{kind.name}") == code and kind.__name__ in zcrp.__all__
        assert kind.__doc__
        explained = ffi.string(lib.zcrp_explain(code)).decode()
        assert (os.strerror(errno.EMFILE) if kind is zcrp.SystemCallError else explained) in str(errors.error_of(code))


def test_names_end_in_error_and_hide_none_of_pythons():
    for name in errors.__all__:
        assert name.endswith("Error") and not hasattr(builtins, name)


@pytest.mark.parametrize("module", [zcrp, errors])
def test_old_names_of_errors_warn(module):
    assert errors.NEW_NAMES["Silent"] == "IdleTimeoutError" and errors.NEW_NAMES["EndOfStream"] == "EndOfStreamError"
    where = module.__name__
    for old, new in errors.NEW_NAMES.items():
        text = re.escape(f"{where}.{old} is deprecated: it is named {where}.{new} now")
        with pytest.warns(DeprecationWarning, match=f"^{text}$") as told:
            assert getattr(module, old) is getattr(zcrp, new)
        assert told[0].filename == __file__ and old not in zcrp.__all__
    with pytest.raises(AttributeError, match="has no attribute 'Timout'"):
        module.Timout


def test_old_names_are_imported_and_caught():
    with pytest.warns(DeprecationWarning, match="CallTimeoutError"):
        from zcrp import Timeout
    with zcrp.listen(HOST) as listener, pytest.raises(Timeout):
        listener.accept(0)
    with pytest.warns(DeprecationWarning, match="RefusedError"):
        assert type(pickle.loads(b"czcrp.errors\nRefused\n(S'no'\ntR.")) is zcrp.RefusedError


def test_a_code_that_is_not_known():
    error = errors.error_of(-1000)
    assert type(error) is zcrp.Error and str(error)


def test_they_are_pythons_own_too():
    for kind, base in ((zcrp.CallTimeoutError, TimeoutError), (zcrp.RefusedError, ConnectionRefusedError),
                       (zcrp.SystemCallError, OSError), (zcrp.PeerClosedError, ConnectionResetError),
                       (zcrp.CutOffError, ConnectionResetError), (zcrp.EndOfStreamError, EOFError),
                       (zcrp.EndOfStreamError, zcrp.PeerClosedError), (zcrp.AddressError, ValueError),
                       (zcrp.AddressError, OSError), (zcrp.OutOfMemoryError, MemoryError),
                       (zcrp.IdleTimeoutError, ConnectionError), (zcrp.AuthenticationError, ConnectionRefusedError),
                       (zcrp.NoSharedMemoryError, ConnectionError)):
        assert issubclass(kind, base) and issubclass(kind, zcrp.Error)


def test_a_system_call_that_failed_is_what_python_calls_it():
    for number, kind in ((errno.ENOENT, FileNotFoundError), (errno.EACCES, PermissionError),
                         (errno.EISDIR, IsADirectoryError), (errno.EMFILE, OSError)):
        error = zcrp.SystemCallError(number, os.strerror(number), "a file")
        assert isinstance(error, kind) and isinstance(error, zcrp.SystemCallError)
        assert type(error).code == zcrp.SystemCallError.code and type(error) is type(zcrp.SystemCallError(number, ""))
        assert (error.errno, error.filename) == (number, "a file")
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and str(again) == str(error) and again.filename == "a file"
    taken = zcrp.AddressError(errno.EADDRINUSE, "taken")
    assert str(pickle.loads(pickle.dumps(taken))) == str(taken)


def test_version():
    assert zcrp.__version__ == importlib.metadata.version("zcrp")
    assert zcrp.__version__.split(".") == [str(zcrp.version // 100 ** i % 100) for i in (2, 1, 0)]


@pytest.mark.parametrize("call, text", [
    (lambda one: zcrp.connect(b"127.0.0.1", 7000), "a host is a str, not bytes"),
    (lambda one: zcrp.connect(None, 7000), "a host is a str, not NoneType"),
    (lambda one: zcrp.listen(5), "a host is a str, not int"),
    (lambda one: zcrp.connect(HOST, 7000.5), "a port is an int or a str, not float"),
    (lambda one: zcrp.listen(HOST, None), "a port is an int or a str, not NoneType"),
    (lambda one: zcrp.connect(HOST, 7000, timeout="5"), "a time limit is a number of seconds or None, not str"),
    (lambda one: zcrp.connect(HOST, 7000, {"idle_timeout": 5}), "options are zcrp.Options, not dict"),
    (lambda one: zcrp.connect(HOST, 7000, {"idle_timeout": 5}, timeout=1), "options are zcrp.Options, not dict"),
    (lambda one: zcrp.listen(HOST, options="idle_timeout=5"), "options are zcrp.Options, not str"),
    (lambda one: one.send(b"x", "5"), "a time limit is a number of seconds or None, not str"),
    (lambda one: one.receive(limit="5"), "a limit is a whole number, not str"),
    (lambda one: one.receive([]), "a time limit is a number of seconds or None, not list"),
    (lambda one: one.allocate("5"), "a buffer's size is a whole number, not str"),
    (lambda one: one.allocate(5.0), "a buffer's size is a whole number, not float"),
    (lambda one: one.post_send_batch([b"x", 5]), "a message needs a buffer"),
    (lambda one: zcrp.wait([one]), "a message or a batch can be waited for here, not Connection"),
    (lambda one: zcrp.Keys("detector.key"), "keys are made by Keys.read"),
    (lambda one: zcrp.Options(keys="detector.key"), "the option keys is zcrp.Keys, as Keys.read makes them, not str"),
    (lambda one: zcrp.Options(messages="5"), "the option messages is a whole number, not str"),
    (lambda one: zcrp.Options(messages=5.0), "the option messages is a whole number, not float"),
    (lambda one: zcrp.Options(idle_timeout="5"), "the option idle_timeout is a number of seconds, not str"),
    (lambda one: zcrp.Options(gro="no"), "the option gro is a bool, not str"),
    (lambda one: zcrp.Options(allow_ptrace=1), "the option allow_ptrace is a bool, not int"),
    (lambda one: zcrp.Options(aal5={"vci": 40}), "the option aal5 is zcrp.Aal5, not dict"),
    (lambda one: zcrp.Aal5(vci="40"), "the option aal5.vci is a whole number, not str"),
    (lambda one: one.receive_first("0"), "an index is a whole number, not str"),
    (lambda one: zcrp.Options(stats_directory=5), "not int"),
    (lambda one: zcrp.Options(mesages=5), "mesages")])
def test_types_are_checked(pair, call, text):
    """By this package, in its words and not in those of what is underneath."""
    with pytest.raises(TypeError, match=text) as failure:
        call(pair[0])
    assert not re.search("cdata|ctype|cffi|uint", str(failure.value))


def test_what_nobody_has_room_for(pair):
    with pytest.raises(MemoryError):
        pair[0].allocate(1 << 70)
    with pytest.raises(zcrp.ArgumentError, match="a limit cannot be -1"):
        pair[0].receive(limit=-1)


def test_all_names_are_there():
    for name in zcrp.__all__:
        assert hasattr(zcrp, name)
    assert zcrp.version >= 200


def test_listening_at_any_address():
    with zcrp.listen() as listener:
        for host in HOST, "::1", "localhost":
            with zcrp.connect(host, listener.port, timeout=LONG) as one, listener.accept(LONG) as other:
                assert one.local == other.peer and "ffff" not in other.peer
                assert one.peer == other.local


@pytest.mark.parametrize("host", [HOST, "::1"])
def test_a_port_that_is_taken_in_one_family(host):
    with zcrp.listen(host) as listener, pytest.raises(zcrp.AddressError) as caught:
        zcrp.listen(port=listener.port)
    assert caught.value.errno == errno.EADDRINUSE


def test_nobody_listens():
    with zcrp.listen(HOST) as listener:
        port = listener.port
    with pytest.raises(zcrp.RefusedError, match=f"^nobody listens at {HOST}:{port}$"):
        zcrp.connect(HOST, port, IMPATIENT)
    with pytest.raises(zcrp.RefusedError, match=rf"^nobody listens at .*:{port}$"):
        zcrp.connect("localhost", port, IMPATIENT)
    with pytest.raises(zcrp.RefusedError, match=f"^nobody listens at {HOST}:{port}$"):
        asyncio.run(zcrp.asyncio.connect(HOST, port, IMPATIENT))
    with pytest.raises(zcrp.CallTimeoutError):
        zcrp.connect(HOST, port, timeout=0.1)


def test_a_time_limit_of_connect_holds():
    """Also if it is longer than the library looks for a peer by default, and longer than can be counted."""
    ended = []

    def wait(port):
        with pytest.raises(zcrp.CallTimeoutError):
            zcrp.connect(HOST, port, timeout=6)
        ended.append(time.monotonic() - started)

    async def wait_for_many(port):
        plain, with_options, in_a_hurry, *patient = connecting = [
            asyncio.ensure_future(zcrp.asyncio.connect(HOST, port, options, timeout=limit)) for options, limit in (
                (None, 6), (zcrp.Options(idle_timeout=20), 6), (zcrp.Options(connect_timeout=0.2), 1e30),
                (None, 1e12), (None, 1e30), (None, float("inf")))]
        await asyncio.wait({in_a_hurry})
        assert isinstance(in_a_hurry.exception(), zcrp.UnreachableError)
        await asyncio.wait({plain, with_options})
        ended.append(time.monotonic() - started)
        assert isinstance(plain.exception(), zcrp.CallTimeoutError)
        assert isinstance(with_options.exception(), zcrp.CallTimeoutError)
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


def test_one_thread_connects_and_then_accepts():
    with zcrp.listen(HOST) as listener, zcrp.connect(HOST, listener.port, timeout=LONG) as there:
        sent = there.post_send(b"before anybody has accepted")
        with listener.accept(timeout=LONG) as here:
            assert bytes(here.receive(timeout=LONG)) == b"before anybody has accepted"
            sent.wait(LONG)


def test_a_full_backlog_has_a_name():
    with zcrp.listen(HOST, options=zcrp.Options(backlog=1)) as listener:
        with zcrp.connect(HOST, listener.port, timeout=LONG):
            with pytest.raises(zcrp.NotAdmittedError, match="no room"):
                zcrp.connect(HOST, listener.port, zcrp.Options(connect_timeout=3))


@pytest.mark.parametrize("host, port", [("", 7000), (HOST, 0), (HOST, 70000), (HOST, -1), (HOST, "http/2"),
                                        ("no host of this name.", 7000)])
def test_addresses_that_are_none(host, port):
    with pytest.raises(zcrp.AddressError):
        zcrp.connect(host, port)


def test_addresses_that_cannot_be_listened_at():
    with zcrp.listen(HOST) as listener:
        with pytest.raises(zcrp.AddressError):
            zcrp.listen(HOST, listener.port)
    with pytest.raises(zcrp.AddressError):
        zcrp.listen("192.0.2.77")
    with pytest.raises(ValueError, match="null"):
        zcrp.listen("a\0b")


def test_address_errors_say_why():
    """In the library's words, and by errno."""
    with zcrp.listen(HOST) as listener:
        with pytest.raises(OSError, match=f"port {listener.port} is in use at {HOST}") as failure:
            zcrp.listen(HOST, listener.port)
        assert failure.value.errno == errno.EADDRINUSE and isinstance(failure.value, zcrp.AddressError)
    with pytest.raises(zcrp.AddressError, match='"192.0.2.77" is no address of this machine') as failure:
        zcrp.listen("192.0.2.77")
    assert failure.value.errno == errno.EADDRNOTAVAIL
    unknown = "no host of this name."
    for call, text, number in (
            (lambda: zcrp.connect(HOST, 0), '"0" is no port: that is a number from 1 to 65535', errno.EINVAL),
            (lambda: zcrp.listen(HOST, 70000), '"70000" is no port: that is a number from 0 to 65535', errno.EINVAL),
            (lambda: zcrp.connect("", 7000), "the host is empty", errno.EINVAL),
            (lambda: zcrp.connect("\xfc" * 70, 7000), "cannot resolve host ", errno.ENOENT),
            (lambda: zcrp.connect(unknown, 7000), f'cannot resolve host "{unknown}": ', None)):
        with pytest.raises(zcrp.AddressError, match=text) as failure:
            call()
        assert failure.value.errno == number or (number is None and failure.value.errno in (errno.ENOENT, errno.EAGAIN))

    async def run():
        for place, text in (((HOST, -1), '"-1" is no port'),
                            ((unknown, 7000), f'cannot resolve host "{unknown}": ')):
            with pytest.raises(zcrp.AddressError, match=text):
                await zcrp.asyncio.connect(*place)
        async with await zcrp.asyncio.listen(HOST) as listener:
            with pytest.raises(OSError) as failure:
                await zcrp.asyncio.listen(HOST, listener.port)
            assert failure.value.errno == errno.EADDRINUSE
        with pytest.raises(TypeError, match="a host is a str, not NoneType"):
            await zcrp.asyncio.connect(None, 7000)

    asyncio.run(run())


def test_connect_goes_on_for_a_late_server():
    """It comes when it was clear for long that nobody listens."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as place:
        place.bind((HOST, 0))
        port = place.getsockname()[1]
    found = []
    thread = in_thread(lambda: found.append(zcrp.connect(HOST, port, timeout=3 * LONG)))
    time.sleep(2.5)
    with zcrp.listen(HOST, port) as listener, listener.accept(LONG) as one:
        thread.join()
        with found[0] as other:
            assert one.peer == other.local


def test_accept_in_time():
    with zcrp.listen(HOST) as listener:
        for wait in (0, 0.1):
            with pytest.raises(zcrp.CallTimeoutError):
                listener.accept(wait)


@pytest.mark.parametrize("options, text", [
    ({"messages": -1}, "messages"), ({"messages": 1 << 40}, "messages"), ({"idle_timeout": -1}, "idle_timeout"),
    ({"congestion": "vegas"}, "congestion"), ({"channel": "pigeon"}, "channel"), ({"linger": float("nan")}, "linger"),
    ({"window_bytes": -5}, "window_bytes"), ({"connect_timeout": -float("inf")}, "connect_timeout")])
def test_options_that_cannot_be(options, text):
    with pytest.raises(ValueError, match=text):
        zcrp.listen(HOST, options=zcrp.Options(**options))


def test_options_out_of_range():
    with pytest.raises(zcrp.ArgumentError):
        zcrp.listen(HOST, options=zcrp.Options(unit_bytes=63))


@pytest.mark.parametrize("options, text", [
    ({"unit_bytes": 63}, "the option unit_bytes cannot be 63: it is 64 to 65507"),
    ({"unit_bytes": 65508}, "unit_bytes"), ({"messages": 0}, "messages cannot be 0: it is 1 to 1048576"),
    ({"backlog": (1 << 20) + 1}, "backlog"), ({"mapped_bytes": -1}, "mapped_bytes"),
    ({"idle_timeout": -0.5}, "idle_timeout"), ({"progress_timeout": -0.5}, "progress_timeout"),
    ({"linger": float("nan")}, "linger"), ({"connect_timeout": 1e10}, "connect_timeout"),
    ({"first_messages": 257}, "first_messages cannot be 257: it is 1 to 256"), ({"first_bytes": 0}, "first_bytes"),
    ({"congestion": "vegas"}, "the option congestion cannot be 'vegas': it is one of bbr, cubic, reno, none"),
    ({"channel": "pigeon"}, "the option channel cannot be 'pigeon'"), ({"channel": 5}, "channel")])
def test_options_are_checked_when_they_are_made(options, text):
    with pytest.raises(zcrp.ArgumentError, match=text) as failure:
        zcrp.Options(**options)
    assert isinstance(failure.value, ValueError)


@pytest.mark.parametrize("name", options_of._RANGES)
def test_ranges_are_the_librarys(name):
    """What is refused here the library would refuse, and nothing else."""
    least, most = options_of._RANGES[name]
    for value, is_good in ((least, True), (most, True), (least - 1, False), (most + 1, False)):
        native, door = ffi.new("struct zcrp_options *"), ffi.new("struct door **")
        try:
            setattr(native, name, value)
        except OverflowError:
            assert not is_good  # it cannot even be said
            continue
        if value == 0:
            continue  # the default
        code = lib.door_listen(door, HOST.encode(), b"0", native)
        if code == 0:
            lib.door_free(door[0])
        assert (code == 0) == is_good, value


@pytest.mark.parametrize("name", options_of._RANGES_OF_AAL5)
def test_ranges_of_aal5_are_the_librarys(name):
    least, most = options_of._RANGES_OF_AAL5[name]
    for value, is_good in ((least, True), (most, True), (least - 1, False), (most + 1, False)):
        native = zcrp.Options(channel="aal5", aal5=zcrp.Aal5(vci=100, vci_control=200))._native()
        door = ffi.new("struct door **")
        try:
            setattr(native.aal5 if hasattr(native.aal5, name) else native.aal5.faults, name, value)
        except OverflowError:
            assert not is_good
            continue
        code = lib.door_listen(door, HOST.encode(), b"0", native) if value != 0 else 0
        if door[0]:
            lib.door_free(door[0])
        assert (code == 0) == is_good, value
        try:
            assert zcrp.Aal5(**{name: value}) and is_good
        except zcrp.ArgumentError as error:
            assert not is_good and f"the option aal5.{name} cannot be {value}: it is {least} to {most}" == str(error)


def test_options_are_the_librarys():
    """Each field that zcrp.h has, but functions, and each flag."""
    fields = {name for name, _ in ffi.typeof("struct zcrp_options").fields} - {"flags"}
    options = {field.name for field in dataclasses.fields(zcrp.Options)}
    assert {options_of._TIMES.get(name, name) for name in options - set(options_of._FLAGS)} == fields
    flags = {getattr(lib, name) for name in dir(lib) if re.match("ZCRP_(NO|ALLOW|ENVIRONMENT)_", name)}
    assert {flag for flag, _ in options_of._FLAGS.values()} == flags and zcrp.Options()._native().flags == 0
    for name, (flag, value) in options_of._FLAGS.items():
        assert zcrp.Options(**{name: value})._native().flags == flag
    fields = [name for kind in ("zcrp_aal5", "zcrp_atm_faults") for name, _ in ffi.typeof(f"struct {kind}").fields]
    assert [field.name for field in dataclasses.fields(zcrp.Aal5)] == [name for name in fields if name != "faults"]


def test_a_circuit_and_its_faults():
    """They are not the defaults: a peer that names other circuits finds nobody."""
    circuit = zcrp.Aal5(vpi=1, vci=40, vci_control=50, mtu=1500, loss=2000, seed=7)
    native = zcrp.Options(aal5=circuit)._native().aal5
    assert (native.vpi, native.vci, native.vci_control, native.mtu, native.faults.loss, native.faults.seed) == (
        1, 40, 50, 1500, 2000, 7)
    one, other = meet(zcrp.Options(channel="aal5", aal5=circuit))
    with one, other:
        posted = other.post_receive(bytearray(1 << 20))
        one.send(bytes(1 << 20), LONG)
        assert posted.wait(LONG) == 1 << 20
        assert one.statistics().sender["cells_lost"] + other.statistics().receiver["cells_lost"] > 0
    with zcrp.listen(HOST, options=zcrp.Options(channel="aal5", aal5=circuit)) as listener:
        with pytest.raises(ConnectionError):
            zcrp.connect(HOST, listener.port, zcrp.Options(channel="aal5", connect_timeout=0.5))


def test_no_limit():
    native = zcrp.Options(idle_timeout=float("inf"), keepalive=options_of._MOST)._native()
    assert native.silence_ns == (1 << 63) - 1 and native.keepalive_ns < native.silence_ns
    one, other = meet(zcrp.Options(idle_timeout=float("inf"), progress_timeout=float("inf")))
    with one, other:
        sent = one.post_send(b"x")
        assert other.receive(LONG) == b"x" and sent.wait(LONG) == 1


def test_options_that_can_be():
    options = zcrp.Options(unit_bytes=1400, messages=5, window_bytes=1 << 20, idle_timeout=2.5, linger=1,
                           connect_timeout=3, progress_timeout=4, keepalive=2, accept_timeout=3, spin=0,
                           send_buffer=1 << 16, receive_buffer=1 << 16, congestion="cubic", channel="datagram", segment=False,
                           gro=False, ecn=False, memory=False, connections=3, backlog=2)
    one, other = meet(options)
    with one, other:
        posted = other.post_receive(bytearray(5000))
        one.send(bytes(5000), LONG)
        assert posted.wait(LONG) == 5000
        assert one.statistics().sender["bytes_copied_once"] == 0
        assert one.statistics().sender["units"] >= 4


@pytest.mark.parametrize("old, new", options_of._NEW_NAMES.items())
def test_old_names_of_options_warn(old, new):
    text = f"^the option {old} is deprecated: it is named {new} now$"
    with pytest.warns(DeprecationWarning, match=text) as told:
        options = zcrp.Options(**{old: 2.5})
    assert told[0].filename == __file__ and options == zcrp.Options(**{new: 2.5})
    with pytest.warns(DeprecationWarning, match=text) as told:
        assert getattr(options, old) == 2.5
    assert told[0].filename == __file__
    with pytest.warns(DeprecationWarning, match=text):
        assert dataclasses.replace(zcrp.Options(linger=1), **{old: 2.5}) == zcrp.Options(linger=1, **{new: 2.5})
    with pytest.raises(TypeError, match=f"the options {old} and {new} are the same: give {new} alone"):
        zcrp.Options(**{old: 1, new: 1})


def test_options_that_there_are_not():
    with pytest.raises(AttributeError, match="zcrp.Options has no option 'mesages'"):
        zcrp.Options().mesages
    assert pickle.loads(pickle.dumps(zcrp.Options(idle_timeout=5))) == zcrp.Options(idle_timeout=5)


@pytest.mark.parametrize("name", options_of._TIMES)
def test_times_are_seconds(name):
    native = zcrp.Options(**{name: 1.5})._native()
    assert getattr(native, options_of._TIMES[name]) == 1_500_000_000


def test_no_descriptor_left():
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = []
    with zcrp.listen(HOST) as listener:
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, before[1]))
        try:
            with pytest.raises(OSError):
                while True:
                    taken.append(socket.socket())
            with pytest.raises(zcrp.SystemCallError) as failure:
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
    with pytest.raises(zcrp.EndOfStreamError):
        posted.wait(LONG)
    assert isinstance(other.status(), zcrp.PeerClosedError)
    for call in (other.receive, lambda: other.receive_into(bytearray(1)),
                 other.post_receive_batch([bytearray(1)]).wait):
        with pytest.raises(EOFError, match="the peer has closed"):
            call()
    with pytest.raises(zcrp.PeerClosedError) as failure:
        other.send(b"x")
    assert not isinstance(failure.value, EOFError)


def test_a_loop_ends_with_what_the_peer_sent(pair):
    one, other = pair
    sent = [b"a", b"", b"c" * 100000]
    thread = in_thread(lambda: [one.send(message) for message in sent] and one.close())
    assert list(other) == sent and list(other) == []
    thread.join()


def test_a_peer_that_closes_at_once():
    with zcrp.listen(HOST) as listener:
        for _ in range(20):
            thread = in_thread(lambda: listener.accept(LONG).close())
            with zcrp.connect(HOST, listener.port) as there:
                assert list(there) == []
            thread.join()


def test_a_loop_keeps_to_its_limit(pair):
    one, other = pair
    posted = one.post_send(b"four")
    with pytest.raises(zcrp.TooLargeError):
        list(other.messages(limit=3))
    assert other.receive() == b"four"
    posted.wait(LONG)


def test_a_peer_that_leaves_messages_behind(impatient):
    one, other = impatient
    lost = one.post_send(b"nobody has posted a buffer")
    assert one.close() is False
    with pytest.raises(zcrp.ClosedError):
        lost.wait(LONG)
    for call in (lambda: list(other), lambda: other.receive_into(bytearray(1))):
        with pytest.raises(zcrp.CutOffError):
            call()
