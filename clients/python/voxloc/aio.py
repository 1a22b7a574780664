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
from typing import Any, AsyncIterator, Awaitable, Callable, Generator, List, Optional, Sequence, Union

import grpc
import grpc.aio
import numpy as np

from voxloc import _steps, messages
from voxloc._channel import Connections
from voxloc._route import Addresses, ReconnectOptions, WatchRoute
from voxloc._security import ChannelOptions
from voxloc._session_state import (SessionFacts, SessionState, activate_request, no_result,
                                   open_message, pose_request, reference_request)
from voxloc.cells import Cells, CellsAssembly
from voxloc.client import DEFAULT_TIMEOUT_S
from voxloc.errors import Error, NoResult, SessionClosed
from voxloc.pose import Numbers, Pose
from voxloc.result import PoseScores, Result, SearchResult
from voxloc.scan import Scan, Setup, setup_message
from voxloc.tile import Tile, TileAssembly
from voxloc.watch import watch_ended


class Stream:
    """A stream of a call. `write` waits until gRPC has taken the message."""

    def __init__(self, connections: Connections, index: int, call: str,
                 timeout_s: Optional[float] = None):
        self._connections, self._index, self._call_name = connections, index, call
        self._call = connections.begin(index, call, timeout_s=timeout_s)
        self._cancelled = False

    async def write(self, message: Any) -> None:
        """Of a stream that has ended `read` tells."""
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

    async def finish(self) -> None:
        """Half-closes, and lets the server end the stream. All that was asked for has come: how
        the stream ends no longer matters."""
        await self.done_writing()
        try:
            while await self.read() is not None:
                pass
        except Error:
            pass

    def cancel(self) -> None:
        """Ends the stream."""
        self._cancelled = True
        self._call.cancel()


