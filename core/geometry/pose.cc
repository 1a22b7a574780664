// SPDX-License-Identifier: Apache-2.0

#include "core/geometry/pose.h"

#include <Eigen/SVD>
#include <cmath>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace voxloc {
namespace {

constexpr double kMaxRotationDefect = 1e-2;

// Of the square of a length. Rounding leaves a quaternion that was normalized once within 6 epsilon
// of 1: 4 products with their sums, a root and a quotient, and the square again.
constexpr double kUnitTolerance = 8.0 * std::numeric_limits<double>::epsilon();

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
  if (!translation.allFinite()) {
    return absl::InvalidArgumentError("position has a component that is not finite");
  }
  const Eigen::Vector4d& xyzw = rotation.coeffs();
  // Scaled first, so that no finite quaternion overflows.
  const double largest = xyzw.cwiseAbs().maxCoeff();
  const Eigen::Vector4d scaled = xyzw / largest;
  const double length = largest * scaled.norm();
  if (!xyzw.allFinite() || !(length >= kMinQuaternionLength && length <= kMaxQuaternionLength)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "orientation must be a quaternion (x, y, z, w) of a length from ", kMinQuaternionLength,
        " to ", kMaxQuaternionLength, ", such as (0, 0, 0, 1) for no rotation (got (", xyzw.x(),
        ", ", xyzw.y(), ", ", xyzw.z(), ", ", xyzw.w(), "))"));
  }
  if (std::abs(xyzw.squaredNorm() - 1.0) <= kUnitTolerance) return Pose{translation, rotation};
  return Pose{translation, Eigen::Quaterniond(scaled).normalized()};
}

double TranslationDistance(const Pose& a, const Pose& b) {
  return (a.translation - b.translation).norm();
}

double RotationDistance(const Pose& a, const Pose& b) {
  const Eigen::Quaterniond relative = a.rotation.conjugate() * b.rotation;
  return 2.0 * std::atan2(relative.vec().norm(), std::abs(relative.w()));
}

}  // namespace voxloc
