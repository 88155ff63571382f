"""Keys: who has them is served, and nobody else."""
import asyncio
import errno
import gc
import os
import re
import signal
import sys
import threading
import time

import pytest

import zcrp
import zcrp.asyncio
from conftest import HOST, LONG, in_child, in_thread, run_program

KEY = bytes(range(32))


@pytest.fixture(autouse=True)
def keys_are_there():
    try:
        zcrp.Keys.psk("x", KEY)
    except zcrp.NoKeysError as error:
        pytest.skip(str(error))


def options(keys, **named):
    return zcrp.Options(keys=keys, connect_timeout=20, **named)


def test_one_key():
    keys = zcrp.Keys.psk("laboratory", KEY)
    assert repr(keys) == "<zcrp.Keys>"
    with zcrp.listen(HOST, options=options(keys)) as listener:
        del keys  # the listener holds them
        box = []
        thread = in_thread(lambda: box.append(
            zcrp.connect(HOST, listener.port, options(zcrp.Keys.psk("laboratory", KEY)))))
        with listener.accept(LONG) as one:
            thread.join()
            with box[0] as other:
                sent = other.post_send(b"secret" * 1000)
                assert one.receive(LONG) == b"secret" * 1000 and sent.wait(LONG) == 6000
                assert one.identity() == "laboratory"


def test_several_keys_awaited():
    async def run():
        keys = zcrp.Keys.psk("one", KEY)
        keys.add_psk("two", KEY[::-1])
        async with await zcrp.asyncio.listen(HOST, options=options(keys)) as listener:
            one, other = await asyncio.gather(listener.accept(), zcrp.asyncio.connect(
                HOST, listener.port, options(zcrp.Keys.psk("two", KEY[::-1]))))
            sent = other.send(b"x")
            assert await one.receive() == b"x" and one.identity() == "two"
            await sent
            await asyncio.gather(one.close(), other.close())
    asyncio.run(asyncio.wait_for(run(), 60))


@pytest.mark.parametrize("wrong", [("laboratory", KEY[::-1]), ("stranger", KEY), None])
def test_others_are_refused(wrong):
    with zcrp.listen(HOST, options=options(zcrp.Keys.psk("laboratory", KEY))) as listener:
        with pytest.raises(zcrp.AuthenticationError):
            zcrp.connect(HOST, listener.port, options(None if wrong is None else zcrp.Keys.psk(*wrong)))
        with pytest.raises(zcrp.CallTimeoutError):
            listener.accept(0.05)
        shown = 0 if wrong is None else 1  # only who shows a key is refused one
        while listener.statistics().refused < shown:
            time.sleep(0.01)
        assert listener.statistics() == zcrp.ListenerStatistics(admitted=0, dropped=0, connections=0, refused=shown)


def test_keys_in_use_are_not_changed(tmp_path):
    """Handshakes read them in other threads: a second log would close the first one under them."""
    keys = zcrp.Keys.psk("laboratory", KEY)
    keys.log(tmp_path / "log")
    with zcrp.listen(HOST, options=options(keys)):
        for change in (lambda: keys.log(tmp_path / "other"), lambda: keys.add_psk("two", KEY),
                       lambda: keys.set_lookup(lambda name: None), lambda: keys.pin("0" * 64)):
            with pytest.raises(zcrp.BusyError, match="the keys are in use"):
                change()
    assert os.listdir(tmp_path) == ["log"]


def test_fork_while_another_thread_changes_keys():
    """The child uses them, or others."""
    keys, changes, may_end = zcrp.Keys.psk("laboratory", KEY), threading.Event(), threading.Event()

    def change(native):
        changes.set()
        return 0 if may_end.wait(LONG) else 1

    thread = in_thread(lambda: keys._change(change))
    assert changes.wait(LONG)

    def child():
        signal.alarm(5)
        zcrp.Options(keys=keys)._native()

    try:
        assert in_child(child) == 0
    finally:
        may_end.set()
        thread.join()


def test_keys_of_the_environment(tmp_path):
    """Of a program that asks for them."""
    file = tmp_path / "key"
    file.write_text("laboratory:" + KEY.hex() + "\n", encoding="ascii")
    file.chmod(0o600)
    with zcrp.listen(HOST, options=options(zcrp.Keys.read(file))) as listener:
        printed = []
        thread = in_thread(lambda: printed.append(run_program("""
            import sys, zcrp
            with zcrp.connect("127.0.0.1", sys.argv[1], zcrp.Options(environment_keys=True)) as connection:
                print(connection.identity())
            try:
                zcrp.connect("127.0.0.1", sys.argv[1])
            except zcrp.AuthenticationError:
                print("refused")
            """, str(listener.port), env={**os.environ, "ZCRP_KEYS": str(file)})))
        with listener.accept(LONG) as one:
            with pytest.raises(zcrp.EndOfStreamError):
                one.receive(LONG)
        thread.join()
    assert printed == ["laboratory\nrefused\n"]


