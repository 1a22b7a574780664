# SPDX-License-Identifier: Apache-2.0
"""What the server answers. `message` has what the properties leave out."""

from __future__ import annotations

import dataclasses
import enum
import operator
from typing import Any, Dict, List, Optional

import numpy as np

from voxloc.pose import Pose


class Status(enum.IntEnum):
    """The verdict on a scan: AlignmentStatus in alignment.proto. Newer ones become STATUS_N."""

    UNSPECIFIED = 0
    OK = 1
    LOW_SCORE = 2
    NOT_CONVERGED = 3
    DEGENERATE = 4
    AMBIGUOUS = 5
    LOW_OVERLAP = 6
    OUT_OF_MAP = 7
    NO_MAP = 8
    NO_PRIOR = 9
    NOT_ACTIVE = 10
    STALE = 11
    DEADLINE = 12
    SUPERSEDED = 13
    OVERLOADED = 14
    INVALID_INPUT = 15
    LOW_CONFIDENCE = 16
    ENGINE_FAULT = 17

    @classmethod
    def _missing_(cls, value: object) -> Any:
        if not isinstance(value, int):
            return None
        newer = int.__new__(cls, value)
        newer._name_ = f"STATUS_{value}"
        newer._value_ = value
        return newer


def _field(path: str, doc: str) -> Any:
    """A property: a field of the message."""
    return property(operator.attrgetter(f"message.{path}"), doc=doc)


def _pose(message: Any) -> Optional[Pose]:
    return Pose.from_message(message.pose) if message.HasField("pose") else None


class _MapPose:
    """A message with a pose, its covariance and where the odometry's frame lies."""

    __slots__ = ("message",)

    def __init__(self, message: Any):
        self.message = message

    @property
    def covariance(self) -> Optional[np.ndarray]:
        """(6, 6), order x y z rx ry rz, map axes. None: there is none."""
        values = self.message.map_t_base.covariance
        return np.array(values).reshape(6, 6) if len(values) == 36 else None

    @property
    def map_T_odom(self) -> Optional[Pose]:
        """For scans with odom_T_base: map_T_odom @ odom_T_base is the pose at any later time."""
        if not self.message.HasField("map_t_odom"):
            return None
        return Pose.from_message(self.message.map_t_odom)


class _FoundPose(_MapPose):
    """What Result and Hypothesis have in common."""

    __slots__ = ()

    @property
    def status(self) -> Status:
        """The verdict on the pose."""
        return Status(self.message.status)

    nvtl: float = _field("scores.nvtl", "The nearest voxel transformation likelihood.")


class FusedPose(_MapPose):
    """The pose by the filter of a session: a voxloc.v1.FusedPose, in `message`."""

    __slots__ = ()

    @property
    def map_T_base(self) -> Pose:
        """The pose at the scan's stamp."""
        return Pose.from_message(self.message.map_t_base.pose)

    scan_used: bool = _field("scan_used", "Whether the scan's result has entered.")
    resets: int = _field("resets", "How often the filter was set; its pose jumps where this counts up.")

    def __repr__(self) -> str:
        return f"<FusedPose {self.map_T_base}, resets {self.resets}>"


class Result(_FoundPose):
    """The answer to a scan: a voxloc.v1.AlignmentResult, in `message`."""

    __slots__ = ()

    sequence: int = _field("sequence", "What `send` returned.")
    stamp_ns: int = _field("stamp_ns", "The scan's own.")
    detail: str = _field("detail", "What was wrong, for people.")
    accepted: bool = _field("accepted", "Whether the pose passed the gate.")

    @property
    def map_T_base(self) -> Optional[Pose]:
        """The pose. None: the scan was not aligned."""
        return _pose(self.message.map_t_base)

    @property
    def fused(self) -> Optional[FusedPose]:
        """The pose by the session's filter. None: it has none, or knows no pose."""
        return FusedPose(self.message.fused) if self.message.HasField("fused") else None

    @property
    def confidence(self) -> Optional[float]:
        """How likely the pose is right, 0 to 1. None: not computed."""
        return self.message.confidence.value if self.message.HasField("confidence") else None

    @property
    def sigma_shares(self) -> Optional[Dict[str, np.ndarray]]:
        """What a CALIBRATED covariance is the sum of.

        Standard deviations of the shares scan, map_and_mounting, time and sweep, each (6,), along
        and about the base's axes x y z rx ry rz, metres and radians. None: another method.
        """
        report = self.message.covariance_report
        if not report.HasField("sigma_shares"):
            return None
        names = [field.name for field in report.sigma_shares.DESCRIPTOR.fields]
        return {name: np.array(getattr(report.sigma_shares, name)) for name in names}

    tiles_missing: int = _field(
        "tiles_missing", "Tiles of the map near the guess that were not in the server's memory.")

    @property
    def retry_after_s(self) -> Optional[float]:
        """With OVERLOADED: seconds after which a new scan is likely to be taken."""
        return self.message.retry_after_s or None

    def __repr__(self) -> str:
        return f"<Result {self.sequence} {self.status.name} {self.map_T_base}>"


class Hypothesis(_FoundPose):
    """A pose that explains a scan: a voxloc.v1.PoseHypothesis, in `message`."""

    __slots__ = ()

    @property
    def map_T_base(self) -> Pose:
        """The pose at the scan's stamp."""
        return Pose.from_message(self.message.map_t_base.pose)

    confidence: float = _field("confidence.value", "How likely it is right, 0 to 1.")

    def __repr__(self) -> str:
        return f"<Hypothesis {self.status.name} {self.map_T_base}>"


class SearchResult:
    """What a search found: a voxloc.v1.SearchResult, in `message`."""

    __slots__ = ("message",)

    def __init__(self, message: Any):
        self.message = message

    @property
    def hypotheses(self) -> List[Hypothesis]:
        """Distinct poses, that of the highest confidence first."""
        return [Hypothesis(message) for message in self.message.hypotheses]

    ambiguous: bool = _field("ambiguous", "Whether the best two cannot be told apart.")
    reliable: bool = _field("reliable", "Whether the NVTL of the first is over the threshold.")
    timed_out: bool = _field("timed_out", "Whether the timeout cut the search short.")

    def __repr__(self) -> str:
        found = self.hypotheses
        return f"<SearchResult {len(found)} poses, best: {found[0] if found else None}>"


@dataclasses.dataclass(frozen=True, eq=False)
class PoseScores:
    """Scores of poses, one entry a pose in every array; the contract says what they mean."""

    map_revision: int
    engine: str
    score: np.ndarray
    transform_probability: np.ndarray
    nvtl: np.ndarray
    matched_points: np.ndarray
    matched_ratio: np.ndarray

    def __repr__(self) -> str:
        return f"<PoseScores {len(self.score)} poses, revision {self.map_revision}>"
