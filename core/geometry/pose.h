// SPDX-License-Identifier: Apache-2.0
//
// Pose: a rigid transform in double precision.
//
// A pose named `a_T_b` maps coordinates of frame b into frame a: p_a = a_T_b * p_b, so that
// a_T_c = a_T_b * b_T_c. Lengths are metres. The rotation is a unit quaternion; functions that
// compose poses keep it unit length. Plain values: any number of threads may read one.

#ifndef VOXLOC_CORE_GEOMETRY_POSE_H_
#define VOXLOC_CORE_GEOMETRY_POSE_H_

#include <Eigen/Core>
#include <Eigen/Geometry>

#include "absl/status/statusor.h"

namespace voxloc {

struct Pose {
  Eigen::Vector3d translation = Eigen::Vector3d::Zero();
  Eigen::Quaterniond rotation = Eigen::Quaterniond::Identity();

  [[nodiscard]] Pose Inverse() const {
    const Eigen::Quaterniond inverse_rotation = rotation.conjugate();
    return {inverse_rotation * -translation, inverse_rotation};
  }

  // Row-by-row 4x4 homogeneous matrix [R t; 0 1].
  [[nodiscard]] Eigen::Matrix4d Matrix() const;
};

inline Pose operator*(const Pose& a_T_b, const Pose& b_T_c) {
  return {a_T_b.translation + a_T_b.rotation * b_T_c.translation,
          (a_T_b.rotation * b_T_c.rotation).normalized()};
}

inline Eigen::Vector3d operator*(const Pose& a_T_b, const Eigen::Vector3d& point_b) {
  return a_T_b.rotation * point_b + a_T_b.translation;
}

// The pose of a homogeneous matrix. The upper-left block is projected onto the nearest rotation,
// so matrices rounded to a few decimals are accepted; InvalidArgument when an entry is not finite,
// when the block is more than 1e-2 (largest entry) away from a rotation, or when the last row is
// not (0, 0, 0, 1).
[[nodiscard]] absl::StatusOr<Pose> PoseFromMatrix(const Eigen::Matrix4d& matrix);

// What PoseFromQuaternion accepts.
inline constexpr double kMinQuaternionLength = 1e-6;
inline constexpr double kMaxQuaternionLength = 1e6;

// The pose of a translation and a quaternion, which is normalized, unless it was once: so that a
// pose keeps its bits however often it is stored, sent and read. InvalidArgument when a component
// is not finite or the quaternion's length is not within the limits above.
[[nodiscard]] absl::StatusOr<Pose> PoseFromQuaternion(const Eigen::Vector3d& translation,
                                                      const Eigen::Quaterniond& rotation);

// Distance of the origins in metres, and the angle of the relative rotation in radians, [0, pi].
[[nodiscard]] double TranslationDistance(const Pose& a, const Pose& b);
[[nodiscard]] double RotationDistance(const Pose& a, const Pose& b);

}  // namespace voxloc

#endif  // VOXLOC_CORE_GEOMETRY_POSE_H_
