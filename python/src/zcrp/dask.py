"""``zcrp://`` for dask.distributed: frames are received into the memory that they stay in.

Dask finds this module by its entry point, so ``LocalCluster(protocol="zcrp")``, ``dask scheduler --protocol zcrp``
and addresses such as ``zcrp://192.0.2.1:8786`` work once the package is installed with its extra: ``zcrp[dask]``.

What Dask writes is one *table*, and a message for each large frame:

    table       u64: bytes of the table that come as a message of their own; 0: it is here
                u64: number of frames; for each a u64: its bytes, and LARGE if it is a message of its own, or APART if
                it gets memory of its own although it is small
                the small frames, one behind the other
    messages    the large frames, in their order

The reader has a buffer posted for the next table at all times, and knows from it what to post for the frames. So
small writes do not wait for each other's reader, and the peer's end is noticed when nobody reads.

A frame is the memory of an object, such as an array, at the writer, and becomes the memory of an object at the reader.
Objects that share one piece of memory keep all of it until the last of them is gone. So each object gets a piece of its
own; only the first object of a small table stays in the table. The comm of ``tcp://`` does the same.

Before the first message nobody knows who the peer is, and without keys nobody knows later. So a table has at most
TABLE_MOST bytes. Memory is set aside as announced, but none of it is touched before bytes arrive, and at most 2 * AHEAD
frames are posted at once. Each message has exactly the size that was announced, or the comm ends: nobody reads what
the memory held before.
"""
from __future__ import annotations

import asyncio
import atexit
import contextlib
import errno
import logging
import socket
import struct
import sys
import time
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Optional

import dask
from dask.utils import parse_timedelta
from distributed.comm.addressing import parse_host_port, unparse_host_port
from distributed.comm.core import BaseListener, Comm, CommClosedError, Connector, FatalCommClosedError
from distributed.comm.registry import Backend as _Backend
from distributed.comm.tcp import RequireEncryptionMixin
from distributed.comm.utils import ensure_concrete_host, from_frames, to_frames
from distributed.protocol.utils import host_array
from distributed.utils import ensure_ip, ensure_memoryview, get_ip

from . import _door, _renamed
from . import asyncio as zcrp_asyncio
from ._buffers import blank
from .errors import AddressError, AuthenticationError, ClosedError, Error, SystemCallError
from .keys import Keys
from .options import Options

try:
    import numpy
except ImportError:
    numpy = None  # type: ignore[assignment]

__all__ = ["Backend", "KeysRefusedError", "ZcrpComm", "ZcrpConnector", "ZcrpListener"]

if not TYPE_CHECKING:
    __getattr__ = _renamed.getter(__name__, {"KeysRefused": "KeysRefusedError"})

logger = logging.getLogger(__name__)

# Dask makes a finalizer ahead of its exit handlers, which find comms open then: finalizers run behind them.
atexit.unregister(_door._close_all)
weakref.finalize(_door._close_all, _door._close_all)

KEYS = "distributed.comm.zcrp.keys"
"""The setting that names a file of ``zcrp-keys``; with it, nobody without the key is served."""

PREFIX = "zcrp://"
TABLE_BYTES = 1 << 15  # of the buffer that is posted for the next table
TABLE_MOST = 1 << 24  # of a table: 2 million frames
SMALL_BYTES = 1 << 12  # frames below go with the table, while there is room
AHEAD = 512  # large frames that are posted together; the next as many follow before the first have arrived
LARGE = 1 << 63
APART = 1 << 62
SHARED_BYTES = 1 << 11  # the most that a table has beside the frame of an object that stays in it
_U64 = struct.Struct("<Q")
_RETRY_S = 0.1  # between accepts, when there is no descriptor left
_CONNECTIONS = 1 << 15  # of a listener, at once
_LEAVING_S = 1.0  # the most that a port is occupied after a listener and its connections were told to close
_STEP_S = 0.005

_left: dict[int, float] = {}  # when a listener of this process left a port
_REFUSALS_MOST = 1000
_refusals: set[str] = set()  # that are in the log, until the keys are accepted there


