# SPDX-License-Identifier: Apache-2.0
"""What goes to the server with a scan: clouds, guesses, setups, and their messages."""

from __future__ import annotations

import dataclasses
from typing import Any, Optional, Sequence, Tuple, Union

import numpy as np

from voxloc import messages
from voxloc.pose import Numbers, Pose

# float32 resolves less than 0.1 mm up to here (2^10 m at 24 bits: 0.06 mm). Points of double
# precision beyond it are sent around an origin.
_FLOAT32_REACH_M = 1024.0


@dataclasses.dataclass(frozen=True, eq=False)
class Setup:
    """What a call with scans works with; a str in its place names the map alone.

    `options`, `filter` and `output` are messages AlignmentOptions, ScanFilter and OutputOptions.
    `profile` is a short form of options.profile, and wins over it. `base_T_sensor` is where the
    sensor sits, for clouds that bring no mount.
    """

    map: str
    profile: str = ""
    vehicle: str = ""
    min_map_revision: int = 0
    options: Optional[Any] = None
    filter: Optional[Any] = None
    output: Optional[Any] = None
    base_T_sensor: Optional[Pose] = None

    def to_message(self) -> Any:
        """A voxloc.v1.ScanSetup."""
        message = messages.ScanSetup(
            map=self.map, vehicle=self.vehicle, min_map_revision=self.min_map_revision,
            options=self.options, filter=self.filter, output=self.output)
        if self.profile:
            message.options.profile = self.profile
        if self.base_T_sensor is not None:
            message.base_t_sensor.CopyFrom(self.base_T_sensor.to_message())
        return message


@dataclasses.dataclass(frozen=True, eq=False)
class SensorCloud:
    """What one sensor saw.

    points         (N, 3), or (N, 4) with intensities, which are not sent: the server has no use
                   for them. float32, or float64: see encode_cloud. Sensor's frame, metres
    times_s        (N,) seconds of the points after the cloud's stamp, for the server to move them
    base_T_sensor  None: that of the setup
    stamp_ns       0: that of the scan
    """

    points: np.ndarray
    times_s: Optional[np.ndarray] = None
    base_T_sensor: Optional[Pose] = None
    stamp_ns: int = 0

    def __repr__(self) -> str:
        return f"<SensorCloud {len(self.points)} points>"


@dataclasses.dataclass(frozen=True, eq=False)
class Scan:
    """A scan to align: points as in SensorCloud, or one SensorCloud for each sensor.

    stamp_ns            when it was taken
    guess_map_T_base    None: from the session's poses, or from the odometry
    guess_covariance    (6, 6), order x y z rx ry rz, map axes; only with a guess
    odom_T_base         by the vehicle's odometry: the answer then has map_T_odom
    twist               (linear m/s, angular rad/s) of the base, in its axes, each 3 numbers
    poses               (stamp_ns, map_T_base) since the last scan
    reference_position  of the base in the map, such as GNSS, metres
    timeout_s           after which the answer is of no use; 0: the session's
    age_s               from the stamp to now by the vehicle's clock; 0: not known
    traceparent         the W3C trace context that the scan belongs to; "": that of the call
    """

    points: Union[np.ndarray, Sequence[SensorCloud]]
    stamp_ns: int = 0
    guess_map_T_base: Optional[Pose] = None
    guess_covariance: Optional[np.ndarray] = None
    odom_T_base: Optional[Pose] = None
    twist: Optional[Tuple[Numbers, Numbers]] = None
    poses: Sequence[Tuple[int, Pose]] = ()
    reference_position: Optional[Numbers] = None
    timeout_s: float = 0.0
    age_s: float = 0.0
    traceparent: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.points, np.ndarray):
            return
        parts = list(self.points) if isinstance(self.points, (list, tuple)) else [self.points]
        if not all(isinstance(part, SensorCloud) for part in parts):
            raise ValueError(
                "points must be an array of float32 or float64 of shape (N, 3) or (N, 4), or a list "
                f"of SensorCloud (got {type(self.points).__name__}"
                + (f" of {type(parts[0]).__name__}" if parts and parts[0] is not self.points else "")
                + ")")

    def __repr__(self) -> str:
        counts = ([len(self.points)] if isinstance(self.points, np.ndarray)
                  else [len(cloud.points) for cloud in self.points])
        return f"<Scan {' + '.join(map(str, counts))} points at {self.stamp_ns} ns>"

    def to_message(self) -> Any:
        """A voxloc.v1.Scan without a sequence."""
        message = messages.Scan(stamp_ns=self.stamp_ns, timeout_s=self.timeout_s,
                                age_s=self.age_s, traceparent=self.traceparent)
        is_cloud = isinstance(self.points, np.ndarray)
        for cloud in [SensorCloud(self.points)] if is_cloud else self.points:
            part = message.clouds.add(stamp_ns=cloud.stamp_ns)
            encode_cloud(cloud.points, part.cloud, cloud.times_s)
            if cloud.base_T_sensor is not None:
                part.base_t_sensor.CopyFrom(cloud.base_T_sensor.to_message())
        if self.guess_map_T_base is not None:
            message.guess_map_t_base.CopyFrom(
                encode_pose_with_covariance(self.guess_map_T_base, self.guess_covariance))
        elif self.guess_covariance is not None:
            raise ValueError("guess_covariance needs guess_map_T_base")
        for stamp_ns, pose in self.poses:
            message.poses.add(stamp_ns=stamp_ns, map_t_base=encode_pose_with_covariance(pose))
        if self.odom_T_base is not None:
            message.odom_t_base.CopyFrom(self.odom_T_base.to_message())
        if self.twist is not None:
            message.base_twist.linear.CopyFrom(encode_vector(self.twist[0]))
            message.base_twist.angular.CopyFrom(encode_vector(self.twist[1]))
        if self.reference_position is not None:
            message.reference_position.CopyFrom(encode_vector(self.reference_position))
        return message


