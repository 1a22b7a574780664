# SPDX-License-Identifier: Apache-2.0
"""The calls of a voxloc server, for threads. voxloc.aio has the same for asyncio."""

from __future__ import annotations

import queue
from typing import Any, Callable, Iterator, List, Optional, Sequence, Union

import grpc
import numpy as np

from voxloc import _steps, messages
from voxloc._channel import Connections
from voxloc._route import ReconnectOptions
from voxloc._security import ChannelOptions
from voxloc._session_state import open_message
from voxloc.cells import Cells, CellsAssembly
from voxloc.errors import Error
from voxloc.pose import Pose
from voxloc.result import PoseScores, Result, SearchResult
from voxloc.scan import Scan, Setup, setup_message
from voxloc.session import Session
from voxloc.tile import Tile, TileAssembly
from voxloc.watch import MapWatch

# Seconds for calls that take the server no work.
DEFAULT_TIMEOUT_S = 10.0


class Stream:
    """A stream of a call: messages are written from a queue by a thread of gRPC's."""

    _END = object()

    def __init__(self, connections: Connections, index: int, call: str,
                 timeout_s: Optional[float] = None, max_pending: int = 0):
        self._connections, self._index, self._call_name = connections, index, call
        self._pending: queue.Queue[Any] = queue.Queue(max_pending)
        self._call = connections.begin(index, call, iter(self._pending.get, self._END),
                                       timeout_s=timeout_s)
        self._cancelled = False

    def write(self, message: Any) -> None:
        """Hands a message over; waits while `max_pending` are not sent. Of a stream that has ended
        `read` tells."""
        while self._call.is_active():
            try:
                return self._pending.put(message, timeout=0.1)
            except queue.Full:
                pass

    def done_writing(self) -> None:
        """Half-closes."""
        self.write(self._END)

    def read(self) -> Optional[Any]:
        """The next message; None: the stream has ended with OK."""
        try:
            return next(self._call)
        except StopIteration:
            return None
        except grpc.RpcError as rpc:
            raise self._connections.error_of_stream(self._index, self._call_name, rpc,
                                                    self._cancelled) from None

    def finish(self) -> None:
        """Half-closes, and lets the server end the stream. All that was asked for has come: how
        the stream ends no longer matters."""
        self.done_writing()
        try:
            while self.read() is not None:
                pass
        except Error:
            pass

    def cancel(self) -> None:
        """Ends the stream, and the thread that writes."""
        self._cancelled = True
        self._call.cancel()
        while True:
            try:
                return self._pending.put_nowait(self._END)
            except queue.Full:
                self._pending.get_nowait()