class KeysRefusedError(FatalCommClosedError, AuthenticationError):  # type: ignore[misc]
    """One end does not accept the keys of the other, or has none. A client gives up; a worker tries again, which Dask
    does not explain in its log, so there is a warning."""


def _flags(frames: list[memoryview], is_large: list[bool]) -> list[int]:
    """LARGE, APART, or 0, for each of them."""
    small = sum(frame.nbytes for frame, large in zip(frames, is_large) if not large)
    is_first = True
    flags = []
    for frame, large in zip(frames, is_large):
        is_object = frame.nbytes > 0 and not isinstance(frame.obj, bytes)
        stays = is_first and small - frame.nbytes <= SHARED_BYTES
        flags.append(LARGE if large else APART if is_object and not stays else 0)
        is_first = is_first and not (is_object and not large)
    return flags


def pack(frames: list[memoryview]) -> list[Any]:
    """The messages for these frames. ValueError: there are more than a table has room for."""
    room = TABLE_MOST - 16 - 8 * len(frames)
    if room < 0:
        raise ValueError(f"a message cannot have {len(frames)} frames")
    is_large = []
    for frame in frames:
        is_large.append(frame.nbytes >= SMALL_BYTES or frame.nbytes > room)
        room -= 0 if is_large[-1] else frame.nbytes
    words = [0, len(frames), *(frame.nbytes | flag for frame, flag in zip(frames, _flags(frames, is_large)))]
    small = [frame for frame, large in zip(frames, is_large) if not large]
    table = b"".join([struct.pack(f"<{len(words)}Q", *words), *small])
    first = [table] if len(table) <= TABLE_BYTES else [_U64.pack(len(table)), table]
    return first + [frame for frame, large in zip(frames, is_large) if large]


def unpack(table: Any) -> tuple[list[Optional[memoryview]], list[int]]:
    """The frames, with None for those that come by themselves, and the bytes of these. ValueError: it is damaged."""
    view = memoryview(table)
    if len(view) < 16 or struct.unpack_from("<2Q", view)[1] > (len(view) - 16) // 8:
        raise ValueError("the table of frames is cut off")
    words = struct.unpack_from(f"<{struct.unpack_from('<2Q', view)[1]}Q", view, 16)
    frames: list[Optional[memoryview]] = []
    large = []
    at = 16 + 8 * len(words)
    for word in words:
        if word & LARGE:
            large.append(word - LARGE)
            frames.append(None)
        else:
            size = word & ~APART
            frame = view[at:at + size]
            if len(frame) != size:
                raise ValueError("the table of frames does not add up")
            frames.append(_copy(frame) if word & APART else frame)
            at += size
    if at != len(view):
        raise ValueError("the table of frames does not add up")
    return frames, large


def _room_for(size: int) -> Any:
    """Memory for a frame, which holds anything. Dask's own writes zeros where there is no NumPy, so it is touched."""
    return memoryview(blank(size)) if numpy is None else host_array(size)


def _copy(view: memoryview) -> memoryview:
    """The same bytes in memory of their own."""
    room: memoryview = _room_for(len(view))
    room[:] = view
    return room


def _check_sizes(found: list[int], announced: list[int]) -> None:
    if found != announced:
        raise ValueError("a message has another size than was announced")


class _Stream:
    """Where a comm writes. It is named as in a comm over ``tcp://``, whose ``stream.write`` Dask's tests replace."""

    def __init__(self, connection: zcrp_asyncio.Connection) -> None:
        self._connection = connection

    def write(self, messages: list[Any]) -> zcrp_asyncio.Posted[None]:
        return self._connection.send_batch(messages)


