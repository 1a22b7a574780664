// SPDX-License-Identifier: Apache-2.0

#include "server/verdict.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/geometry/euler.h"

namespace voxloc::server {
namespace {

std::string LowScore(const AlignResult& result, const Profile& profile) {
  const bool tp = profile.acceptance_score == ScoreKind::kTransformProbability;
  return absl::StrCat(
      tp ? "transform probability " : "nvtl ",
      tp ? result.after.transform_probability : result.after.nearest_voxel_likelihood,
      " is not over the threshold ", profile.acceptance_threshold);
}

std::string NotConverged(const AlignResult& result) {
  if (result.termination == Termination::kNotFinite) return "a number overflowed";
  if (result.termination == Termination::kCancelled) return "the search was stopped";
  return absl::StrCat("a stage ended at its limit of iterations; ", result.iterations,
                      " iterations in all, ", result.oscillations, " oscillations");
}

}  // namespace

Verdict JudgeResult(const AlignResult& result, const Profile& profile, double min_matched_ratio) {
  if (result.termination == Termination::kDeadline) {
    return {v1::ALIGNMENT_STATUS_DEADLINE, "the deadline passed while the scan was aligned", false};
  }
  if (result.after.matched_points == 0) {
    return {v1::ALIGNMENT_STATUS_OUT_OF_MAP, "no point has a map cell near it", false};
  }
  switch (Judge(result, profile)) {
    case Acceptance::kNotConverged:
      return {v1::ALIGNMENT_STATUS_NOT_CONVERGED, NotConverged(result), false};
    case Acceptance::kLowScore:
      return {v1::ALIGNMENT_STATUS_LOW_SCORE, LowScore(result, profile), false};
    case Acceptance::kAccepted:
      break;
  }
  if (result.after.matched_ratio() < min_matched_ratio) {
    return {v1::ALIGNMENT_STATUS_LOW_OVERLAP,
            absl::StrCat("the matched ratio ", result.after.matched_ratio(), " is below ",
                         min_matched_ratio),
            true};
  }
  return {v1::ALIGNMENT_STATUS_OK, "", true};
}

double ReachOf(const PointCloud& scan_base) {
  float x = 0.0F;
  float y = 0.0F;
  float z = 0.0F;
  for (size_t i = 0; i < scan_base.size(); ++i) {
    x = std::max(x, std::abs(scan_base.x[i]));
    y = std::max(y, std::abs(scan_base.y[i]));
    z = std::max(z, std::abs(scan_base.z[i]));
  }
  return Eigen::Vector3d(x, y, z).norm() + scan_base.origin.norm();
}

bool CanTouch(const Bounds& map, const Pose& map_T_base, double reach_m, double margin_m) {
  if (map.finite_points == 0) return false;
  const Eigen::Array3d position = map_T_base.translation.array();
  const double slack = reach_m + margin_m;
  return (position >= map.min.array() - slack).all() && (position <= map.max.array() + slack).all();
}

std::optional<Matrix6> LaplaceCovariance(const AlignResult& result) {
  if (!result.hessian.allFinite()) return std::nullopt;
  const Matrix6 information = -0.5 * (result.hessian + result.hessian.transpose());
  const Eigen::LLT<Matrix6> factor(information);
  if (factor.info() != Eigen::Success) return std::nullopt;
  const Matrix6 chart_covariance = factor.solve(Matrix6::Identity());
  if (!chart_covariance.allFinite()) return std::nullopt;
  const ChartVector chart = ChartFromPose(result.map_T_base);
  const Matrix6 covariance = FixedAxesCovarianceFromChart(chart_covariance, chart[3], chart[4]);
  return 0.5 * (covariance + covariance.transpose());
}

}  // namespace voxloc::server