class Client:
    """A connection to a server. Thread-safe; connects with the first call.

    `server` is HOST:PORT or unix:PATH, or several of them separated by commas: the first that can
    be reached is used, until it cannot be reached, breaks off or drains; then the next is tried at
    once. Calls that change something are sent once. `options` are those of TLS, tokens and traces;
    `credentials` (grpc.ChannelCredentials) may take the place of the files of TLS.
    Calls raise Error; `timeout_s` is the deadline of the whole call at each server that is tried,
    None: none.
    """

    def __init__(self, server: str = "localhost:50051",
                 credentials: Optional[grpc.ChannelCredentials] = None,
                 options: Optional[ChannelOptions] = None):
        self._connections = Connections(grpc, server, credentials, options)

    @property
    def server(self) -> str:
        """The address that calls go to at the moment."""
        addresses = self._connections.addresses
        return addresses.all[addresses.first]

    def __repr__(self) -> str:
        return f"<Client {', '.join(self._connections.addresses.all)}>"

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection and what goes on over it."""
        self._connections.closed = True
        for channel in self._connections.channels:
            channel.close()

    def server_info(self, timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> Any:
        """GetServerInfoResponse: version, engine, limits, profiles."""
        return self._unary(_steps.one("GetServerInfo", messages.GetServerInfoRequest()), timeout_s)

    def list_sessions(self, map: str = "",
                      timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> List[Any]:
        """A SessionInfo of each open session, on one map or (empty) on all."""
        request = messages.ListSessionsRequest(map=map)
        return self._unary(_steps.pages("ListSessions", request, "sessions"), timeout_s)

    def list_captures(self, map: str = "",
                      timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> List[Any]:
        """A CaptureInfo of each captured scan, newest first, on one map or (empty) on all."""
        request = messages.ListCapturesRequest(map=map)
        return self._unary(_steps.pages("ListCaptures", request, "captures"), timeout_s)

    def get_capture(self, id: str, timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> Any:
        """The Capture of an id: a scan that went badly, as one AlignScanRequest, and its answer."""
        course = _steps.one("GetCapture", messages.GetCaptureRequest(id=id), "capture")
        return self._unary(course, timeout_s)

    def get_config(self, timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> List[Any]:
        """A ConfigEntry of each setting in effect: its key and value, and where it comes from."""
        course = _steps.one("GetConfig", messages.GetConfigRequest(), "entries")
        return list(self._unary(course, timeout_s))

    def set_log_level(self, level: str, timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> str:
        """Sets how much the server logs until it ends: trace, debug, info, warn or error; the level
        before."""
        request = messages.SetLogLevelRequest(level=_steps.log_level(level))
        previous = self._unary(_steps.one("SetLogLevel", request, "previous_level"), timeout_s)
        return _steps.log_level_name(previous)

    def drain(self, grace_s: float, reason: str = "",
              timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> Any:
        """Makes the server ready to be stopped: its streams are ended after `grace_s`;
        DrainResponse."""
        request = messages.DrainRequest(grace_s=grace_s, reason=reason)
        return self._unary(_steps.one("Drain", request), timeout_s)

    def undrain(self, timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> int:
        """Takes a drain back; the sessions that are open."""
        course = _steps.one("Undrain", messages.UndrainRequest(), "open_sessions")
        return self._unary(course, timeout_s)

    def list_maps(self, timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> List[Any]:
        """A MapInfo of each map, by name."""
        return self._unary(_steps.pages("ListMaps", messages.ListMapsRequest(), "maps"), timeout_s)

    def get_map(self, map: str, timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> Any:
        """The MapInfo of a map."""
        return self._unary(_steps.one("GetMap", messages.GetMapRequest(map=map), "map"), timeout_s)

    def list_tiles(self, map: str, revision: int = 0,
                   timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> List[Any]:
        """A TileInfo of each tile of a map, by id. `revision` 0: the active one."""
        request = messages.ListTilesRequest(map=map, revision=revision)
        return self._unary(_steps.pages("ListTiles", request, "tiles"), timeout_s)

    def get_tiles(self, map: str, tile_ids: Sequence[str] = (), *, region: Optional[Any] = None,
                  revision: int = 0, timeout_s: Optional[float] = None) -> Iterator[Tile]:
        """The tiles with their points, one after another by id, their digests verified: those of
        `tile_ids`, or (empty) all, or those that touch `region`, a Box."""
        request = messages.GetTilesRequest(map=map, tile_ids=tile_ids, region=region,
                                           revision=revision)
        return self._get_tiles(request, timeout_s)

    def list_revisions(self, map: str,
                       timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> List[Any]:
        """A MapRevision of each revision that the server keeps, ascending."""
        request = messages.ListRevisionsRequest(map=map)
        course = _steps.one("ListRevisions", request, "revisions")
        return list(self._unary(course, timeout_s))

    def activate_revision(self, map: str, revision: int,
                          timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> Any:
        """Puts a staged revision in use for all vehicles; MapInfo."""
        request = messages.ActivateRevisionRequest(map=map, revision=revision)
        return self._unary(_steps.one("ActivateRevision", request, "map"), timeout_s)

    def withdraw_revision(self, map: str, revision: int,
                          timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> Any:
        """Takes a staged revision back; MapRevision."""
        request = messages.WithdrawRevisionRequest(map=map, revision=revision)
        return self._unary(_steps.one("WithdrawRevision", request, "revision"), timeout_s)

    def set_canary(self, map: str, revision: int, vehicles: Sequence[str],
                   timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> Any:
        """Names the vehicles that try a staged revision, in place of those before; MapRevision."""
        request = messages.SetCanaryRequest(map=map, revision=revision, vehicles=vehicles)
        return self._unary(_steps.one("SetCanary", request, "revision"), timeout_s)

    def watch(self, map: str = "", reconnect: ReconnectOptions = ReconnectOptions()) -> MapWatch:
        """A WatchMapResponse for each change of a map, or (empty) of all; a context manager."""
        return MapWatch(self._connections, messages.WatchMapRequest(map=map), reconnect)

    def drop_map(self, map: str, revision: int = 0,
                 timeout_s: Optional[float] = DEFAULT_TIMEOUT_S, *,
                 unless_in_use: bool = False) -> int:
        """Deletes a map; the last revision that it had. Not at `revision` (0: any): ABORTED.
        `unless_in_use`, and sessions of the server use it: FAILED_PRECONDITION."""
        request = messages.DeleteMapRequest(map=map, revision=revision, unless_in_use=unless_in_use)
        return self._unary(_steps.one("DeleteMap", request, "revision"), timeout_s)

    def undrop_map(self, map: str, timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> Any:
        """Takes the last deletion of a map of this name back, within a day; MapInfo."""
        request = messages.UndeleteMapRequest(map=map)
        return self._unary(_steps.one("UndeleteMap", request, "map"), timeout_s)

    def get_cells(self, map: str, *, region: Optional[Any] = None, profile: str = "",
                  stage: int = 0, timeout_s: Optional[float] = None) -> Cells:
        """The Gaussians of a map, of a stage of a profile ("": the server's default), or of those
        whose means are in `region`, a Box."""
        request = messages.GetCellsRequest(map=map, region=region, profile=profile, stage=stage)

        def get(index: int, _: str) -> Cells:
            assembly = CellsAssembly()
            call = self._connections.begin(index, "GetCells", request, timeout_s=timeout_s)
            try:
                for part in call:
                    assembly.add(part)
            except grpc.RpcError as rpc:
                raise self._connections.error(index, "GetCells", rpc) from None
            finally:
                call.cancel()
            return assembly.finish()

        return self._try_each(get)

    def load_map(self, map: str, tiles: _steps.Tiles, *, clear: bool = True, create: bool = True,
                 remove: Sequence[str] = (), base_revision: int = 0, options: Optional[Any] = None,
                 comment: str = "", request_id: str = "", from_revision: int = 0,
                 stage: bool = False, canary_vehicles: Sequence[str] = (),
                 frame: Optional[Any] = None, timeout_s: Optional[float] = None) -> Any:
        """Makes `tiles` (points (N, 3) in the map frame, or a Tile, by tile id) the map, in one
        transaction. Points that the server has already are not sent.

        With `clear` false, tiles of other ids stay, but those of `remove`. `tiles` may be a
        generator of pairs. `options` is a MapOptions. With a `request_id` the call can be repeated:
        it does not commit twice. `from_revision` is one that the server keeps, to start from in
        place of the active one. `stage` leaves the new revision to `activate_revision`; until then
        `canary_vehicles`, which stage it too, try it. `frame` is a MapFrame, where the map lies on
        the earth; a map gets it once. Returns UpdateCommitted.
        """
        begin, commit = _steps.load_messages(map, create, clear, base_revision, options, comment,
                                             request_id, from_revision, stage, canary_vehicles,
                                             frame)
        index = self._reach("UpdateMapTiles", timeout_s)
        stream = Stream(self._connections, index, "UpdateMapTiles", timeout_s, max_pending=4)
        course = _steps.update_map(self._connections.addresses.all[index], begin, tiles, remove,
                                   commit)
        return self._drive(stream, course)

    def align(self, setup: Union[Setup, str], scan: Scan,
              timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> Result:
        """Aligns one scan, which needs a guess, without a session."""
        request = messages.AlignScanRequest(setup=setup_message(setup), scan=scan.to_message())
        return Result(self._unary(_steps.one("AlignScan", request, "result"), timeout_s))

    def search(self, setup: Union[Setup, str], scan: Scan, *, prior: Optional[Pose] = None,
               prior_covariance: Optional[np.ndarray] = None, region: Optional[Any] = None,
               options: Optional[Any] = None, search_timeout_s: float = 0.0,
               on_progress: Optional[_steps.ProgressObserver] = None,
               timeout_s: Optional[float] = None) -> SearchResult:
        """Finds a vehicle around a prior pose, in a SearchRegion, or (neither) in the whole map.

        A region is a box of the map or, on a map whose frame is known, a circle on the earth.
        `on_progress` is called with every SearchProgress; what it raises cancels the search. After
        `search_timeout_s` (0: never) the best so far is the result; after `timeout_s` nothing is.
        `options` is a SearchOptions.
        """
        request = _steps.search_request(setup, scan, prior, prior_covariance, region, options,
                                        search_timeout_s)

        def search_at(index: int, server: str) -> SearchResult:
            call = self._connections.begin(index, "EstimateInitialPose", request,
                                           timeout_s=timeout_s)
            course = _steps.search(server, on_progress)
            answer: Any = None
            try:
                while True:
                    course.send(answer)
                    answer = next(call, None)
            except StopIteration as done:
                return done.value
            except grpc.RpcError as rpc:
                raise self._connections.error(index, "EstimateInitialPose", rpc) from None
            finally:
                call.cancel()

        return self._try_each(search_at)

    def score(self, setup: Union[Setup, str], scan: Scan,
              poses: Union[Sequence[Pose], np.ndarray], *, stage: Optional[int] = None,
              timeout_s: Optional[float] = None) -> PoseScores:
        """Scores poses map_T_base, also as an array (N, 7) x y z qx qy qz qw, without aligning."""
        def score_at(index: int, server: str) -> PoseScores:
            stream = Stream(self._connections, index, "ScorePoses", timeout_s)
            return self._drive(stream, _steps.score(server, setup, scan, poses, stage))

        return self._try_each(score_at)

    def session(self, setup: Union[Setup, str], *, clock: int = 0, limits: Optional[Any] = None,
                start_inactive: bool = False, recovery: Optional[Any] = None,
                accumulation: Optional[Any] = None,
                open_timeout_s: Optional[float] = DEFAULT_TIMEOUT_S,
                reconnect: ReconnectOptions = ReconnectOptions(),
                max_outstanding: int = 256) -> Session:
        """Opens a session, and waits until it is open; a context manager.

        `clock` is a StampClock, `limits` a SessionLimits, `recovery` a RecoveryOptions,
        `accumulation` a ScanAccumulation. `send` refuses a scan while `max_outstanding` are
        unanswered or not received.
        """
        opening = open_message(setup_message(setup), clock, limits, start_inactive, recovery,
                               accumulation)
        return Session(lambda index: Stream(self._connections, index, "AlignScans"),
                       self._connections.addresses, opening, open_timeout_s, reconnect,
                       max_outstanding)

    def _get_tiles(self, request: Any, timeout_s: Optional[float]) -> Iterator[Tile]:
        round_ = self._connections.round()
        while True:
            server = self._connections.addresses.all[round_.index]
            call = self._connections.begin(round_.index, "GetTiles", request, timeout_s=timeout_s)
            assembly = TileAssembly(server, not request.omit_points)
            began = False
            try:
                for part in call:
                    began = True
                    tile = assembly.add(part)
                    if tile is not None:
                        yield tile
                return assembly.finish()
            except grpc.RpcError as rpc:
                error = self._connections.error(round_.index, "GetTiles", rpc)
            finally:
                call.cancel()
            # What has come would come again.
            if began or error.code != grpc.StatusCode.UNAVAILABLE:
                raise error
            if not round_.next(error):
                raise round_.refusal

    def _try_each(self, work: Callable[[int, str], Any]) -> Any:
        """What `work` does at the first server, or, where it is unavailable, at the next."""
        round_ = self._connections.round()
        while True:
            try:
                return work(round_.index, self._connections.addresses.all[round_.index])
            except Error as error:
                if error.code != grpc.StatusCode.UNAVAILABLE:
                    raise
                if not round_.next(error):
                    raise round_.refusal from None

    def _reach(self, call: str, timeout_s: Optional[float]) -> int:
        """The server of a call that must be sent once: one that has just answered."""
        if self._connections.needs_reaching(call):
            self.server_info(timeout_s)
        return self._connections.addresses.first

    def _unary(self, course: _steps.Course, timeout_s: Optional[float]) -> Any:
        response: Any = None
        try:
            while True:
                call, request = course.send(response)
                response = self._call(call, request, timeout_s)
        except StopIteration as done:
            return done.value

    def _call(self, call: str, request: Any, timeout_s: Optional[float]) -> Any:
        def call_at(index: int, _: str = "") -> Any:
            try:
                return self._connections.begin(index, call, request, timeout_s=timeout_s)
            except grpc.RpcError as rpc:
                raise self._connections.error(index, call, rpc) from None

        if not self._connections.needs_reaching(call):
            return self._try_each(call_at)
        return call_at(self._reach(call, timeout_s))

    @staticmethod
    def _drive(stream: Stream, course: _steps.Course) -> Any:
        answer: Any = None
        try:
            while True:
                message = course.send(answer)
                answer = stream.read() if message is None else stream.write(message)
        except StopIteration as done:
            stream.finish()
            return done.value
        finally:
            stream.cancel()