class ZcrpComm(Comm):  # type: ignore[misc]
    """A connection, as Dask wants it."""

    def __init__(self, connection: zcrp_asyncio.Connection, local_addr: str, peer_addr: str,
                 deserialize: bool = True) -> None:
        super().__init__(deserialize=deserialize)
        self._connection = connection
        self.stream = _Stream(connection)
        self._local_addr, self._peer_addr = local_addr, peer_addr
        self._closed = False
        self._listener: Optional[ZcrpListener] = None  # that it came from
        self._room = bytearray(TABLE_BYTES)
        self._finalizer = weakref.finalize(self, _drop, connection, repr(self))
        self._finalizer.atexit = False
        self._table: Optional[zcrp_asyncio.Posted[int]] = self._watch(connection.receive_into(self._room))

    @property
    def local_address(self) -> str:
        return self._local_addr

    @property
    def peer_address(self) -> str:
        return self._peer_addr

    def closed(self) -> bool:
        return self._closed

    # ---- reading

    async def read(self, deserializers: Any = None) -> Any:
        table = self._table
        is_left = not self._finalizer.alive  # this end has closed or aborted it: nobody wants what has arrived
        if table is None or is_left or (self._closed and not _is_good(table)):
            raise CommClosedError(f"in {self}: it is closed")
        try:
            frames = await self._read_frames(table)
        except Exception as error:
            self.abort()
            raise CommClosedError(f"in {self}: {type(error).__name__}: {error}") from error
        except asyncio.CancelledError:
            self.abort()
            if self._listener is None or self._listener.is_listening:
                raise
            # Dask cancels what reads once its server has stopped. It would log that as an error.
            raise CommClosedError(f"in {self}: the server has stopped") from None
        except BaseException:  # what was read so far is lost
            self.abort()
            raise
        try:
            return await from_frames(frames, deserialize=self.deserialize, deserializers=deserializers,
                                     allow_offload=self.allow_offload)
        except EOFError:
            self.abort()
            raise CommClosedError(f"in {self}: the data is cut off") from None

    async def _read_frames(self, posted_table: zcrp_asyncio.Posted[int]) -> list[memoryview]:
        table = _copy(memoryview(self._room)[:await posted_table])
        self._table = None
        if len(table) < _U64.size:
            raise ValueError("the table of frames is cut off")
        size = _U64.unpack_from(table)[0]
        if size > TABLE_MOST:
            raise ValueError(f"a table of {size} bytes is too large")
        if size != 0:
            table = _room_for(size)
            _check_sizes([await self._connection.receive_into(table)], [size])
        frames, large = unpack(table)
        arrived = iter(await self._read_large(large))
        return [next(arrived) if frame is None else frame for frame in frames]

    async def _read_large(self, sizes: list[int]) -> list[memoryview]:
        """Receives frames of these sizes, and has the buffer for the next table posted behind them."""
        rooms: list[memoryview] = []
        posted: list[tuple[zcrp_asyncio.Posted[list[int]], list[int]]] = []
        for at in range(0, len(sizes), AHEAD):
            some = sizes[at:at + AHEAD]
            rooms += [_room_for(size) for size in some]
            posted.append((self._watch(self._connection.receive_batch(rooms[at:])), some))
            if len(posted) > 1:
                before, announced = posted.pop(0)
                _check_sizes(await before, announced)
        if not self._closed:
            self._table = self._watch(self._connection.receive_into(self._room))
        for last, announced in posted:
            _check_sizes(await last, announced)
        return rooms

    # ---- writing

    async def write(self, msg: Any, serializers: Any = None, on_error: str = "message") -> int:
        """Returns when the message is on its way. As over tcp://, what it is made of must not change for a while."""
        if self._closed:
            raise CommClosedError(f"in {self}: it is closed")
        context = {"sender": self.local_info, "recipient": self.remote_info, **self.handshake_options}
        frames = await to_frames(msg, allow_offload=self.allow_offload, serializers=serializers, on_error=on_error,
                                 context=context, frame_split_size=sys.maxsize)
        try:
            messages = pack([ensure_memoryview(frame) for frame in frames])
            self._watch(self.stream.write(messages))
        except Error as error:
            self.abort()
            raise CommClosedError(f"in {self}: {type(error).__name__}: {error}") from error
        except BaseException:  # nobody knows what was posted
            self.abort()
            raise
        return sum(len(message) for message in messages)

    # ---- closing

    def _watch(self, posted: zcrp_asyncio.Posted[Any]) -> zcrp_asyncio.Posted[Any]:
        """A message that fails is the end of the comm, also if nobody awaits it."""
        this = weakref.ref(self)

        def ended(done: asyncio.Future[Any]) -> None:
            comm = this()
            if not _is_good(done) and comm is not None:
                comm._closed = True
                if done is comm._table:  # nothing more comes, and Dask need not close what it finds closed
                    comm.abort()

        posted.add_done_callback(ended)
        return posted

    async def close(self) -> None:
        self._closed = True
        if self._finalizer.detach() is not None:
            await self._connection.close()

    def abort(self) -> None:
        self._closed = True
        if self._finalizer.detach() is not None:
            self._connection.abort()


