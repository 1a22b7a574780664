// SPDX-License-Identifier: Apache-2.0
//
// Poses, positions, boxes and covariances on the wire. `name` is the field's, for messages.
// Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_CONVERT_POSE_H_
#define VOXLOC_SERVER_CONVERT_POSE_H_

#include <google/protobuf/repeated_field.h>

#include <Eigen/Core>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/cloud/filters.h"
#include "core/geometry/covariance.h"
#include "core/geometry/pose.h"
#include "core/geometry/twist.h"
#include "core/tracking/pose_buffer.h"
#include "voxloc/v1/geometry.pb.h"
#include "voxloc/v1/scan.pb.h"

namespace voxloc::server {

// A quaternion of unit length, to rounding, stays as it is; others are normalized. InvalidArgument:
// a value that is not finite, a quaternion shorter than 1e-6.
[[nodiscard]] absl::StatusOr<Pose> PoseFromProto(const v1::Pose& pose, absl::string_view name);
[[nodiscard]] absl::StatusOr<Pose> PoseFromNumbers(const double* seven, absl::string_view name);

// InvalidArgument also: no pose, a covariance that CovarianceFromProto refuses. Without a
// covariance it is zero.
[[nodiscard]] absl::StatusOr<BufferedPose> StampedPoseFromProto(const v1::PoseSample& sample);

// InvalidArgument: no position, or one that is not finite.
[[nodiscard]] absl::StatusOr<Eigen::Vector3d> ReferenceFromProto(const v1::ReferenceSample& sample);

// The quaternion has unit length and w >= 0.
void PoseToProto(const Pose& pose, v1::Pose& proto);

// InvalidArgument: a velocity that is not finite.
[[nodiscard]] absl::StatusOr<Twist> TwistFromProto(const v1::Twist& twist, absl::string_view name);

// base_T_sensor; InvalidArgument also when the sensor is more than 1 km from the base.
[[nodiscard]] absl::StatusOr<Pose> MountFromProto(const v1::Pose& pose);

[[nodiscard]] absl::StatusOr<Eigen::Vector3d> VectorFromProto(const v1::Vector3& vector,
                                                              absl::string_view name);
void VectorToProto(const Eigen::Vector3d& vector, v1::Vector3& proto);

// InvalidArgument: a corner is missing or not finite, or `max` lies below `min`.
[[nodiscard]] absl::StatusOr<FilterOptions::Box> BoxFromProto(const v1::Box& box,
                                                              absl::string_view name);

template <typename Matrix>
void AppendRowMajor(const Matrix& matrix, google::protobuf::RepeatedField<double>& field) {
  field.Reserve(field.size() + static_cast<int>(matrix.size()));
  for (Eigen::Index row = 0; row < matrix.rows(); ++row) {
    for (Eigen::Index column = 0; column < matrix.cols(); ++column) {
      field.Add(matrix(row, column));
    }
  }
}

// nullopt: empty, that is, unknown. InvalidArgument: another number of values than 36, one that is
// not finite, not symmetric, not positive definite. `name` is the field's, for messages.
[[nodiscard]] absl::StatusOr<std::optional<Matrix6>> CovarianceFromProto(
    const google::protobuf::RepeatedField<double>& field, absl::string_view name);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONVERT_POSE_H_
