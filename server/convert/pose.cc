// SPDX-License-Identifier: Apache-2.0

#include "server/convert/pose.h"

#include "absl/strings/str_cat.h"
#include "core/estimate/covariance/covariance_estimator.h"
#include "core/status/try.h"
#include "core/text/number_range.h"
#include "server/convert/range.h"

namespace voxloc::server {
namespace {

constexpr double kMaxMountM = 1000.0;

std::string FormatVector(const Eigen::Vector3d& vector) {
  return absl::StrCat("(", vector.x(), ", ", vector.y(), ", ", vector.z(), ")");
}

absl::Status CheckVector(const Eigen::Vector3d& vector, double most, absl::string_view name) {
  if ((vector.array().abs() <= most).all()) return absl::OkStatus();  // NaN is not
  return absl::InvalidArgumentError(absl::StrCat(name, " must have components from ", -most, " to ",
                                                 most, " (got ", FormatVector(vector), ")"));
}

absl::StatusOr<Eigen::Vector3d> BoundedFromProto(const v1::Vector3& vector, double most,
                                                 absl::string_view name) {
  const Eigen::Vector3d result(vector.x(), vector.y(), vector.z());
  VOXLOC_TRY(CheckVector(result, most, name));
  return result;
}

absl::StatusOr<Pose> MakeValidPose(const Eigen::Vector3d& position, double x, double y, double z,
                                   double w, absl::string_view name) {
  VOXLOC_TRY(CheckVector(position, kMaxLengthM, absl::StrCat(name, ".position")));
  auto pose = PoseFromQuaternion(position, Eigen::Quaterniond(w, x, y, z));
  if (!pose.ok()) return PrefixField(name, pose.status());
  return pose;
}

}  // namespace

absl::StatusOr<Pose> PoseFromProto(const v1::Pose& pose, absl::string_view name) {
  const v1::Vector3& position = pose.position();
  const v1::Quaternion& q = pose.orientation();
  return MakeValidPose({position.x(), position.y(), position.z()}, q.x(), q.y(), q.z(), q.w(),
                       name);
}

absl::StatusOr<Pose> PoseFromNumbers(const double* seven, absl::string_view name) {
  return MakeValidPose({seven[0], seven[1], seven[2]}, seven[3], seven[4], seven[5], seven[6],
                       name);
}

absl::StatusOr<BufferedPose> StampedPoseFromProto(const v1::PoseSample& sample) {
  if (!sample.has_map_t_base()) {
    return absl::InvalidArgumentError("the pose has no map_t_base; it is required");
  }
  VOXLOC_ASSIGN_OR_RETURN(auto pose, PoseFromProto(sample.map_t_base().pose(), "map_t_base.pose"));
  VOXLOC_ASSIGN_OR_RETURN(auto covariance, CovarianceFromProto(sample.map_t_base().covariance(),
                                                               "map_t_base.covariance"));
  return BufferedPose{sample.stamp_ns(), pose, covariance.value_or(Matrix6::Zero())};
}

absl::StatusOr<Eigen::Vector3d> ReferenceFromProto(const v1::ReferenceSample& sample) {
  if (!sample.has_position()) {
    return absl::InvalidArgumentError("the reference has no position; it is required");
  }
  return VectorFromProto(sample.position(), "position");
}

void PoseToProto(const Pose& pose, v1::Pose& proto) {
  VectorToProto(pose.translation, *proto.mutable_position());
  const double sign = pose.rotation.w() < 0.0 ? -1.0 : 1.0;
  v1::Quaternion& q = *proto.mutable_orientation();
  q.set_x(sign * pose.rotation.x());
  q.set_y(sign * pose.rotation.y());
  q.set_z(sign * pose.rotation.z());
  q.set_w(sign * pose.rotation.w());
}

absl::StatusOr<Twist> TwistFromProto(const v1::Twist& twist, absl::string_view name) {
  VOXLOC_ASSIGN_OR_RETURN(
      auto linear, BoundedFromProto(twist.linear(), kMaxLinearMps, absl::StrCat(name, ".linear")));
  VOXLOC_ASSIGN_OR_RETURN(auto angular, BoundedFromProto(twist.angular(), kMaxAngularRadps,
                                                         absl::StrCat(name, ".angular")));
  return Twist{linear, angular};
}

absl::StatusOr<Pose> MountFromProto(const v1::Pose& pose) {
  auto mount = PoseFromProto(pose, "base_t_sensor");
  if (mount.ok() && !(mount->translation.norm() <= kMaxMountM)) {
    return absl::InvalidArgumentError(absl::StrCat("base_t_sensor.position must be at most ",
                                                   kMaxMountM, " m from the base (got ",
                                                   mount->translation.norm(), " m)"));
  }
  return mount;
}

absl::StatusOr<Eigen::Vector3d> VectorFromProto(const v1::Vector3& vector, absl::string_view name) {
  return BoundedFromProto(vector, kMaxLengthM, name);
}

void VectorToProto(const Eigen::Vector3d& vector, v1::Vector3& proto) {
  proto.set_x(vector.x());
  proto.set_y(vector.y());
  proto.set_z(vector.z());
}

absl::StatusOr<FilterOptions::Box> BoxFromProto(const v1::Box& box, absl::string_view name) {
  if (!box.has_min() || !box.has_max()) {
    return absl::InvalidArgumentError(absl::StrCat(name, " needs both min and max"));
  }
  VOXLOC_ASSIGN_OR_RETURN(auto min, VectorFromProto(box.min(), absl::StrCat(name, ".min")));
  VOXLOC_ASSIGN_OR_RETURN(auto max, VectorFromProto(box.max(), absl::StrCat(name, ".max")));
  if ((min.array() > max.array()).any()) {
    return absl::InvalidArgumentError(absl::StrCat(name, ".max ", FormatVector(max), " lies below ",
                                                   name, ".min ", FormatVector(min)));
  }
  return FilterOptions::Box{min, max};
}

absl::StatusOr<std::optional<Matrix6>> CovarianceFromProto(
    const google::protobuf::RepeatedField<double>& field, absl::string_view name) {
  if (field.empty()) return std::optional<Matrix6>();
  if (field.size() != 36) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " must have 0 or 36 values (got ", field.size(), ")"));
  }
  using RowMajor6 = Eigen::Matrix<double, 6, 6, Eigen::RowMajor>;
  const Matrix6 covariance = Eigen::Map<const RowMajor6>(field.data());
  for (int i = 0; i < 6; ++i) {
    VOXLOC_TRY(CheckRanges({{absl::StrCat(name, " (", i, ", ", i, ")"), covariance(i, i),
                             FromTo(kMinVariance, kMaxVariance)}}));
  }
  VOXLOC_TRY(CheckPositiveDefinite(covariance, name));
  // Removes the asymmetry that rounding left.
  return std::optional<Matrix6>(0.5 * (covariance + covariance.transpose()));
}

}  // namespace voxloc::server
