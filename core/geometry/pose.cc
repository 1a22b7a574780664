// SPDX-License-Identifier: Apache-2.0

#include "core/geometry/pose.h"

#include <Eigen/SVD>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace voxloc {
namespace {

constexpr double kMaxRotationDefect = 1e-2;
constexpr double kMinQuaternionNorm = 1e-6;

}  // namespace

Eigen::Matrix4d Pose::Matrix() const {
  Eigen::Matrix4d matrix = Eigen::Matrix4d::Identity();
  matrix.topLeftCorner<3, 3>() = rotation.toRotationMatrix();
  matrix.topRightCorner<3, 1>() = translation;
  return matrix;
}

absl::StatusOr<Pose> PoseFromMatrix(const Eigen::Matrix4d& matrix) {
  if (!matrix.allFinite()) {
    return absl::InvalidArgumentError("pose matrix has an entry that is not finite");
  }
  if ((matrix.row(3) - Eigen::RowVector4d(0, 0, 0, 1)).cwiseAbs().maxCoeff() > kMaxRotationDefect) {
    return absl::InvalidArgumentError("pose matrix must end with the row 0 0 0 1");
  }
  const Eigen::Matrix3d block = matrix.topLeftCorner<3, 3>();
  const Eigen::JacobiSVD<Eigen::Matrix3d> svd(block, Eigen::ComputeFullU | Eigen::ComputeFullV);
  const Eigen::Matrix3d nearest = svd.matrixU() * svd.matrixV().transpose();
  const double defect = (nearest - block).cwiseAbs().maxCoeff();
  if (nearest.determinant() < 0.0 || defect > kMaxRotationDefect) {
    return absl::InvalidArgumentError(
        absl::StrCat("the 3x3 block of the pose matrix is not a rotation: its distance to the "
                     "nearest orthogonal matrix must be at most ",
                     kMaxRotationDefect, " (got ", defect, ")"));
  }
  return Pose{matrix.topRightCorner<3, 1>(), Eigen::Quaterniond(nearest).normalized()};
}

absl::StatusOr<Pose> PoseFromQuaternion(const Eigen::Vector3d& translation,
                                        const Eigen::Quaterniond& rotation) {
  if (!translation.allFinite() || !rotation.coeffs().allFinite()) {
    return absl::InvalidArgumentError("pose has a component that is not finite");
  }
  const double norm = rotation.norm();
  if (!(norm > kMinQuaternionNorm) || !std::isfinite(norm)) {
    return absl::InvalidArgumentError(
        absl::StrCat("pose quaternion has length ", norm, "; a rotation needs one near 1"));
  }
  return Pose{translation, rotation.normalized()};
}

double TranslationDistance(const Pose& a, const Pose& b) {
  return (a.translation - b.translation).norm();
}

double RotationDistance(const Pose& a, const Pose& b) {
  const Eigen::Quaterniond relative = a.rotation.conjugate() * b.rotation;
  return 2.0 * std::atan2(relative.vec().norm(), std::abs(relative.w()));
}

}  // namespace voxloc
