// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/replay/position_error.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

namespace voxloc::cli {
namespace {

// About the map's axes; nullopt: none.
std::optional<Eigen::Matrix3d> PositionCovarianceOf(const v1::PoseWithCovariance& pose) {
  if (pose.covariance_size() != 36) return std::nullopt;
  using RowMajor6 = Eigen::Matrix<double, 6, 6, Eigen::RowMajor>;
  return Eigen::Map<const RowMajor6>(pose.covariance().data()).topLeftCorner<3, 3>();
}

}  // namespace

Eigen::Vector3d ErrorInBase(const Pose& truth_map_T_base, const Pose& map_T_base) {
  return truth_map_T_base.rotation.conjugate() *
         (map_T_base.translation - truth_map_T_base.translation);
}

std::optional<Eigen::Vector3d> SigmaInBase(const Pose& truth_map_T_base,
                                           const v1::PoseWithCovariance& map_T_base) {
  const std::optional<Eigen::Matrix3d> covariance_map = PositionCovarianceOf(map_T_base);
  if (!covariance_map.has_value()) return std::nullopt;
  const Eigen::Matrix3d map_R_base = truth_map_T_base.rotation.toRotationMatrix();
  const Eigen::Matrix3d covariance_base = map_R_base.transpose() * *covariance_map * map_R_base;
  return covariance_base.diagonal().cwiseMax(0.0).cwiseSqrt();
}

std::optional<double> LargestSigma_m(const v1::PoseWithCovariance& map_T_base) {
  const std::optional<Eigen::Matrix3d> covariance = PositionCovarianceOf(map_T_base);
  if (!covariance.has_value()) return std::nullopt;
  const double largest = covariance->selfadjointView<Eigen::Lower>().eigenvalues().maxCoeff();
  return std::sqrt(std::max(largest, 0.0));
}

}  // namespace voxloc::cli