def setup_message(setup: Union[Setup, str]) -> Any:
    """A voxloc.v1.ScanSetup."""
    return (Setup(setup) if isinstance(setup, str) else setup).to_message()


def encode_vector(vector: Numbers) -> Any:
    """A voxloc.v1.Vector3."""
    x, y, z = (float(value) for value in vector)
    return messages.Vector3(x=x, y=y, z=z)


def encode_pose_with_covariance(pose: Pose, covariance: Optional[np.ndarray] = None) -> Any:
    """A voxloc.v1.PoseWithCovariance."""
    message = messages.PoseWithCovariance(pose=pose.to_message())
    if covariance is not None:
        matrix = np.asarray(covariance, dtype=np.float64)
        if matrix.shape != (6, 6):
            raise ValueError(f"a covariance must be 6x6 (got {matrix.shape})")
        message.covariance.extend(matrix.ravel().tolist())
    return message


def around_origin(points: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
    """The origin (3,) float64 and the offsets from it, (N, 3) float32, that stand for (N, 3) or
    (N, 4) points, of which the first three columns are taken.

    float32 points stay as they are, around zero. float64 points become float32, and where one lies
    more than 1,024 m from zero on an axis, they are taken relative to an origin: the centre of
    their bounds, rounded to whole metres.
    """
    array = np.asarray(points)
    if array.ndim != 2 or array.shape[1] not in (3, 4) or array.dtype.kind != "f":
        raise ValueError("points must be an array of float32 or float64 of shape (N, 3) or (N, 4) "
                         f"(got {array.dtype} {array.shape})")
    xyz = array[:, :3]
    origin = np.zeros(3)
    if xyz.dtype != np.float32 and len(xyz):
        finite = xyz[np.isfinite(xyz).all(axis=1)]
        if len(finite) and np.abs(finite).max() > _FLOAT32_REACH_M:
            origin = np.round((finite.min(axis=0) + finite.max(axis=0)) / 2.0) + 0.0
            xyz = xyz - origin
    return origin, np.ascontiguousarray(xyz, dtype="<f4")


def encode_cloud(points: np.ndarray, message: Any, times_s: Optional[np.ndarray] = None) -> None:
    """Fills a voxloc.v1.Cloud from (N, 3) or (N, 4) points as around_origin places them."""
    origin, records = around_origin(points)
    if times_s is not None:
        times = np.asarray(times_s)
        if times.shape != (len(records),):
            raise ValueError(f"times_s must have one time a point, ({len(records)},) (got "
                             f"{times.shape})")
        records = np.column_stack((records, times.astype("<f4")))
    encode_offsets(origin, records, message)
    if times_s is not None:
        message.layout = messages.CLOUD_LAYOUT_FLOAT32_XYZT


def encode_offsets(origin: np.ndarray, records: np.ndarray, message: Any) -> None:
    """Fills a voxloc.v1.Cloud from an origin and rows of float32 that begin with x y z."""
    if origin.any() or np.signbit(origin).any():
        message.origin.CopyFrom(encode_vector(origin))
    message.layout = messages.CLOUD_LAYOUT_FLOAT32_XYZ
    message.stride = 4 * records.shape[1]
    message.data = np.ascontiguousarray(records, dtype="<f4").tobytes()


def decode_cloud(message: Any) -> np.ndarray:
    """(N, 3) float64 points of a voxloc.v1.Cloud, such as Result.message.aligned_cloud."""
    int16 = message.layout in (messages.CLOUD_LAYOUT_INT16_XYZ, messages.CLOUD_LAYOUT_INT16_XYZT)
    sizes = {messages.CLOUD_LAYOUT_FLOAT32_XYZ: 12, messages.CLOUD_LAYOUT_FLOAT32_XYZI: 16,
             messages.CLOUD_LAYOUT_INT16_XYZ: 6, messages.CLOUD_LAYOUT_FLOAT32_XYZT: 16,
             messages.CLOUD_LAYOUT_FLOAT32_XYZIT: 20, messages.CLOUD_LAYOUT_INT16_XYZT: 8}
    if not message.data:
        return np.empty((0, 3))
    if message.layout not in sizes:
        raise ValueError(f"an unknown cloud layout ({message.layout})")
    stride = message.stride or sizes[message.layout]
    record = np.dtype({"names": ["xyz"], "formats": [("<i2" if int16 else "<f4", (3,))],
                       "offsets": [0], "itemsize": stride})
    xyz = np.frombuffer(message.data, dtype=record)["xyz"].astype(np.float64)
    if int16:
        xyz *= message.scale_m
    return xyz + (message.origin.x, message.origin.y, message.origin.z)
