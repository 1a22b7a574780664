# SPDX-License-Identifier: Apache-2.0
"""The calls of a server, as procedures: the methods of voxloc.Client and voxloc.aio.Client."""

from __future__ import annotations

import functools
from typing import Any, Callable, List, Optional, Sequence, Union

import grpc
import numpy as np

from voxloc import _steps, messages
from voxloc._channel import Connections
from voxloc._procedure import Procedure
from voxloc._security import ChannelOptions
from voxloc.cells import Cells
from voxloc.errors import Error
from voxloc.pose import Pose
from voxloc.result import PoseScores, Result, SearchResult
from voxloc.scan import Scan, Setup, encode_pose_with_covariance, setup_message

# Seconds for calls that take the server no work.
DEFAULT_TIMEOUT_S = 10.0


class Caller:
    """Common base of the clients, `self` of the procedures below."""

    # Set by the clients: its name; grpc or grpc.aio; the class Stream; the function that reads the
    # next message of a call that has one request, None at its end.
    _name: str
    _transport: Any
    _stream: Any
    _read: Callable[[Any], Any]

    def __init__(self, server: str = "localhost:50051",
                 credentials: Optional[grpc.ChannelCredentials] = None,
                 options: Optional[ChannelOptions] = None):
        self._connections = Connections(self._transport, server, credentials, options)

    @property
    def server(self) -> str:
        """The address that calls go to at the moment."""
        addresses = self._connections.addresses
        return addresses.all[addresses.first]

    def __repr__(self) -> str:
        return f"<{self._name} {', '.join(self._connections.addresses.all)}>"


