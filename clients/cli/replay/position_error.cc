// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/replay/position_error.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_format.h"
#include "core/geometry/euler.h"

namespace voxloc::cli {
namespace {

// About the map's axes; nullopt: none.
std::optional<Eigen::Matrix3d> PositionCovarianceOf(const v1::PoseWithCovariance& pose) {
  if (pose.covariance_size() != 36) return std::nullopt;
  using RowMajor6 = Eigen::Matrix<double, 6, 6, Eigen::RowMajor>;
  return Eigen::Map<const RowMajor6>(pose.covariance().data()).topLeftCorner<3, 3>();
}

}  // namespace

bool PoseError::IsConsistent(size_t axis) const {
  const auto i = static_cast<Eigen::Index>(axis);
  return std::abs(base_m[i]) <= kConsistentSigmas * (*sigma_base_m)[i];
}

PoseError PoseErrorOf(const Pose& truth_map_T_base, const Pose& map_T_base,
                      const v1::PoseWithCovariance& covariance) {
  return {TranslationDistance(map_T_base, truth_map_T_base),
          kDegreesPerRadian * RotationDistance(map_T_base, truth_map_T_base),
          ErrorInBase(truth_map_T_base, map_T_base), SigmaInBase(truth_map_T_base, covariance)};
}

PoseErrorSummary SummarizeErrors(const std::vector<PoseError>& errors) {
  std::vector<double> translation_m;
  std::vector<double> rotation_deg;
  std::array<std::vector<double>, 3> base_m;
  std::array<std::vector<double>, 3> sigma_base_m;
  for (const PoseError& error : errors) {
    translation_m.push_back(error.translation_m);
    rotation_deg.push_back(error.rotation_deg);
    for (size_t axis = 0; axis < base_m.size(); ++axis) {
      const auto i = static_cast<Eigen::Index>(axis);
      base_m[axis].push_back(std::abs(error.base_m[i]));
      if (error.sigma_base_m) sigma_base_m[axis].push_back((*error.sigma_base_m)[i]);
    }
  }
  PoseErrorSummary summary;
  summary.translation_m = Summarize(std::move(translation_m));
  summary.rotation_deg = Summarize(std::move(rotation_deg));
  for (size_t axis = 0; axis < base_m.size(); ++axis) {
    summary.base_m[axis] = Summarize(std::move(base_m[axis]));
    summary.sigma_base_m[axis] = Summarize(std::move(sigma_base_m[axis]));
  }
  return summary;
}

void ErrorConsistency::Add(const PoseError& error) {
  if (!error.sigma_base_m.has_value()) return;
  ++of;
  for (size_t axis = 0; axis < consistent.size(); ++axis) {
    if (error.IsConsistent(axis)) ++consistent[axis];
  }
}

Json AxesJson(const std::optional<Eigen::Vector3d>& values_base) {
  if (!values_base.has_value()) return nullptr;
  return BaseAxesJson([&](size_t axis) { return (*values_base)[static_cast<Eigen::Index>(axis)]; });
}

Json ConsistencyJson(const ErrorConsistency& consistency) {
  Json json = BaseAxesJson([&](size_t axis) { return consistency.consistent[axis]; });
  json["of"] = consistency.of;
  return json;
}

Json ConsistentAxesJson(const PoseError& error) {
  if (!error.sigma_base_m.has_value()) return nullptr;
  return BaseAxesJson([&](size_t axis) { return error.IsConsistent(axis); });
}

Json AxisSummariesJson(const std::array<Summary, 3>& axes) {
  return BaseAxesJson([&](size_t axis) { return SummaryJson(axes[axis]); });
}

std::string ConsistencyText(const ErrorConsistency& consistency) {
  return absl::StrFormat("along %d, across %d, up %d of %d", consistency.consistent[0],
                         consistency.consistent[1], consistency.consistent[2], consistency.of);
}

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
