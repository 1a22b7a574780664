# SPDX-License-Identifier: Apache-2.0
"""Tiles of maps as the server keeps them, and the digest that names their points."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Any, List, Optional

import grpc
import numpy as np

from voxloc import messages
from voxloc.errors import Error

_XYZ_BYTES = 12


@dataclasses.dataclass(frozen=True, eq=False)
class Tile:
    """A tile of a map: point i lies at origin + offsets[i] in the map's frame, metres.

    info      TileInfo: id, number of points, bounds, revision, digest
    origin    (3,) float64
    offsets   (N, 3) float32
    revision  of the map that it is of

    Client.load_map takes tiles in place of points, and keeps every bit.
    """

    info: Any
    origin: np.ndarray
    offsets: np.ndarray
    revision: int = 0

    def __repr__(self) -> str:
        return f"<Tile {self.info.tile_id}, {len(self.offsets)} points, revision {self.revision}>"

    @property
    def points(self) -> np.ndarray:
        """(N, 3) float64 in the map's frame."""
        return self.origin + self.offsets.astype(np.float64)


def tile_digest(origin: np.ndarray, offsets: np.ndarray) -> bytes:
    """TileInfo.sha256: of the origin as float64 and of the finite offsets as float32, in order,
    all little-endian."""
    finite = np.isfinite(offsets).all(axis=1)
    digest = hashlib.sha256(np.asarray(origin, dtype="<f8").tobytes())
    digest.update(np.ascontiguousarray(offsets[finite], dtype="<f4").tobytes())
    return digest.digest()


class TileAssembly:
    """Puts the parts of tiles together that GetTiles sends."""

    def __init__(self, server: str, with_points: bool):
        self._server, self._with_points = server, with_points
        self._info: Optional[Any] = None
        self._origin: Optional[np.ndarray] = None
        self._parts: List[np.ndarray] = []

    def add(self, part: Any) -> Optional[Tile]:
        """The tile whose last part this is; None: more is to come."""
        if part.HasField("tile"):
            if self._info is not None:
                raise self._damaged("ends early")
            self._info, self._origin, self._parts = part.tile, None, []
        if self._info is None:
            raise self._damaged("has no beginning")
        if part.cloud.data:
            self._add_points(part.cloud)
        if not part.last:
            return None
        origin = np.zeros(3) if self._origin is None else self._origin
        offsets = np.concatenate(self._parts) if self._parts else np.empty((0, 3), np.float32)
        if self._with_points and tile_digest(origin, offsets) != self._info.sha256:
            raise self._damaged("does not have the digest that the server names")
        tile = Tile(self._info, origin, offsets, part.map_revision)
        self._info = None
        return tile

    def finish(self) -> None:
        """At the end of the stream."""
        if self._info is not None:
            raise self._damaged("ends early")

    def _add_points(self, cloud: Any) -> None:
        stride = cloud.stride or _XYZ_BYTES
        if cloud.layout != messages.CLOUD_LAYOUT_FLOAT32_XYZ or stride < _XYZ_BYTES:
            raise self._damaged("has points of a layout that is not expected")
        record = np.dtype({"names": ["xyz"], "formats": [("<f4", (3,))], "offsets": [0],
                           "itemsize": stride})
        origin = np.array([cloud.origin.x, cloud.origin.y, cloud.origin.z])
        if self._origin is None:
            self._origin = origin
        elif self._origin.tobytes() != origin.tobytes():
            raise self._damaged("has more than one origin")
        self._parts.append(np.frombuffer(cloud.data, dtype=record)["xyz"])

    def _damaged(self, what: str) -> Error:
        name = self._info.tile_id if self._info is not None else ""
        return Error(grpc.StatusCode.DATA_LOSS, f"{self._server} GetTiles: tile {name} {what}")
