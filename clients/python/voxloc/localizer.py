# SPDX-License-Identifier: Apache-2.0
"""The engines of voxloc in this process, without a server.

    import voxloc
    town = voxloc.Map.from_file("town.pcd")
    localizer = voxloc.Localizer(town)
    found = localizer.align(points, guess)
    if found.accepted:
        print(found.map_T_base, found.covariance)

Points are arrays (N, 3) of float32 or float64, metres; rows that are not finite are left out of
scans. float32 is read as it lies, whatever its strides. Guesses and poses are Pose objects, 4x4
matrices, or seven numbers x y z qx qy qz qw. Work is done without the GIL, and a Localizer may be
used by several threads at once.

Errors: ValueError names the argument and what is allowed; FileNotFoundError, MemoryError;
RuntimeError where there is no such device.
"""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from voxloc.pose import Pose

try:
    from voxloc import _native
except ImportError as error:
    raise ImportError(
        "this installation of voxloc is a client only; install a wheel of scripts/package --wheel, "
        "or set PYTHONPATH to the folder python of a build") from error

PoseLike = Union[Pose, Sequence[float], np.ndarray]
PathLike = Any


def _seven(pose: PoseLike, name: str) -> np.ndarray:
    if not isinstance(pose, Pose):
        numbers = np.asarray(pose, dtype=np.float64)
        if numbers.shape == (7,):
            return numbers
        if numbers.shape != (4, 4):
            raise ValueError(f"{name} must be a Pose, a 4x4 matrix, or seven numbers "
                             f"x y z qx qy qz qw (got {numbers.shape})")
        pose = Pose.from_matrix(numbers)
    return np.concatenate((pose.position, pose.orientation))


def _pose(seven: np.ndarray) -> Pose:
    return Pose(seven[:3], seven[3:])


class Map:
    """The points of a map, in tiles by id. Tiles are shared with the localizers made of it."""

    __slots__ = ("_map",)

    def __init__(self) -> None:
        self._map = _native.Map()

    @classmethod
    def from_file(cls, path: PathLike) -> Map:
        """A file that io.read_cloud reads as one tile, or every such file of a folder and the folders
        in it (.txt and .csv only as files), as Autoware has maps."""
        made = cls()
        made._map = _native.Map.from_file(str(path))
        return made

    @classmethod
    def from_points(cls, points: np.ndarray) -> Map:
        """Points (N, 3) in the map's frame, as one tile with the id "map"."""
        made = cls()
        made.add_tile("map", points)
        return made

    def add_tile(self, tile_id: str, points: np.ndarray) -> None:
        """Adds the points (N, 3) in the map's frame; replaces a tile of this id."""
        self._map.add_tile(tile_id, np.asarray(points))

    def remove_tile(self, tile_id: str) -> bool:
        """Whether there was one of this id."""
        return self._map.remove_tile(tile_id)

    @property
    def tiles(self) -> Dict[str, int]:
        """The number of points of each tile."""
        return self._map.tile_sizes()

    def points(self, tile_id: str) -> np.ndarray:
        """A copy of a tile's points (N, 3): float32, or float64 where they lie far from zero."""
        return self._map.points(tile_id)

    def __repr__(self) -> str:
        tiles = self.tiles
        return f"<Map {len(tiles)} tiles, {sum(tiles.values()):,} points>"


def _native_map(map: Map) -> Any:
    if isinstance(map, Map):
        return map._map
    raise TypeError(f"map must be a voxloc.Map (got {type(map).__name__}); Map.from_file and "
                    "Map.from_points make one")


class Alignment:
    """Where a scan was taken."""

    __slots__ = ("_found",)

    def __init__(self, found: _native.Alignment) -> None:
        self._found = found

    @property
    def map_T_base(self) -> Pose:
        """The pose."""
        return _pose(self._found.map_T_base)

    @property
    def covariance(self) -> np.ndarray:
        """(6, 6), order x y z rx ry rz, about the map's axes, metres and radians."""
        return self._found.covariance

    @property
    def accepted(self) -> bool:
        """Whether to believe the pose."""
        return self._found.accepted

    @property
    def status(self) -> str:
        """The verdict, such as "OK" or "LOW_SCORE"; docs/api.md has all."""
        return self._found.status

    @property
    def detail(self) -> str:
        """Why the status is not OK, with the values."""
        return self._found.detail

    @property
    def confidence(self) -> Optional[float]:
        """How likely the pose is right along what the scan observes, 0 to 1. None: not known."""
        return self._found.confidence

    @property
    def nvtl(self) -> float:
        """The nearest voxel transformation likelihood at the pose."""
        return self._found.nvtl

    @property
    def transform_probability(self) -> float:
        """The score at the pose, divided by the points."""
        return self._found.transform_probability

    @property
    def matched_ratio(self) -> float:
        """The share of points that have a cell of the map near them."""
        return self._found.matched_ratio

    @property
    def iterations(self) -> int:
        """Of all stages."""
        return self._found.iterations

    @property
    def trace(self) -> Dict[str, np.ndarray]:
        """With `trace=True`: an array for each quantity, with a row for each iteration."""
        return self._found.trace

    @property
    def point_scores(self) -> np.ndarray:
        """With `point_scores=True`: (N,) float32, each finite point's best score; 0: no cell is near."""
        return self._found.point_scores

    def _rows(self) -> List[Tuple[str, str]]:
        pose = self.map_T_base
        sigma = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        x, y, z = pose.position
        known = "not known" if self.confidence is None else f"{self.confidence:.3f}"
        return [("status", self.status + (f": {self.detail}" if self.detail else "")),
                ("accepted", "yes" if self.accepted else "no"),
                ("position", f"{x:.3f}, {y:.3f}, {z:.3f} m"),
                ("sigma", ", ".join(f"{s:.3f}" for s in sigma[:3]) + " m, " +
                 ", ".join(f"{s:.2f}" for s in np.degrees(sigma[3:])) + " degrees"),
                ("confidence", known),
                ("NVTL", f"{self.nvtl:.3f}"),
                ("iterations", str(self.iterations))]

    def __repr__(self) -> str:
        return f"<Alignment {self.status} {self.map_T_base}>"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{name}</th><td>{_escape(value)}</td></tr>"
                       for name, value in self._rows())
        return f"<table>{rows}</table>"


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