def server_info(self: Caller, timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> Procedure[Any]:
    """GetServerInfoResponse: version, engine, limits, profiles."""
    return _unary(self, "GetServerInfo", messages.GetServerInfoRequest(), timeout_s)


def list_sessions(self: Caller, map: str = "",
                  timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> Procedure[List[Any]]:
    """A SessionInfo of each open session, on one map or (empty) on all."""
    request = messages.ListSessionsRequest(map=map)
    return _pages(self, "ListSessions", request, timeout_s, "sessions")


def list_captures(self: Caller, map: str = "", timeout_s: Optional[float] = DEFAULT_TIMEOUT_S,
                  map_update: bool = False) -> Procedure[List[Any]]:
    """A CaptureInfo of each captured scan, newest first, on one map or (empty) on all.

    Those that went badly, or, with map_update, those that are kept for new tiles of the map.
    """
    request = messages.ListCapturesRequest(map=map)
    if map_update:
        request.purpose = messages.CAPTURE_PURPOSE_MAP_UPDATE
    return _pages(self, "ListCaptures", request, timeout_s, "captures")


def get_capture(self: Caller, id: str,
                timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> Procedure[Any]:
    """The Capture of an id: a scan that went badly, as one AlignScanRequest, and its answer."""
    return _unary(self, "GetCapture", messages.GetCaptureRequest(id=id), timeout_s, "capture")


def get_config(self: Caller,
               timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> Procedure[List[Any]]:
    """A ConfigEntry of each setting in effect: its key and value, and where it comes from."""
    request = messages.GetConfigRequest()
    return list((yield from _unary(self, "GetConfig", request, timeout_s, "entries")))


def set_log_level(self: Caller, level: str,
                  timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> Procedure[str]:
    """Sets how much the server logs until it ends: trace, debug, info, warn or error; the level
    before."""
    request = messages.SetLogLevelRequest(level=_steps.log_level(level))
    previous = yield from _unary(self, "SetLogLevel", request, timeout_s, "previous_level")
    return _steps.log_level_name(previous)


def drain(self: Caller, grace_s: float, reason: str = "",
          timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> Procedure[Any]:
    """Makes the server ready to be stopped: its streams are ended after `grace_s`;
    DrainResponse."""
    return _unary(self, "Drain", messages.DrainRequest(grace_s=grace_s, reason=reason), timeout_s)


def undrain(self: Caller, timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> Procedure[int]:
    """Takes a drain back; the sessions that are open."""
    return _unary(self, "Undrain", messages.UndrainRequest(), timeout_s, "open_sessions")


def list_maps(self: Caller, timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> Procedure[List[Any]]:
    """A MapInfo of each map, by name."""
    return _pages(self, "ListMaps", messages.ListMapsRequest(), timeout_s, "maps")


def get_map(self: Caller, map: str,
            timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> Procedure[Any]:
    """The MapInfo of a map."""
    return _unary(self, "GetMap", messages.GetMapRequest(map=map), timeout_s, "map")


def list_tiles(self: Caller, map: str, revision: int = 0,
               timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> Procedure[List[Any]]:
    """A TileInfo of each tile of a map, by id. `revision` 0: the active one."""
    request = messages.ListTilesRequest(map=map, revision=revision)
    return _pages(self, "ListTiles", request, timeout_s, "tiles")


def list_revisions(self: Caller, map: str,
                   timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> Procedure[List[Any]]:
    """A MapRevision of each revision that the server keeps, ascending."""
    request = messages.ListRevisionsRequest(map=map)
    return list((yield from _unary(self, "ListRevisions", request, timeout_s, "revisions")))


def activate_revision(self: Caller, map: str, revision: int,
                      timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> Procedure[Any]:
    """Puts a staged revision in use for all vehicles; MapInfo."""
    request = messages.ActivateRevisionRequest(map=map, revision=revision)
    return _unary(self, "ActivateRevision", request, timeout_s, "map")


def withdraw_revision(self: Caller, map: str, revision: int,
                      timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> Procedure[Any]:
    """Takes a staged revision back; MapRevision."""
    request = messages.WithdrawRevisionRequest(map=map, revision=revision)
    return _unary(self, "WithdrawRevision", request, timeout_s, "revision")


def set_canary(self: Caller, map: str, revision: int, vehicles: Sequence[str],
               timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> Procedure[Any]:
    """Names the vehicles that try a staged revision, in place of those before; MapRevision."""
    request = messages.SetCanaryRequest(map=map, revision=revision, vehicles=vehicles)
    return _unary(self, "SetCanary", request, timeout_s, "revision")


def drop_map(self: Caller, map: str, revision: int = 0,
             timeout_s: Optional[float] = DEFAULT_TIMEOUT_S, *,
             unless_in_use: bool = False) -> Procedure[int]:
    """Deletes a map; the last revision that it had. Not at `revision` (0: any): ABORTED.
    `unless_in_use`, and sessions of the server use it: FAILED_PRECONDITION."""
    request = messages.DeleteMapRequest(map=map, revision=revision, unless_in_use=unless_in_use)
    return _unary(self, "DeleteMap", request, timeout_s, "revision")


def undrop_map(self: Caller, map: str,
               timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> Procedure[Any]:
    """Takes the last deletion of a map of this name back, within a day; MapInfo."""
    return _unary(self, "UndeleteMap", messages.UndeleteMapRequest(map=map), timeout_s, "map")


def get_cells(self: Caller, map: str, *, region: Optional[Any] = None, profile: str = "",
              stage: int = 0, timeout_s: Optional[float] = None) -> Procedure[Cells]:
    """The Gaussians of a map, of a stage of a profile ("": the server's default), or of those
    whose means are in `region`, a Box."""
    request = messages.GetCellsRequest(map=map, region=region, profile=profile, stage=stage)
    return _receive(self, "GetCells", request, timeout_s, lambda _: _steps.cells())


def load_map(self: Caller, map: str, tiles: _steps.Tiles, *, clear: bool = True,
             create: bool = True, remove: Sequence[str] = (), base_revision: int = 0,
             options: Optional[Any] = None, comment: str = "", request_id: str = "",
             from_revision: int = 0, stage: bool = False, canary_vehicles: Sequence[str] = (),
             frame: Optional[Any] = None, timeout_s: Optional[float] = None) -> Procedure[Any]:
    """Makes `tiles` (points (N, 3) in the map frame, or a Tile, by tile id) the map, in one
    transaction. Points that the server has already are not sent.

    With `clear` false, tiles of other ids stay, but those of `remove`. `tiles` may be a
    generator of pairs. `options` is a MapOptions. With a `request_id` the call can be repeated:
    it does not commit twice. `from_revision` is one that the server keeps, to start from in
    place of the active one. `stage` leaves the new revision to `activate_revision`; until then
    `canary_vehicles`, which stage it too, try it. `frame` is a MapFrame, where the map lies on
    the earth; a map gets it once. Returns UpdateCommitted.
    """
    begin = messages.BeginUpdate(map=map, create=create, clear=clear, base_revision=base_revision,
                                 options=options, request_id=request_id,
                                 from_revision=from_revision, frame=frame)
    commit = messages.CommitUpdate(comment=comment, stage=stage or bool(canary_vehicles),
                                   canary_vehicles=canary_vehicles)
    index = yield from _reach(self, "UpdateMapTiles", timeout_s)
    steps = _steps.update_map(self._connections.addresses.all[index], begin, tiles, remove, commit)
    return (yield from _exchange(self, index, "UpdateMapTiles", map, timeout_s, steps))


def align(self: Caller, setup: Union[Setup, str], scan: Scan,
          timeout_s: Optional[float] = DEFAULT_TIMEOUT_S) -> Procedure[Result]:
    """Aligns one scan, which needs a guess, without a session."""
    request = messages.AlignScanRequest(setup=setup_message(setup), scan=scan.to_message())
    return Result((yield from _unary(self, "AlignScan", request, timeout_s, "result")))


def search(self: Caller, setup: Union[Setup, str], scan: Scan, *, prior: Optional[Pose] = None,
           prior_covariance: Optional[np.ndarray] = None, region: Optional[Any] = None,
           options: Optional[Any] = None, search_timeout_s: float = 0.0,
           on_progress: Optional[_steps.ProgressObserver] = None,
           timeout_s: Optional[float] = None) -> Procedure[SearchResult]:
    """Finds a vehicle around a prior pose, in a SearchRegion, or (neither) in the whole map.

    A region is a box of the map or, on a map whose frame is known, a circle on the earth.
    `on_progress`, a plain function, is called with every SearchProgress; what it raises cancels the
    search. After `search_timeout_s` (0: never) the best so far is the result; after `timeout_s`
    nothing is. `options` is a SearchOptions.
    """
    request = messages.EstimateInitialPoseRequest(
        setup=setup_message(setup), scan=scan.to_message(), search=options,
        timeout_s=search_timeout_s)
    if prior is not None and region is not None:
        raise ValueError("a search has a prior or a region, not both")
    if prior is not None:
        request.prior.CopyFrom(encode_pose_with_covariance(prior, prior_covariance))
    elif region is not None:
        request.region.CopyFrom(region)
    else:
        request.whole_map.SetInParent()
    return _receive(self, "EstimateInitialPose", request, timeout_s,
                    lambda server: _steps.search(server, on_progress))


def score(self: Caller, setup: Union[Setup, str], scan: Scan,
          poses: Union[Sequence[Pose], np.ndarray], *, stage: Optional[int] = None,
          timeout_s: Optional[float] = None) -> Procedure[PoseScores]:
    """Scores poses map_T_base, also as an array (N, 7) x y z qx qy qz qw, without aligning."""
    def score_at(index: int, server: str) -> Procedure[PoseScores]:
        steps = _steps.score(server, setup, scan, poses, stage)
        return _exchange(self, index, "ScorePoses", setup_message(setup).map, timeout_s, steps)

    return _try_each(self, score_at)


def _try_each(self: Caller, work: Callable[[int, str], Procedure[Any]]) -> Procedure[Any]:
    """What `work` does at the first server, or, where it is unavailable, at the next."""
    round_ = self._connections.round()
    while True:
        try:
            server = self._connections.addresses.all[round_.index]
            return (yield from work(round_.index, server))
        except Error as error:
            if error.code != grpc.StatusCode.UNAVAILABLE:
                raise
            if not round_.next(error):
                raise round_.refusal from None


def _reach(self: Caller, call: str, timeout_s: Optional[float]) -> Procedure[int]:
    """The server of a call that must be sent once: one that has just answered."""
    if self._connections.needs_reaching(call):
        yield from server_info(self, timeout_s)
    return self._connections.addresses.first


def _unary(self: Caller, call: str, request: Any, timeout_s: Optional[float],
           field: str = "") -> Procedure[Any]:
    """One call; its response, or a field of it."""
    def call_at(index: int, _: str = "") -> Procedure[Any]:
        try:
            return (yield functools.partial(self._connections.begin, index, call, request,
                                            timeout_s=timeout_s))
        except grpc.RpcError as rpc:
            raise self._connections.error(index, call, rpc) from None

    if self._connections.needs_reaching(call):
        response = yield from call_at((yield from _reach(self, call, timeout_s)))
    else:
        response = yield from _try_each(self, call_at)
    return getattr(response, field) if field else response


def _pages(self: Caller, call: str, request: Any, timeout_s: Optional[float],
           field: str) -> Procedure[List[Any]]:
    """All entries of a list that comes in pages."""
    entries: List[Any] = []
    while True:
        page = yield from _unary(self, call, request, timeout_s)
        entries.extend(getattr(page, field))
        request.page_token = page.next_page_token
        if not request.page_token:
            return entries


def _receive(self: Caller, name: str, request: Any, timeout_s: Optional[float],
             steps_at: Callable[[str], _steps.Steps]) -> Procedure[Any]:
    """A call with one request and many answers, which the steps at a server take."""
    def receive_at(index: int, server: str) -> Procedure[Any]:
        call = self._connections.begin(index, name, request, timeout_s=timeout_s)
        steps = steps_at(server)
        message: Any = None
        try:
            while True:
                steps.send(message)
                message = yield functools.partial(self._read, call)
        except StopIteration as done:
            return done.value
        except grpc.RpcError as rpc:
            raise self._connections.error(index, name, rpc) from None
        finally:
            call.cancel()

    return _try_each(self, receive_at)


def _exchange(self: Caller, index: int, call: str, map: str, timeout_s: Optional[float],
              steps: _steps.Steps) -> Procedure[Any]:
    """A call about a map whose messages go both ways."""
    stream = self._stream(self._connections, index, call, map, timeout_s)
    answer: Any = None
    try:
        while True:
            message = steps.send(answer)
            answer = yield (stream.read if message is None
                            else functools.partial(stream.write, message))
    except StopIteration as done:
        # All that was asked for has come: how the stream ends no longer matters.
        yield stream.done_writing
        try:
            while (yield stream.read) is not None:
                pass
        except Error:
            pass
        return done.value
    finally:
        stream.cancel()