class Client:
    """As voxloc.Client."""

    def __init__(self, server: str = "localhost:50051",
                 credentials: Optional[grpc.ChannelCredentials] = None,
                 options: Optional[ChannelOptions] = None):
        self._connections = Connections(grpc.aio, server, credentials, options)

    @property
    def server(self) -> str:
        """The address that calls go to at the moment."""
        addresses = self._connections.addresses
        return addresses.all[addresses.first]

    def __repr__(self) -> str:
        return f"<aio.Client {', '.join(self._connections.addresses.all)}>"

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the connection and what goes on over it."""
        self._connections.closed = True
        for channel in self._connections.channels:
            await channel.close()

    async def server_info(self, timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> Any:
        """GetServerInfoResponse: version, engine, limits, profiles."""
        course = _steps.one("GetServerInfo", messages.GetServerInfoRequest())
        return await self._unary(course, timeout_s)

    async def list_sessions(self, map: str = "",
                            timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> List[Any]:
        """A SessionInfo of each open session."""
        request = messages.ListSessionsRequest(map=map)
        return await self._unary(_steps.pages("ListSessions", request, "sessions"), timeout_s)

    async def list_captures(self, map: str = "",
                            timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> List[Any]:
        """A CaptureInfo of each captured scan, newest first, on one map or (empty) on all."""
        request = messages.ListCapturesRequest(map=map)
        return await self._unary(_steps.pages("ListCaptures", request, "captures"), timeout_s)

    async def get_capture(self, id: str, timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> Any:
        """The Capture of an id: a scan that went badly, as one AlignScanRequest, and its answer."""
        course = _steps.one("GetCapture", messages.GetCaptureRequest(id=id), "capture")
        return await self._unary(course, timeout_s)

    async def get_config(self, timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> List[Any]:
        """A ConfigEntry of each setting in effect: its key and value, and where it comes from."""
        course = _steps.one("GetConfig", messages.GetConfigRequest(), "entries")
        return list(await self._unary(course, timeout_s))

    async def set_log_level(self, level: str,
                            timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> str:
        """Sets how much the server logs until it ends: trace, debug, info, warn or error; the level
        before."""
        request = messages.SetLogLevelRequest(level=_steps.log_level(level))
        course = _steps.one("SetLogLevel", request, "previous_level")
        previous = await self._unary(course, timeout_s)
        return _steps.log_level_name(previous)

    async def drain(self, grace_s: float, reason: str = "",
                    timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> Any:
        """Makes the server ready to be stopped: its streams are ended after `grace_s`;
        DrainResponse."""
        request = messages.DrainRequest(grace_s=grace_s, reason=reason)
        return await self._unary(_steps.one("Drain", request), timeout_s)

    async def undrain(self, timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> int:
        """Takes a drain back; the sessions that are open."""
        course = _steps.one("Undrain", messages.UndrainRequest(), "open_sessions")
        return await self._unary(course, timeout_s)

    async def list_maps(self, timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> List[Any]:
        """A MapInfo of each map, by name."""
        course = _steps.pages("ListMaps", messages.ListMapsRequest(), "maps")
        return await self._unary(course, timeout_s)

    async def get_map(self, map: str, timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> Any:
        """The MapInfo of a map."""
        course = _steps.one("GetMap", messages.GetMapRequest(map=map), "map")
        return await self._unary(course, timeout_s)

    async def list_tiles(self, map: str, revision: int = 0,
                         timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> List[Any]:
        """A TileInfo of each tile of a map, by id. `revision` 0: the active one."""
        request = messages.ListTilesRequest(map=map, revision=revision)
        return await self._unary(_steps.pages("ListTiles", request, "tiles"), timeout_s)

    def get_tiles(self, map: str, tile_ids: Sequence[str] = (), *, region: Optional[Any] = None,
                  revision: int = 0, timeout_s: Optional[float] = None) -> AsyncIterator[Tile]:
        """The tiles with their points, one after another by id, their digests verified: those of
        `tile_ids`, or (empty) all, or those that touch `region`, a Box."""
        request = messages.GetTilesRequest(map=map, tile_ids=tile_ids, region=region,
                                           revision=revision)
        return self._get_tiles(request, timeout_s)

    async def list_revisions(self, map: str,
                             timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> List[Any]:
        """A MapRevision of each revision that the server keeps, ascending."""
        request = messages.ListRevisionsRequest(map=map)
        course = _steps.one("ListRevisions", request, "revisions")
        return list(await self._unary(course, timeout_s))

    async def activate_revision(self, map: str, revision: int,
                                timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> Any:
        """Puts a staged revision in use for all vehicles; MapInfo."""
        request = messages.ActivateRevisionRequest(map=map, revision=revision)
        return await self._unary(_steps.one("ActivateRevision", request, "map"), timeout_s)

    async def withdraw_revision(self, map: str, revision: int,
                                timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> Any:
        """Takes a staged revision back; MapRevision."""
        request = messages.WithdrawRevisionRequest(map=map, revision=revision)
        return await self._unary(_steps.one("WithdrawRevision", request, "revision"), timeout_s)

    async def set_canary(self, map: str, revision: int, vehicles: Sequence[str],
                         timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> Any:
        """Names the vehicles that try a staged revision, in place of those before; MapRevision."""
        request = messages.SetCanaryRequest(map=map, revision=revision, vehicles=vehicles)
        return await self._unary(_steps.one("SetCanary", request, "revision"), timeout_s)

    def watch(self, map: str = "",
              reconnect: ReconnectOptions = ReconnectOptions()) -> AsyncIterator[Any]:
        """A WatchMapResponse for each change of a map, or (empty) of all. Ends with `aclose`, or
        with the task that iterates."""
        return self._watch(messages.WatchMapRequest(map=map), reconnect)

    async def drop_map(self, map: str, revision: int = 0,
                       timeout_s: Optional[float] = DEFAULT_TIMEOUT_S, *,
                       unless_in_use: bool = False) -> int:
        """Deletes a map; the last revision that it had."""
        request = messages.DeleteMapRequest(map=map, revision=revision, unless_in_use=unless_in_use)
        return await self._unary(_steps.one("DeleteMap", request, "revision"), timeout_s)

    async def undrop_map(self, map: str, timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> Any:
        """Takes the last deletion of a map of this name back, within a day; MapInfo."""
        request = messages.UndeleteMapRequest(map=map)
        return await self._unary(_steps.one("UndeleteMap", request, "map"), timeout_s)

    async def get_cells(self, map: str, *, region: Optional[Any] = None, profile: str = "",
                        stage: int = 0, timeout_s: Optional[float] = None) -> Cells:
        """The Gaussians of a map, of a stage of a profile ("": the server's default), or of those
        whose means are in `region`, a Box."""
        request = messages.GetCellsRequest(map=map, region=region, profile=profile, stage=stage)

        async def get(index: int, _: str) -> Cells:
            assembly = CellsAssembly()
            call = self._connections.begin(index, "GetCells", request, timeout_s=timeout_s)
            try:
                async for part in call:
                    assembly.add(part)
            except grpc.RpcError as rpc:
                raise self._connections.error(index, "GetCells", rpc) from None
            finally:
                call.cancel()
            return assembly.finish()

        return await self._try_each(get)

    async def load_map(self, map: str, tiles: _steps.Tiles, *, clear: bool = True, create: bool = True,
                       remove: Sequence[str] = (), base_revision: int = 0, options: Optional[Any] = None,
                       comment: str = "", request_id: str = "", from_revision: int = 0,
                       stage: bool = False, canary_vehicles: Sequence[str] = (),
                       frame: Optional[Any] = None, timeout_s: Optional[float] = None) -> Any:
        """Makes `tiles` the map, in one transaction; UpdateCommitted."""
        begin, commit = _steps.load_messages(map, create, clear, base_revision, options, comment,
                                             request_id, from_revision, stage, canary_vehicles,
                                             frame)
        index = await self._reach("UpdateMapTiles", timeout_s)
        stream = Stream(self._connections, index, "UpdateMapTiles", timeout_s)
        course = _steps.update_map(self._connections.addresses.all[index], begin, tiles, remove,
                                   commit)
        return await self._drive(stream, course)

    async def align(self, setup: Union[Setup, str], scan: Scan,
                    timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> Result:
        """Aligns one scan, which needs a guess, without a session."""
        request = messages.AlignScanRequest(setup=setup_message(setup), scan=scan.to_message())
        return Result(await self._unary(_steps.one("AlignScan", request, "result"), timeout_s))

    async def search(self, setup: Union[Setup, str], scan: Scan, *, prior: Optional[Pose] = None,
                     prior_covariance: Optional[np.ndarray] = None, region: Optional[Any] = None,
                     options: Optional[Any] = None, search_timeout_s: float = 0.0,
                     on_progress: Optional[_steps.ProgressObserver] = None,
                     timeout_s: Optional[float] = None) -> SearchResult:
        """Finds a vehicle around a prior pose, in a SearchRegion, or in the whole map.
        `on_progress` is a plain function."""
        request = _steps.search_request(setup, scan, prior, prior_covariance, region, options,
                                        search_timeout_s)

        async def search_at(index: int, server: str) -> SearchResult:
            call = self._connections.begin(index, "EstimateInitialPose", request,
                                           timeout_s=timeout_s)
            course = _steps.search(server, on_progress)
            answer: Any = None
            try:
                while True:
                    course.send(answer)
                    message = await call.read()
                    answer = None if message is grpc.aio.EOF else message
            except StopIteration as done:
                return done.value
            except grpc.RpcError as rpc:
                raise self._connections.error(index, "EstimateInitialPose", rpc) from None
            finally:
                call.cancel()

        return await self._try_each(search_at)

    async def score(self, setup: Union[Setup, str], scan: Scan,
                    poses: Union[Sequence[Pose], np.ndarray], *, stage: Optional[int] = None,
                    timeout_s: Optional[float] = None) -> PoseScores:
        """Scores poses map_T_base without aligning."""
        async def score_at(index: int, server: str) -> PoseScores:
            stream = Stream(self._connections, index, "ScorePoses", timeout_s)
            return await self._drive(stream, _steps.score(server, setup, scan, poses, stage))

        return await self._try_each(score_at)

    def session(self, setup: Union[Setup, str], *, clock: int = 0, limits: Optional[Any] = None,
                start_inactive: bool = False, recovery: Optional[Any] = None,
                accumulation: Optional[Any] = None,
                open_timeout_s: Optional[float] = DEFAULT_TIMEOUT_S,
                reconnect: ReconnectOptions = ReconnectOptions(),
                max_outstanding: int = 256) -> Session:
        """A session; awaiting it or entering it with `async with` opens it."""
        opening = open_message(setup_message(setup), clock, limits, start_inactive, recovery,
                               accumulation)
        return Session(lambda index: Stream(self._connections, index, "AlignScans"),
                       self._connections.addresses, opening, open_timeout_s, reconnect,
                       max_outstanding)

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
        route = WatchRoute(self._connections.addresses, reconnect)
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

    async def _try_each(self, work: Callable[[int, str], Awaitable[Any]]) -> Any:
        """What `work` does at the first server, or, where it is unavailable, at the next."""
        round_ = self._connections.round()
        while True:
            try:
                return await work(round_.index, self._connections.addresses.all[round_.index])
            except Error as error:
                if error.code != grpc.StatusCode.UNAVAILABLE:
                    raise
                if not round_.next(error):
                    raise round_.refusal from None

    async def _reach(self, call: str, timeout_s: Optional[float]) -> int:
        """The server of a call that must be sent once: one that has just answered."""
        if self._connections.needs_reaching(call):
            await self.server_info(timeout_s)
        return self._connections.addresses.first

    async def _unary(self, course: _steps.Course, timeout_s: Optional[float]) -> Any:
        response: Any = None
        try:
            while True:
                call, request = course.send(response)
                response = await self._call(call, request, timeout_s)
        except StopIteration as done:
            return done.value

    async def _call(self, call: str, request: Any, timeout_s: Optional[float]) -> Any:
        async def call_at(index: int, _: str = "") -> Any:
            try:
                return await self._connections.begin(index, call, request, timeout_s=timeout_s)
            except grpc.RpcError as rpc:
                raise self._connections.error(index, call, rpc) from None

        if not self._connections.needs_reaching(call):
            return await self._try_each(call_at)
        return await call_at(await self._reach(call, timeout_s))

    @staticmethod
    async def _drive(stream: Stream, course: _steps.Course) -> Any:
        answer: Any = None
        try:
            while True:
                message = course.send(answer)
                answer = await (stream.read() if message is None else stream.write(message))
        except StopIteration as done:
            await stream.finish()
            return done.value
        finally:
            stream.cancel()


class Session(SessionFacts):
    """As voxloc.Session. What does not wait there (`send`, `send_pose`) is not awaited here."""

    def __init__(self, make_stream: Callable[[int], Stream], addresses: Addresses,
                 open_message: Any, open_timeout_s: Optional[float], reconnect: ReconnectOptions,
                 max_outstanding: int):
        self._make_stream = make_stream
        self._open_timeout_s = open_timeout_s
        self._state = SessionState(addresses, open_message, reconnect, max_outstanding)
        self._waiters: List[asyncio.Future[None]] = []
        self._stream: Optional[Stream] = None
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

    @property
    def unanswered(self) -> List[int]:
        """Sequences of the scans that have no result."""
        return list(self._state.unanswered)

    def send(self, scan: Scan) -> int:
        """Hands a scan over; its sequence number, counted from 1."""
        message = messages.AlignScansRequest(scan=scan.to_message())
        self._write(self._state.add_scan(message))
        self._notify()  # an older scan may have been given up
        return message.scan.sequence

    def send_pose(self, stamp_ns: int, map_T_base: Pose,
                  covariance: Optional[np.ndarray] = None) -> None:
        """A pose from odometry or a filter, for guesses. Dropped while the session reconnects."""
        self._write(self._state.add_message(pose_request(stamp_ns, map_T_base, covariance)))

    def send_reference(self, stamp_ns: int, position_map: Numbers) -> None:
        """A reference position such as GNSS, for the regularization. Dropped likewise."""
        self._write(self._state.add_message(reference_request(stamp_ns, position_map)))

    def activate(self, active: bool = True) -> None:
        """Activates or deactivates the session for the scans sent from now on."""
        self._write(self._state.add_message(activate_request(active)))

    def take_rejection(self) -> Optional[Any]:
        """The oldest RequestRejected of a message that the server has not taken; each once."""
        return self._state.rejections.popleft() if self._state.rejections else None

    async def receive(self, timeout_s: Optional[float] = None) -> Result:
        """The next result, in the order of completion."""
        return await self._receive(None, timeout_s)

    async def receive_of(self, sequence: int, timeout_s: Optional[float] = None) -> Result:
        """The result of one scan; others stay for later calls."""
        return await self._receive(sequence, timeout_s)

    async def align(self, scan: Scan, timeout_s: Optional[float] = None) -> Result:
        """Sends a scan and waits for its result."""
        return await self.receive_of(self.send(scan), timeout_s)

    async def close(self, timeout_s: Optional[float] = 10.0) -> None:
        """Ends the session once the server has answered every scan."""
        if not self._state.closing:
            self._state.closing = True
            if self._state.writable:
                self._pending.put_nowait(None)
            self._notify()
        if not await self._wait(lambda: self._state.ended, timeout_s):
            await self.cancel()
            raise NoResult(grpc.StatusCode.DEADLINE_EXCEEDED, f"{self._state.server} AlignScans: "
                           f"the session did not end in {timeout_s} s")
        if self._state.end is not None:
            raise self._state.end

    async def cancel(self) -> None:
        """Ends the session at once."""
        self._state.closing = True
        self._notify()
        if self._stream is not None:
            self._stream.cancel()
        if self._task is not None:
            await self._task

    async def _open(self) -> Session:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())
        await self._wait(lambda: self._state.writable or self._state.ended, None)
        if self._state.end is not None:
            raise self._state.end
        return self

    def _write(self, request: Any) -> None:
        if self._state.writable:
            self._pending.put_nowait(request)

    def _notify(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()

    async def _wait(self, predicate: Callable[[], bool], timeout_s: Optional[float]) -> bool:
        """Until the predicate holds; false: not in time."""
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

    async def _receive(self, sequence: Optional[int], timeout_s: Optional[float]) -> Result:
        found: List[Result] = []

        def arrived() -> bool:
            result = self._state.find(sequence)
            if result is not None:
                found.append(result)
            return result is not None or self._state.ended

        if not await self._wait(arrived, timeout_s):
            raise NoResult(grpc.StatusCode.DEADLINE_EXCEEDED,
                           no_result(self._state.server, sequence, timeout_s or 0.0))
        if found:
            return found[0]
        raise self._state.end_of_results()

    async def _run(self) -> None:
        while True:
            try:
                error = await self._serve_one_stream()
            except Exception as fault:  # such as a channel that was closed
                error = Error(grpc.StatusCode.CANCELLED, f"{self._state.server} AlignScans: "
                              f"{fault}")
            wait_s = self._state.stream_ended(error)
            if wait_s is not None and await self._wait(lambda: self._state.closing, wait_s):
                self._state.finish(error)
            self._notify()
            if self._state.ended:
                return

    async def _serve_one_stream(self) -> Optional[Error]:
        if self._state.closing:
            return Error(grpc.StatusCode.CANCELLED, "the session was closed while it reconnected")
        stream = self._stream = self._make_stream(self._state.index)
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
            self._notify()
            while True:
                response = await stream.read()
                if response is None:
                    return None
                if self._state.take(response):
                    self._pending.put_nowait(None)
                self._notify()
        except asyncio.TimeoutError:
            return Error(grpc.StatusCode.DEADLINE_EXCEEDED, f"{self._state.server} AlignScans: "
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
