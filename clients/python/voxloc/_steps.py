# SPDX-License-Identifier: Apache-2.0
"""The messages of each call with many of them, step by step.

Steps are a generator: it yields a message to be written, or None for the next message to be read,
which it is sent (None: the stream has ended). What it returns is the call's result.
"""

from __future__ import annotations

import collections
import math
from typing import Any, Callable, Deque, Dict, Generator, Iterable, List, Mapping, Optional, Sequence
from typing import Tuple, Union

import grpc
import numpy as np

from voxloc import messages
from voxloc.cells import Cells
from voxloc.crc32c import crc32c
from voxloc.errors import Error, broken_protocol
from voxloc.pose import Pose
from voxloc.result import PoseScores, SearchResult
from voxloc.scan import Scan, Setup, around_origin, encode_offsets, setup_message
from voxloc.tile import Tile, tile_digest

Steps = Generator[Any, Any, Any]
Points = Union[np.ndarray, Tile]
Tiles = Union[Mapping[str, Points], Iterable[Tuple[str, Points]]]
_Offer = Tuple[str, np.ndarray, np.ndarray, bytes]
ProgressObserver = Callable[[Any], Any]

# The most that the C++ client puts in a chunk; the server's own limit holds as well.
_MAX_CHUNK_BYTES = 1 << 20
_POINT_BYTES = 12

# As the C++ client has them: few enough that the server's answers never fill the connection while
# no one reads them, and what may have to be sent of tiles that are offered.
_MAX_UNACKNOWLEDGED = 128
_MAX_OFFERED_BYTES = 64 << 20

# Poses of one set: 56 kB.
_POSES_PER_SET = 1000


_LOG_LEVELS = ("trace", "debug", "info", "warn", "error")


def log_level(name: str) -> int:
    """The value of LogLevel of a name."""
    if name not in _LOG_LEVELS:
        raise ValueError(f"level must be one of {', '.join(_LOG_LEVELS)} (got {name!r})")
    return getattr(messages, f"LOG_LEVEL_{name.upper()}")


def log_level_name(value: int) -> str:
    """The name of a value of LogLevel."""
    for name in _LOG_LEVELS:
        if log_level(name) == value:
            return name
    return str(value)


class _Reader:
    """Reads the messages of a stream and checks that they are of the expected kinds."""

    def __init__(self, server: str, call: str, oneof: str):
        self._server, self._call, self._oneof = server, call, oneof

    def expect(self, *kinds: str) -> Steps:
        while True:
            response = yield None
            if response is None:
                raise self.error("the stream ended early")
            kind = response.WhichOneof(self._oneof)
            if kind in kinds:
                return getattr(response, kind)
            if kind is not None:  # one that is newer than this package is passed over
                raise self.error(f"`{kind}` came where {kinds} was to come")

    def error(self, what: str) -> Error:
        return broken_protocol(self._server, self._call, what)


class _Update:
    """A transaction of UpdateMapTiles and its unacknowledged requests."""

    def __init__(self, server: str, points_per_chunk: int):
        self._reader = _Reader(server, "UpdateMapTiles", "response")
        self._points_per_chunk = points_per_chunk
        # Oldest first: (tile id, origin, offsets, digest) of a tile that is offered, else None.
        self._pending: Deque[Optional[_Offer]] = collections.deque()
        self._offered_bytes = 0

    def offer(self, tile_id: str, origin: np.ndarray, offsets: np.ndarray) -> Steps:
        """Adds a tile; its points are sent only if the server does not have them."""
        digest = tile_digest(origin, offsets)
        yield messages.UpdateMapTilesRequest(
            reuse=messages.ReuseTile(tile_id=tile_id, sha256=digest))
        self._pending.append((tile_id, origin, offsets, digest))
        self._offered_bytes += offsets.nbytes
        yield from self.flush(_MAX_UNACKNOWLEDGED, _MAX_OFFERED_BYTES)

    def remove(self, tile_id: str) -> Steps:
        """Removes a tile."""
        yield messages.UpdateMapTilesRequest(remove=messages.RemoveTile(tile_id=tile_id))
        self._pending.append(None)
        yield from self.flush(_MAX_UNACKNOWLEDGED, _MAX_OFFERED_BYTES)

    def flush(self, unacknowledged: int = 0, offered_bytes: int = 0) -> Steps:
        """Reads answers until at most this much is unacknowledged."""
        while len(self._pending) > unacknowledged or self._offered_bytes > offered_bytes:
            answer = yield from self._reader.expect("tile_added", "tile_removed", "tile_missing")
            offer = self._pending.popleft()
            if offer is not None:
                self._offered_bytes -= offer[2].nbytes
            if answer.DESCRIPTOR.name != "TileMissing":
                continue
            if offer is None:
                raise self._reader.error("`tile_missing` came where nothing was offered")
            yield from self._send(*offer)
            self._pending.append(None)

    def _send(self, tile_id: str, origin: np.ndarray, offsets: np.ndarray,
              digest: bytes) -> Steps:
        count = len(offsets)
        for index in range(max(1, math.ceil(count / self._points_per_chunk))):
            first = index * self._points_per_chunk
            end = min(count, first + self._points_per_chunk)
            chunk = messages.TileChunk(tile_id=tile_id, chunk_index=index, last=end == count)
            encode_offsets(origin, offsets[first:end], chunk.cloud)
            chunk.crc32c = crc32c(chunk.cloud.data)
            if chunk.last:
                chunk.total_points = count
                chunk.sha256 = digest
            yield messages.UpdateMapTilesRequest(chunk=chunk)


