# SPDX-License-Identifier: Apache-2.0
"""The same as voxloc.Client and voxloc.Session for asyncio: calls are awaited.

    async with voxloc.aio.Client("localhost:50051") as client:
        async with client.session("town") as session:
            result = await session.align(voxloc.Scan(points, guess_map_T_base=guess))

Client and Session belong to one event loop. Only what the docstrings here say differs from the
classes for threads.
"""

from __future__ import annotations

import asyncio
from typing import Any, AsyncIterator, Callable, Generator, List, Optional, Sequence, Union

import grpc
import grpc.aio

from voxloc import _calls, _session, messages
from voxloc._calls import DEFAULT_TIMEOUT_S
from voxloc._channel import Connections
from voxloc._procedure import awaitable, run_async
from voxloc._route import ReconnectOptions, WatchReconnectPolicy
from voxloc.errors import Error, SessionClosed
from voxloc.result import Result
from voxloc.scan import Setup, setup_message
from voxloc.tile import Tile, TileAssembly
from voxloc.watch import watch_ended


class Stream:
    """A stream of a call. `write` waits until gRPC has taken the message."""

    def __init__(self, connections: Connections, index: int, call: str, map: str,
                 timeout_s: Optional[float] = None):
        self._connections, self._index, self._call_name = connections, index, call
        self._call = connections.begin(index, call, timeout_s=timeout_s, map=map)
        self._cancelled = False

    async def write(self, message: Any) -> None:
        """If the stream has ended, the next `read` raises its error."""
        try:
            await self._call.write(message)
        except (grpc.RpcError, asyncio.InvalidStateError):
            pass

    async def done_writing(self) -> None:
        """Half-closes."""
        try:
            await self._call.done_writing()
        except (grpc.RpcError, asyncio.InvalidStateError):
            pass

    async def read(self) -> Optional[Any]:
        """The next message; None: the stream has ended with OK."""
        try:
            message = await self._call.read()
        except grpc.RpcError as rpc:
            raise self._connections.error_of_stream(self._index, self._call_name, rpc,
                                                    self._cancelled) from None
        except asyncio.CancelledError:
            if not self._cancelled:
                raise
            server = self._connections.addresses.all[self._index]
            raise Error(grpc.StatusCode.CANCELLED,
                        f"{server} {self._call_name}: cancelled by the client") from None
        return None if message is grpc.aio.EOF else message

    def cancel(self) -> None:
        """Ends the stream."""
        self._cancelled = True
        self._call.cancel()


async def _read(call: Any) -> Optional[Any]:
    """The next message of a call; None: it has ended with OK."""
    message = await call.read()
    return None if message is grpc.aio.EOF else message