def test_refused_are_counted_awaited():
    async def run():
        async with await zcrp.asyncio.listen(HOST, options=options(zcrp.Keys.psk("laboratory", KEY))) as listener:
            for count in range(3):
                while listener.statistics().refused < count:
                    await asyncio.sleep(0.01)
                assert listener.statistics() == zcrp.ListenerStatistics(0, 0, 0, count)
                with pytest.raises(zcrp.AuthenticationError):
                    await zcrp.asyncio.connect(HOST, listener.port, options(zcrp.Keys.psk("stranger", KEY)))
    asyncio.run(asyncio.wait_for(run(), 60))


def test_without_keys_nobody_is_known(pair):
    assert pair[0].identity() is None
    pair[0].close()
    with pytest.raises(zcrp.ClosedError):
        pair[0].identity()


def test_files(tmp_path):
    file = tmp_path / "key"
    file.write_text("laboratory:" + KEY.hex() + "\n", encoding="ascii")
    file.chmod(0o600)
    zcrp.Keys.read(file)
    zcrp.Keys.read(str(file))
    file.chmod(0o644)
    with pytest.raises(zcrp.ExposedKeyError):
        zcrp.Keys.read(file)
    with pytest.raises(zcrp.SystemCallError):
        zcrp.Keys.read(tmp_path / "none")
    file.chmod(0o600)
    file.write_text("no key", encoding="ascii")
    with pytest.raises(zcrp.ArgumentError):
        zcrp.Keys.read(file)


def test_errors_of_files_name_them(tmp_path):
    """As open() does it, and as the library's errors, too."""
    file = tmp_path / "key"
    file.write_text("laboratory:" + KEY.hex() + "\n", encoding="ascii")
    file.chmod(0o644)
    certificate, key, authorities = tmp_path / "a.pem", tmp_path / "b.pem", tmp_path / "c.pem"
    for one in (certificate, authorities):
        one.write_text("no PEM", encoding="ascii")
    keys, missing = zcrp.Keys.psk("laboratory", KEY), tmp_path / "none"
    for call, kind, number, name in (
            (lambda: zcrp.Keys.read(missing), FileNotFoundError, errno.ENOENT, missing),
            (lambda: zcrp.Keys.read(str(missing)), zcrp.SystemCallError, errno.ENOENT, missing),
            (lambda: zcrp.Keys.read(file / "below"), NotADirectoryError, errno.ENOTDIR, file / "below"),
            (lambda: zcrp.Keys.read(file), PermissionError, errno.EACCES, file),
            (lambda: zcrp.Keys.read(file), zcrp.ExposedKeyError, errno.EACCES, file),
            (lambda: keys.log(file), zcrp.ExposedKeyError, errno.EACCES, file),
            (lambda: keys.log(missing / "log"), FileNotFoundError, errno.ENOENT, missing / "log"),
            (lambda: zcrp.Keys.certificate(missing, certificate, authorities), zcrp.SystemCallError, errno.ENOENT,
             missing),
            (lambda: zcrp.Keys.certificate(certificate, key, authorities), FileNotFoundError, errno.ENOENT, key),
            (lambda: zcrp.Keys.certificate(certificate, file, authorities), zcrp.ExposedKeyError, errno.EACCES, file),
            (lambda: zcrp.Keys.certificate(certificate, certificate, missing), zcrp.SystemCallError, errno.ENOENT,
             missing)):
        with pytest.raises(kind) as failure:
            call()
        assert isinstance(failure.value, zcrp.Error) and failure.value.errno == number
        assert failure.value.filename == str(name) and repr(str(name)) in str(failure.value)
    certificate.chmod(0o600)
    for call in (lambda: zcrp.Keys.read(certificate),
                 lambda: zcrp.Keys.certificate(certificate, certificate, authorities)):
        with pytest.raises(zcrp.ArgumentError, match="a.pem"):
            call()


@pytest.mark.parametrize("call, text", [
    (lambda keys: zcrp.Keys.psk(5, KEY), "an identity is a str, not int"),
    (lambda keys: zcrp.Keys.psk("x", "text"), "a pre-shared key is bytes, not str"),
    (lambda keys: zcrp.Keys.psk("x", 32), "a pre-shared key is bytes, not int"),
    (lambda keys: keys.add_psk("x", None), "a pre-shared key is bytes, not NoneType"),
    (lambda keys: zcrp.Keys.raw("text"), "a secret key in PEM is bytes, not str"),
    (lambda keys: keys.pin(b"sha256:"), "a fingerprint is a str, not bytes"),
    (lambda keys: keys.set_lookup(5), "a lookup is a function, not int"),
    (lambda keys: zcrp.Keys.read(5), "not int"), (lambda keys: keys.log(None), "not NoneType"),
    (lambda keys: zcrp.Keys.certificate("a", "b", 5), "not int"),
    (lambda keys: zcrp.Keys.certificate("a", "b", "c", 5), "a name is a str, not int")])
