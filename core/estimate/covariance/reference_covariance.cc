// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/covariance/reference_covariance.h"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace voxloc {
namespace {

// A determinant below this share of the product of its largest factors is rounding.
constexpr double kSingular = 1e-12;

// How base x and y lie in the map's plane: not quite a rotation where the base is tilted.
Eigen::Matrix2d PlaneRotation(const Pose& map_T_base) {
  return map_T_base.rotation.toRotationMatrix().topLeftCorner<2, 2>();
}

}  // namespace

Matrix6 RotateFixedCovariance(const Matrix6& fixed, const Pose& map_T_base) {
  const Eigen::Matrix3d map_R_base = map_T_base.rotation.toRotationMatrix();
  Matrix6 covariance = fixed;
  const Eigen::Matrix3d turned = map_R_base * fixed.topLeftCorner<3, 3>() * map_R_base.transpose();
  covariance.topLeftCorner<3, 3>() = 0.5 * (turned + turned.transpose());
  return covariance;
}

absl::StatusOr<Eigen::Matrix2d> LaplaceCovariance(const Matrix6& hessian) {
  const Eigen::Matrix2d block = hessian.topLeftCorner<2, 2>();
  const double largest = block.cwiseAbs().maxCoeff();
  const double determinant = block.determinant();
  if (!block.allFinite() || !(std::abs(determinant) > kSingular * largest * largest)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the x, y block of the Hessian, (", block(0, 0), ", ", block(0, 1), ", ",
                     block(1, 0), ", ", block(1, 1), "), has no inverse"));
  }
  return Eigen::Matrix2d(-block.inverse());
}

std::vector<Pose> OffsetPoses(const Pose& map_T_base,
                              absl::Span<const Eigen::Vector2d> offsets_base) {
  const Eigen::Matrix2d rotation = PlaneRotation(map_T_base);
  std::vector<Pose> poses(offsets_base.size(), map_T_base);
  for (size_t i = 0; i < poses.size(); ++i) {
    poses[i].translation.head<2>() += rotation * offsets_base[i];
  }
  return poses;
}

PositionMoments MomentsOf(absl::Span<const Eigen::Vector2d> positions) {
  const auto count = static_cast<double>(positions.size());
  PositionMoments moments =
      WeightedMoments(positions, std::vector<double>(positions.size(), 1.0 / count));
  moments.covariance *= (count - 1.0) / count;
  return moments;
}

PositionMoments WeightedMoments(absl::Span<const Eigen::Vector2d> positions,
                                absl::Span<const double> weights) {
  // Around the first: map coordinates may be large.
  PositionMoments moments;
  for (size_t i = 0; i < positions.size(); ++i) {
    moments.mean += weights[i] * (positions[i] - positions[0]);
  }
  moments.mean += positions[0];
  for (size_t i = 0; i < positions.size(); ++i) {
    const Eigen::Vector2d d = positions[i] - moments.mean;
    moments.covariance += weights[i] * d * d.transpose();
  }
  return moments;
}

std::vector<double> SoftmaxWeights(absl::Span<const double> scores, double temperature) {
  const double best = *std::max_element(scores.begin(), scores.end());
  std::vector<double> weights;
  double sum = 0.0;
  for (const double score : scores) {
    weights.push_back(std::exp((score - best) / temperature));
    sum += weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

Eigen::Matrix2d RaiseDiagonal(const Eigen::Matrix2d& covariance, double least_xx, double least_yy) {
  Eigen::Matrix2d raised = covariance;
  raised(0, 0) = std::max(raised(0, 0), least_xx);
  raised(1, 1) = std::max(raised(1, 1), least_yy);
  return raised;
}

Matrix6 CovarianceWithPosition(const Eigen::Matrix2d& estimate, const Pose& map_T_base,
                               const CovarianceOptions& options) {
  const Eigen::Matrix2d rotation = PlaneRotation(map_T_base);
  const Eigen::Matrix2d in_base =
      rotation.transpose() * (options.scale_factor * estimate) * rotation;
  const Eigen::Matrix2d in_map = rotation *
                                 RaiseDiagonal(in_base, options.fixed(0, 0), options.fixed(1, 1)) *
                                 rotation.transpose();
  Matrix6 covariance = RotateFixedCovariance(options.fixed, map_T_base);
  covariance.topLeftCorner<2, 2>() = 0.5 * (in_map + in_map.transpose());
  return covariance;
}

}  // namespace voxloc