class Client(_calls.Caller):
    """As voxloc.Client."""

    _name, _transport, _stream, _read = "aio.Client", grpc.aio, Stream, staticmethod(_read)

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connection and cancels its calls."""
        self._connections.closed = True
        for channel in self._connections.channels:
            await channel.close()

    server_info = awaitable(_calls.server_info)
    list_sessions = awaitable(_calls.list_sessions)
    list_captures = awaitable(_calls.list_captures)
    get_capture = awaitable(_calls.get_capture)
    get_config = awaitable(_calls.get_config)
    set_log_level = awaitable(_calls.set_log_level)
    drain = awaitable(_calls.drain)
    undrain = awaitable(_calls.undrain)
    list_maps = awaitable(_calls.list_maps)
    get_map = awaitable(_calls.get_map)
    list_tiles = awaitable(_calls.list_tiles)
    list_revisions = awaitable(_calls.list_revisions)
    activate_revision = awaitable(_calls.activate_revision)
    withdraw_revision = awaitable(_calls.withdraw_revision)
    set_canary = awaitable(_calls.set_canary)
    drop_map = awaitable(_calls.drop_map)
    undrop_map = awaitable(_calls.undrop_map)
    get_cells = awaitable(_calls.get_cells)
    load_map = awaitable(_calls.load_map)
    align = awaitable(_calls.align)
    search = awaitable(_calls.search)
    score = awaitable(_calls.score)

    def get_tiles(self, map: str, tile_ids: Sequence[str] = (), *, region: Optional[Any] = None,
                  revision: int = 0, timeout_s: Optional[float] = None) -> AsyncIterator[Tile]:
        """The tiles with their points, one after another by id, their digests verified: those of
        `tile_ids`, or (empty) all, or those that touch `region`, a Box."""
        request = messages.GetTilesRequest(map=map, tile_ids=tile_ids, region=region,
                                           revision=revision)
        return self._get_tiles(request, timeout_s)

    def watch(self, map: str = "",
              reconnect: ReconnectOptions = ReconnectOptions()) -> AsyncIterator[Any]:
        """A WatchMapResponse for each change of a map, or (empty) of all. Ends with `aclose`, or
        with the task that iterates."""
        return self._watch(messages.WatchMapRequest(map=map), reconnect)

    def session(self, setup: Union[Setup, str], *, clock: int = 0, limits: Optional[Any] = None,
                start_inactive: bool = False, recovery: Optional[Any] = None,
                accumulation: Optional[Any] = None, fusion: Optional[Any] = None,
                open_timeout_s: Optional[float] = DEFAULT_TIMEOUT_S,
                reconnect: ReconnectOptions = ReconnectOptions(),
                max_outstanding: int = 256) -> Session:
        """A session; awaiting it or entering it with `async with` opens it."""
        opening = messages.OpenSession(
            setup=setup_message(setup), clock=clock, limits=limits, start_inactive=start_inactive,
            recovery=recovery, accumulation=accumulation, fusion=fusion)
        return Session(
            lambda index: Stream(self._connections, index, "AlignScans", opening.setup.map),
            self._connections.addresses, opening, open_timeout_s, reconnect, max_outstanding)

    async def _get_tiles(self, request: Any, timeout_s: Optional[float]) -> AsyncIterator[Tile]:
        round_ = self._connections.round()
        while True:
            server = self._connections.addresses.all[round_.index]
            call = self._connections.begin(round_.index, "GetTiles", request, timeout_s=timeout_s)
            assembly = TileAssembly(server, not request.omit_points)
            began = False
            try:
                async for part in call:
                    began = True
                    tile = assembly.add(part)
                    if tile is not None:
                        yield tile
                assembly.finish()
                return
            except grpc.RpcError as rpc:
                error = self._connections.error(round_.index, "GetTiles", rpc)
            finally:
                call.cancel()
            # What has come would come again.
            if began or error.code != grpc.StatusCode.UNAVAILABLE:
                raise error
            if not round_.next(error):
                raise round_.refusal

    async def _watch(self, request: Any, reconnect: ReconnectOptions) -> AsyncIterator[Any]:
        route = WatchReconnectPolicy(self._connections.addresses, reconnect)
        while True:
            call = self._connections.begin(route.index, "WatchMap", request)
            try:
                async for event in call:
                    route.event()
                    yield event
                end = watch_ended(route.server)
            except grpc.RpcError as rpc:
                end = self._connections.error_of_stream(route.index, "WatchMap", rpc)
            finally:
                call.cancel()
            await asyncio.sleep(route.after(end))


class _Condition:
    """As threading.Condition, for the tasks of one loop: between two awaits nothing else happens, so
    that there is nothing to lock."""

    def __init__(self) -> None:
        self._waiters: List[asyncio.Future[None]] = []

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: Any) -> None:
        pass

    def notify_all(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()

    async def wait_for(self, predicate: Callable[[], bool],
                       timeout_s: Optional[float] = None) -> bool:
        loop = asyncio.get_running_loop()
        end = None if timeout_s is None else loop.time() + timeout_s
        while not predicate():
            waiter = loop.create_future()
            self._waiters.append(waiter)
            left = None if end is None else end - loop.time()
            await asyncio.wait([waiter], timeout=left)
            if not waiter.done():
                self._waiters.remove(waiter)
                return predicate()
        return True


class Session(_session.SessionBase):
    """As voxloc.Session. What does not wait there (`send`, `send_pose`) is not awaited here."""

    def __init__(self, *arguments: Any):
        super().__init__(_Condition(), *arguments)
        self._pending: asyncio.Queue[Any]  # what the open stream is to write; None: half-close
        self._task: Optional[asyncio.Task[None]] = None

    def __await__(self) -> Generator[Any, None, Session]:
        return self._open().__await__()

    async def __aenter__(self) -> Session:
        return await self._open()

    async def __aexit__(self, kind: Any, *_: Any) -> None:
        if kind is None:
            await self.close()
        else:
            await self.cancel()

    async def __aiter__(self) -> AsyncIterator[Result]:
        """Results as they come, until the session is closed."""
        while True:
            try:
                yield await self.receive()
            except SessionClosed:
                return

    receive = awaitable(_session.receive)
    receive_of = awaitable(_session.receive_of)
    align = awaitable(_session.align)
    close = awaitable(_session.close)

    async def cancel(self) -> None:
        """Ends the session at once."""
        self._state.closing = True
        self._changed.notify_all()
        if self._stream is not None:
            self._stream.cancel()
        if self._task is not None:
            await self._task

    async def _open(self) -> Session:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(run_async(self._serve()))
        await self._changed.wait_for(lambda: self._state.writable or self._state.ended)
        if self._state.end is not None:
            raise self._state.end
        return self

    def _write(self, request: Optional[Any]) -> None:
        self._pending.put_nowait(request)

    async def _run_stream(self) -> Optional[Error]:
        if self._state.closing:
            return Error(grpc.StatusCode.CANCELLED, "the session was closed while it reconnected")
        stream = self._stream = self._make_stream(self._state.route.index)
        self._pending = asyncio.Queue()
        writer: Optional[asyncio.Task[None]] = None
        try:
            await stream.write(self._state.open_request)
            response = await asyncio.wait_for(stream.read(), self._open_timeout_s)
            for request in self._state.stream_opened(response):
                self._pending.put_nowait(request)
            if self._state.closing:
                self._pending.put_nowait(None)
            writer = asyncio.get_running_loop().create_task(self._write_pending(stream))
            self._changed.notify_all()
            while True:
                response = await stream.read()
                if response is None:
                    return None
                if self._state.take(response):
                    self._pending.put_nowait(None)
                self._changed.notify_all()
        except asyncio.TimeoutError:
            return Error(grpc.StatusCode.DEADLINE_EXCEEDED,
                         f"{self._state.route.server} AlignScans: "
                         f"no answer to `open` in {self._open_timeout_s} s")
        except Error as error:
            return error
        finally:
            stream.cancel()
            if writer is not None:
                writer.cancel()

    async def _write_pending(self, stream: Stream) -> None:
        while True:
            request = await self._pending.get()
            if request is None:
                return await stream.done_writing()
            await stream.write(request)