def test_types_are_checked(call, text):
    with pytest.raises(TypeError, match=text) as failure:
        call(zcrp.Keys.psk("laboratory", KEY))
    assert not re.search("cdata|ctype|cffi|uint", str(failure.value))


def test_keys_of_any_bytes():
    for key in (bytearray(KEY), memoryview(KEY)):
        zcrp.Keys.psk("laboratory", key).add_psk("other", key)


@pytest.mark.parametrize("call, text", [
    (lambda keys: zcrp.Keys.psk("x", bytes(31)), "a pre-shared key cannot have 31 bytes: it has 32 to 64"),
    (lambda keys: zcrp.Keys.psk("x" * 129, KEY), "an identity cannot have 129 bytes: it has 1 to 128"),
    (lambda keys: keys.pin("sha256:00"), "64 hexadecimal digits"),
    (lambda keys: keys.pin("0" * 64), "only keys of Keys.raw"),
    (lambda keys: zcrp.Keys.raw(b"no PEM"), "no secret key in PEM")])
def test_what_is_wrong_is_named(call, text):
    with pytest.raises(zcrp.ArgumentError, match=text):
        call(zcrp.Keys.psk("laboratory", KEY))


def test_who_has_no_key_is_told_soon():
    """Long before the time to connect in is over."""
    with zcrp.listen(HOST, options=options(zcrp.Keys.psk("laboratory", KEY))) as listener:
        started = time.monotonic()
        with pytest.raises(zcrp.AuthenticationError):
            zcrp.connect(HOST, listener.port, zcrp.Options(connect_timeout=3 * LONG))
        assert time.monotonic() - started < LONG


def test_key_log(tmp_path):
    file = tmp_path / "log"
    keys = zcrp.Keys.psk("laboratory", KEY)
    keys.log(file)
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o644)
    with pytest.raises(zcrp.ExposedKeyError):
        keys.log(file)


def test_keys_that_are_none(tmp_path):
    for call in (lambda: zcrp.Keys.psk("short", b"x"), lambda: zcrp.Keys.psk("", KEY), lambda: zcrp.Keys.raw(b"no PEM"),
                 lambda: zcrp.Keys.psk("x", KEY).pin("sha256:00"), lambda: zcrp.Keys.psk("a\0b", KEY)):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(zcrp.Error):
        zcrp.Keys.certificate(tmp_path / "a", tmp_path / "b", tmp_path / "c", "name")
    with pytest.raises(TypeError):
        zcrp.Keys.psk("x", "text")
    assert os.listdir(tmp_path) == []


def call_with(identity, key):
    """A listener that looks keys up. Who called, or why not, and what was asked for."""
    asked = []

    def look_up(name):
        asked.append(name)
        if name == "broken":
            raise LookupError("as it should")
        return {"found": KEY[::-1], "short": b"x"}.get(name)

    keys = zcrp.Keys.psk("laboratory", KEY)
    keys.set_lookup(look_up)
    with zcrp.listen(HOST, options=options(keys)) as listener:
        del keys
        gc.collect()
        box = []

        def call():
            try:
                box.append(zcrp.connect(HOST, listener.port, options(zcrp.Keys.psk(identity, key))))
            except zcrp.AuthenticationError:
                listener.close()

        thread = in_thread(call)
        try:
            with listener.accept(LONG) as one:
                thread.join()
                with box[0] as other:
                    sent = other.post_send(b"x")
                    assert one.receive(LONG) == b"x" and sent.wait(LONG) == 1
                    return one.identity(), asked
        except zcrp.ClosedError:
            thread.join()
            return None, asked


def test_a_key_is_looked_up():
    assert call_with("found", KEY[::-1]) == ("found", ["found"])
    assert call_with("laboratory", KEY) == ("laboratory", [])


@pytest.mark.parametrize("identity", ["nobody", "short", "broken"])
def test_a_key_that_is_not_found(identity, monkeypatch):
    raised = []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: raised.append(str(report.exc_value)))
    found, asked = call_with(identity, KEY)
    assert found is None and set(asked) == {identity}
    assert set(raised) == {"nobody": set(), "short": {"a pre-shared key cannot have 1 bytes: it has 32 to 64"},
                           "broken": {"as it should"}}[identity]
