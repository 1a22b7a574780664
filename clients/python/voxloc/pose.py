# SPDX-License-Identifier: Apache-2.0
"""Rigid transforms: a position in metres and a unit quaternion x, y, z, w."""

from __future__ import annotations

import math
from typing import Any, Sequence, Union

import numpy as np

# The server refuses shorter quaternions; see Quaternion in geometry.proto.
_MIN_QUATERNION_LENGTH = 1e-6

Numbers = Union[Sequence[float], np.ndarray]


def _vector(name: str, values: Numbers, size: int) -> np.ndarray:
    vector = np.array(values, dtype=np.float64)
    if vector.shape != (size,) or not np.isfinite(vector).all():
        raise ValueError(f"{name} must be {size} finite numbers (got {values!r})")
    vector.flags.writeable = False
    return vector


class Pose:
    """a_T_b: takes coordinates of frame b into frame a. Does not change.

    `position` is the origin of b in a, metres; `orientation` the rotation from b to a, as a
    quaternion x, y, z, w. The quaternion is kept as it was given, of unit length or not.
    """

    __slots__ = ("position", "orientation")

    def __init__(self, position: Numbers = (0.0, 0.0, 0.0),
                 orientation: Numbers = (0.0, 0.0, 0.0, 1.0)):
        self.position = _vector("position", position, 3)
        self.orientation = _vector("orientation", orientation, 4)
        if np.linalg.norm(self.orientation) < _MIN_QUATERNION_LENGTH:
            raise ValueError(f"orientation must be a rotation (got {orientation!r})")

    @classmethod
    def from_matrix(cls, matrix: Any) -> Pose:
        """From a 4x4 matrix, or the first three rows of one. Its w is not negative."""
        rows = np.asarray(matrix, dtype=np.float64)
        if rows.shape not in ((4, 4), (3, 4)) or not np.isfinite(rows).all():
            raise ValueError(f"a pose needs a finite 4x4 or 3x4 matrix (got {rows.shape})")
        r = rows[:3, :3]
        # Files often write six digits.
        if not (np.allclose(r @ r.T, np.eye(3), atol=1e-5) and np.linalg.det(r) > 0.0):
            raise ValueError("the left 3x3 block of the matrix must be a rotation")
        # Four times the squares of x, y, z, w; the largest divides without loss of digits.
        squares = np.array([1.0 + r[0, 0] - r[1, 1] - r[2, 2], 1.0 - r[0, 0] + r[1, 1] - r[2, 2],
                            1.0 - r[0, 0] - r[1, 1] + r[2, 2], 1.0 + r[0, 0] + r[1, 1] + r[2, 2]])
        largest = int(np.argmax(squares))
        products = np.array([
            [squares[0], r[0, 1] + r[1, 0], r[0, 2] + r[2, 0], r[2, 1] - r[1, 2]],
            [r[0, 1] + r[1, 0], squares[1], r[1, 2] + r[2, 1], r[0, 2] - r[2, 0]],
            [r[0, 2] + r[2, 0], r[1, 2] + r[2, 1], squares[2], r[1, 0] - r[0, 1]],
            [r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1], squares[3]]])
        quaternion = products[largest] / np.linalg.norm(products[largest])
        return cls(rows[:3, 3], -quaternion if quaternion[3] < 0.0 else quaternion)

    @classmethod
    def from_rpy(cls, position: Numbers, roll: float, pitch: float, yaw: float) -> Pose:
        """With the angles of ROS, radians: Rz(yaw) * Ry(pitch) * Rx(roll)."""
        cr, sr = math.cos(roll / 2.0), math.sin(roll / 2.0)
        cp, sp = math.cos(pitch / 2.0), math.sin(pitch / 2.0)
        cy, sy = math.cos(yaw / 2.0), math.sin(yaw / 2.0)
        return cls(position, (sr * cp * cy - cr * sp * sy, cr * sp * cy + sr * cp * sy,
                              cr * cp * sy - sr * sp * cy, cr * cp * cy + sr * sp * sy))

    @classmethod
    def from_message(cls, message: Any) -> Pose:
        """From a voxloc.v1.Pose, to the bit."""
        p, q = message.position, message.orientation
        return cls((p.x, p.y, p.z), (q.x, q.y, q.z, q.w))

    def to_message(self) -> Any:
        """A voxloc.v1.Pose, to the bit."""
        from voxloc import messages  # needs protobuf, which poses alone do not
        message = messages.Pose()
        p, q = message.position, message.orientation
        p.x, p.y, p.z = self.position.tolist()
        q.x, q.y, q.z, q.w = self.orientation.tolist()
        return message

    def rotation_matrix(self) -> np.ndarray:
        """The 3x3 rotation from b to a."""
        x, y, z, w = self.orientation / np.linalg.norm(self.orientation)
        return np.array([
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
            [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
            [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)]])

    def matrix(self) -> np.ndarray:
        """The 4x4 matrix."""
        matrix = np.eye(4)
        matrix[:3, :3] = self.rotation_matrix()
        matrix[:3, 3] = self.position
        return matrix

    def inverse(self) -> Pose:
        """b_T_a."""
        x, y, z, w = self.orientation / np.linalg.norm(self.orientation)
        return Pose(-(self.rotation_matrix().T @ self.position), (-x, -y, -z, w))

    def __matmul__(self, other: Pose) -> Pose:
        """a_T_b @ b_T_c is a_T_c. The quaternion is of unit length."""
        if not isinstance(other, Pose):
            return NotImplemented
        x, y, z, w = self.orientation
        product = np.array([[w, -z, y, x], [z, w, -x, y], [-y, x, w, z], [-x, -y, -z, w]])
        quaternion = product @ other.orientation
        return Pose(self.position + self.rotation_matrix() @ other.position,
                    quaternion / np.linalg.norm(quaternion))

    def apply(self, points: np.ndarray) -> np.ndarray:
        """Points (N, 3) of frame b in frame a."""
        return np.asarray(points, dtype=np.float64) @ self.rotation_matrix().T + self.position

    def distance_to(self, other: Pose) -> float:
        """Between the positions, metres."""
        return float(np.linalg.norm(self.position - other.position))

    def angle_to(self, other: Pose) -> float:
        """Of the rotation between the two, radians, 0 to pi."""
        relative = (self.inverse() @ other).orientation
        return float(2.0 * math.atan2(np.linalg.norm(relative[:3]), abs(relative[3])))

    def __repr__(self) -> str:
        return f"Pose({self.position.tolist()}, {self.orientation.tolist()})"