class Location(NamedTuple):
    """What a search without a guess found."""

    hypotheses: List[Alignment]  # the most confident first; may be empty
    reliable: bool  # the first fits well
    ambiguous: bool  # the second explains the scan nearly as well
    timed_out: bool


class Scores(NamedTuple):
    """How well a scan fits at M poses."""

    nvtl: np.ndarray  # (M,)
    transform_probability: np.ndarray  # (M,)
    matched_ratio: np.ndarray  # (M,)


class Localizer:
    """Aligns scans with a map in the memory of one device. The same call gives the same bits,
    whatever the batch, the threads and their number; they are those of the service.

    `profile` is "precise", "autoware" or a file *.yaml (docs/profiles.md). `device` is "cpu",
    "cuda" (the first GPU) or "cuda:1". `threads` work on a call, the caller's among them; 0: one
    for each processor.
    """

    __slots__ = ("_localizer",)

    def __init__(self, map: Map, profile: str = "precise", device: str = "cpu", threads: int = 0):
        if threads < 0:
            raise ValueError(f"threads must be at least 0 (got {threads})")
        self._localizer = _native.Localizer(_native_map(map), str(profile), device, threads)

    def set_map(self, map: Map) -> None:
        """Replaces the map. Only tiles that the last one did not share are built; calls that have
        begun end on the map that they began with."""
        self._localizer.set_map(_native_map(map))

    def align(self, points: np.ndarray, guess: PoseLike, covariance: Optional[np.ndarray] = None,
              twist: Optional[Sequence[float]] = None, timeout_s: float = 0.0,
              trace: bool = False, point_scores: bool = False) -> Alignment:
        """Where the scan was taken, near the guess map_T_base. `points` (N, 3) in the base's frame.

        `covariance` (6, 6) of the guess, order x y z rx ry rz about the map's axes: keeps the pose
        near the guess along what the scan does not observe. `twist` (6,): the base's velocity when
        the scan was taken, m/s and rad/s along and about its own axes. `timeout_s` 0: none.
        """
        return Alignment(self._localizer.align(
            np.asarray(points), _seven(guess, "guess"), covariance, twist, timeout_s, trace,
            point_scores))

    def align_batch(self, scans: Sequence[np.ndarray], guesses: Sequence[PoseLike]) -> List[Alignment]:
        """One result a scan, in their order: those of `align`, sooner."""
        if len(scans) != len(guesses):
            raise ValueError(f"there must be a guess for each scan (got {len(scans)} scans and "
                             f"{len(guesses)} guesses)")
        sevens = np.array([_seven(guess, "guess") for guess in guesses]).reshape(-1, 7)
        return [Alignment(found) for found in self._localizer.align_batch(
            [np.asarray(points) for points in scans], sevens)]

    def locate(self, points: np.ndarray, within: Optional[np.ndarray] = None,
               timeout_s: float = 0.0, max_hypotheses: int = 5, seed: int = 0) -> Location:
        """Where the scan was taken, without a guess. `within`: the box that the base is in,
        ((x, y, z), (x, y, z)) in the map's frame; None: anywhere in the map."""
        hypotheses, *flags = self._localizer.locate(np.asarray(points), within, timeout_s,
                                                    max_hypotheses, seed)
        return Location([Alignment(found) for found in hypotheses], *flags)

    def score(self, points: np.ndarray, poses: Sequence[PoseLike]) -> Scores:
        """How well the scan fits at each pose, without a search."""
        sevens = np.array([_seven(pose, "poses") for pose in poses]).reshape(-1, 7)
        return Scores(*self._localizer.score(np.asarray(points), sevens).T)

    @property
    def device(self) -> str:
        """"cpu" or "cuda", and the processor's or the card's name."""
        return self._localizer.device

    @property
    def memory_bytes(self) -> int:
        """Of the map, on the device."""
        return self._localizer.memory_bytes

    def __repr__(self) -> str:
        return f"<Localizer on {self.device}, {self.memory_bytes / 1e6:.1f} MB>"


def align(target: np.ndarray, source: np.ndarray, guess: Optional[PoseLike] = None,
          profile: str = "precise", device: str = "cpu", threads: int = 0) -> Alignment:
    """Aligns the points `source` (N, 3) with the points `target` (M, 3): target_T_source. A guess of
    None is the identity. For several sources, a Localizer builds the target once."""
    localizer = Localizer(Map.from_points(target), profile, device, threads)
    return localizer.align(source, Pose() if guess is None else guess)