def update_map(server: str, begin: Any, tiles: Tiles, remove: Sequence[str],
               commit: Any) -> Steps:
    """A transaction of UpdateMapTiles; UpdateCommitted."""
    reader = _Reader(server, "UpdateMapTiles", "response")
    yield messages.UpdateMapTilesRequest(begin=begin)
    begun = yield from reader.expect("begun")
    if not begun.committed_revision:
        chunk_bytes = min(_MAX_CHUNK_BYTES, begun.max_chunk_bytes or _MAX_CHUNK_BYTES)
        update = _Update(server, max(1, chunk_bytes // _POINT_BYTES))
        for tile_id, points in tiles.items() if isinstance(tiles, Mapping) else tiles:
            placed = (points.origin, points.offsets) if isinstance(points, Tile) else (
                around_origin(points))
            yield from update.offer(tile_id, *placed)
        for tile_id in remove:
            yield from update.remove(tile_id)
        yield from update.flush()
    yield messages.UpdateMapTilesRequest(commit=commit)
    committed = yield from reader.expect("committed")
    return committed


def cells() -> Steps:
    """The parts of GetCells; Cells."""
    names = ("index", "points", "mean", "covariance")
    values: Dict[str, List[np.ndarray]] = {name: [np.empty(0)] for name in names}
    revision, cell_size_m = 0, 0.0
    while True:
        part = yield None
        if part is None:
            break
        revision, cell_size_m = part.map_revision, part.cell_size_m
        for name in names:
            values[name].append(np.array(getattr(part, name), dtype=np.float64))
    index, points, mean, covariance = (np.concatenate(values[name]) for name in names)
    upper = covariance.reshape(-1, 6)  # xx, xy, xz, yy, yz, zz
    return Cells(revision, cell_size_m, index.astype(np.int32).reshape(-1, 3),
                 points.astype(np.uint32), mean.reshape(-1, 3),
                 upper[:, [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(-1, 3, 3))


def search(server: str, on_progress: Optional[ProgressObserver]) -> Steps:
    """The answers of EstimateInitialPose; SearchResult."""
    reader = _Reader(server, "EstimateInitialPose", "response")
    while True:
        answer = yield from reader.expect("progress", "result")
        if answer.DESCRIPTOR.name == "SearchResult":
            return SearchResult(answer)
        if on_progress is not None:
            on_progress(answer)


def score(server: str, setup: Union[Setup, str], scan: Scan,
          poses: Union[Sequence[Pose], np.ndarray], stage: Optional[int]) -> Steps:
    """ScorePoses of one scan; PoseScores."""
    reader = _Reader(server, "ScorePoses", "response")
    values = _pose_values(poses)
    start = messages.ScoreSetup(setup=setup_message(setup), scan=scan.to_message())
    if stage is not None:
        start.stage.value = stage
    yield messages.ScorePosesRequest(setup=start)
    ready = yield from reader.expect("ready")
    fields = ("score", "transform_probability", "nvtl", "matched_points", "matched_ratio")
    columns: Dict[str, List[float]] = {name: [] for name in fields}
    for first in range(0, len(values), _POSES_PER_SET):
        poses_set = messages.PoseSet(sequence=first + 1)
        poses_set.map_t_base.extend(values[first:first + _POSES_PER_SET].ravel().tolist())
        yield messages.ScorePosesRequest(poses=poses_set)
        last = False
        while not last:
            part = yield from reader.expect("scores")
            if part.detail:
                raise Error(grpc.StatusCode.INVALID_ARGUMENT,
                            f"{server} ScorePoses: {part.detail}")
            for name in fields:
                columns[name].extend(getattr(part, name))
            last = part.last
    arrays = {name: np.array(columns[name], dtype=np.uint32 if name == "matched_points"
                             else np.float64) for name in fields}
    return PoseScores(map_revision=ready.map_revision, engine=ready.engine, **arrays)


def _pose_values(poses: Union[Sequence[Pose], np.ndarray]) -> np.ndarray:
    if isinstance(poses, np.ndarray):
        values = np.asarray(poses, dtype=np.float64)
    else:
        values = np.array([[*pose.position, *pose.orientation] for pose in poses],
                          dtype=np.float64).reshape(-1, 7)
    if values.ndim != 2 or values.shape[1] != 7:
        raise ValueError(f"poses must be Poses, or an array (N, 7) (got {values.shape})")
    return values