def _is_good(done: asyncio.Future[Any]) -> bool:
    """Has it ended well?"""
    return done.done() and not done.cancelled() and done.exception() is None


def _drop(connection: zcrp_asyncio.Connection, name: str) -> None:
    """Nobody has the comm any more; the garbage collector may run in any thread."""
    logger.warning("Closing dangling connection in %s", name)
    if connection._loop.is_closed():
        connection._handle.abandon()
    else:
        connection._loop.call_soon_threadsafe(connection.abort)


def _local_host_for(host: str) -> str:
    """The address of this machine that reaches a host. Dask's get_ip knew IPv4 only before 2025.12."""
    if ":" in host:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
            probe.connect((host, 80))
            return str(probe.getsockname()[0])
    return str(get_ip(host))


def _keys() -> Optional[Keys]:
    path = dask.config.get(KEYS, None)
    return None if path is None else Keys.read(path)


def _note_left(port: int) -> None:
    """A listener leaves this port. Ports that are not occupied any more are forgotten."""
    now = time.monotonic()
    for other in [other for other, since in _left.items() if now - since >= _LEAVING_S]:
        del _left[other]
    _left[port] = now


def _linger() -> float:
    """Seconds that a close waits for a reader that takes nothing: as many as over ``tcp://``."""
    return float(parse_timedelta(dask.config.get("distributed.comm.timeouts.tcp"), default="seconds"))


def _warn_once(address: str, text: str) -> None:
    """A worker tries again about twice a second."""
    if address not in _refusals:
        if len(_refusals) >= _REFUSALS_MOST:
            _refusals.clear()
        _refusals.add(address)
        logger.warning("%s", text)


class _Keyed(RequireEncryptionMixin):  # type: ignore[misc]
    """What has keys is encrypted."""

    prefix = PREFIX

    @property
    def encrypted(self) -> bool:
        return dask.config.get(KEYS, None) is not None


class ZcrpConnector(_Keyed, Connector):  # type: ignore[misc]
    comm_class: ClassVar[type[ZcrpComm]] = ZcrpComm

    async def connect(self, address: str, deserialize: bool = True, **connection_args: Any) -> ZcrpComm:
        self._check_encryption(address, connection_args)
        host, port = parse_host_port(address)
        try:
            options = Options(keys=_keys(), linger=_linger())
        except Error as error:  # of the file: it is no use to try again
            raise FatalCommClosedError(f"cannot connect to {PREFIX}{address}: {KEYS}: {error}") from error
        try:
            connection = await zcrp_asyncio.connect(host, port, options)
        except AuthenticationError as error:
            file = dask.config.get(KEYS, None)
            here = "names no key file here" if file is None else f"is {file!r} here"
            text = f"cannot connect to {PREFIX}{address}: {error}; {KEYS} {here}"
            _warn_once(address, text)
            raise KeysRefusedError(text) from error
        except Error as error:
            raise CommClosedError(f"cannot connect to {PREFIX}{address}: {type(error).__name__}: {error}") from error
        _refusals.discard(address)
        return self.comm_class(connection, PREFIX + connection.local, PREFIX + address, deserialize)


class ZcrpListener(_Keyed, BaseListener):  # type: ignore[misc]
    comm_class: ClassVar[type[ZcrpComm]] = ZcrpComm

    def __init__(self, address: str, comm_handler: Callable[[Any], Any], deserialize: bool = True,
                 allow_offload: bool = True, default_host: Optional[str] = None, default_port: int = 0,
                 **connection_args: Any) -> None:
        super().__init__()
        self._check_encryption(address, connection_args)
        host, self.port = parse_host_port(address, default_port)
        self.ip = host or "0.0.0.0"
        self._is_any = not host  # of both families
        self.default_host = default_host
        self.comm_handler = comm_handler
        self.deserialize = deserialize
        self.allow_offload = allow_offload
        self._listener: Optional[zcrp_asyncio.Listener] = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        backlog = int(dask.config.get("distributed.comm.socket-backlog"))
        options = Options(backlog=backlog, connections=max(backlog, _CONNECTIONS), keys=_keys(), linger=_linger())
        host = None if self._is_any else ensure_ip(self.ip)
        while self._listener is None:
            try:
                self._listener = await zcrp_asyncio.listen(host, self.port, options)
            except AddressError as error:  # with EADDRINUSE Dask tries the next port
                is_leaving = time.monotonic() - _left.get(self.port, -_LEAVING_S) < _LEAVING_S
                if error.errno != errno.EADDRINUSE or not is_leaving:
                    raise
                await asyncio.sleep(_STEP_S)
        self.port = self._listener.port
        if options.keys is None:
            logger.warning("%s has no keys: whoever reaches it is served. %s names a file of zcrp-keys.",
                           self.listen_address, KEYS)
        self._run(self._accept(self._listener))

    def _run(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _accept(self, listener: zcrp_asyncio.Listener) -> None:
        while True:
            try:
                connection = await listener.accept()
            except ClosedError:
                return
            except (SystemCallError, MemoryError) as error:
                logger.warning("Listener on %r cannot accept: %s", self.listen_address, error)
                await asyncio.sleep(_RETRY_S)
                continue
            self._run(self._serve(connection))

    async def _serve(self, connection: zcrp_asyncio.Connection) -> None:
        if self._listener is None:  # it was stopped just now
            connection.abort()
            return
        peer = PREFIX + connection.peer
        comm = self.comm_class(connection, PREFIX + connection.local, peer, self.deserialize)
        comm.allow_offload = self.allow_offload
        comm._listener = self
        try:
            await self.on_connection(comm)
        except CommClosedError:
            logger.info("Connection from %s closed before handshake completed", peer)
            return
        await self.comm_handler(comm)

    @property
    def is_listening(self) -> bool:
        return self._listener is not None

    def stop(self) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            _note_left(self.port)
            listener.abort()

    def get_host_port(self) -> tuple[str, int]:
        """The address that it listens at."""
        return self.ip, self.port

    @property
    def listen_address(self) -> str:
        return PREFIX + str(unparse_host_port(*self.get_host_port()))

    @property
    def contact_address(self) -> str:
        host, port = self.get_host_port()
        return PREFIX + str(unparse_host_port(ensure_concrete_host(host, default_host=self.default_host), port))


class Backend(_Backend):  # type: ignore[misc]
    """What the entry point names."""

    _connector_class: ClassVar[type[ZcrpConnector]] = ZcrpConnector
    _listener_class: ClassVar[type[ZcrpListener]] = ZcrpListener

    def get_connector(self) -> ZcrpConnector:
        return self._connector_class()

    def get_listener(self, loc: str, handle_comm: Callable[[Any], Any], deserialize: bool,
                     **connection_args: Any) -> ZcrpListener:
        return self._listener_class(loc, handle_comm, deserialize, **connection_args)

    def get_address_host(self, loc: str) -> str:
        return str(parse_host_port(loc)[0])

    def get_address_host_port(self, loc: str) -> tuple[str, int]:
        host, port = parse_host_port(loc)
        return host, port

    def resolve_address(self, loc: str) -> str:
        host, port = parse_host_port(loc)
        return str(unparse_host_port(ensure_ip(host), port))

    def get_local_address_for(self, loc: str) -> str:
        host, _ = parse_host_port(loc)
        return str(unparse_host_port(_local_host_for(ensure_ip(host)), None))
