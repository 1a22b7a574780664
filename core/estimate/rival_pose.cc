// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/rival_pose.h"

#include <algorithm>
#include <cstddef>

#include "core/estimate/initial_pose/pose_search.h"

namespace voxloc {

std::optional<RivalPose> FindRival(const AlignResult& result, const CovarianceReport& report) {
  const HypothesisOptions limits;
  const double enough = (1.0 - limits.ambiguity_gap) * result.after.nearest_voxel_likelihood;
  std::optional<RivalPose> rival;
  const size_t ends = std::min(
      {report.offset_map_T_base.size(), report.aligned_map_T_base.size(), report.nvtl.size()});
  for (size_t i = 0; i < ends; ++i) {
    const Pose& end = report.aligned_map_T_base[i];
    const bool distinct = TranslationDistance(end, result.map_T_base) >= limits.min_separation_m ||
                          RotationDistance(end, result.map_T_base) >= limits.min_separation_rad;
    const bool settled = TranslationDistance(end, report.offset_map_T_base[i]) >= kMinRivalTravelM;
    if (!distinct || !settled || !(report.nvtl[i] > enough)) continue;
    if (!rival.has_value() || report.nvtl[i] > rival->nvtl) rival = {end, report.nvtl[i]};
  }
  return rival;
}

std::vector<std::optional<RivalPose>> SearchRivals(Engine& engine,
                                                   absl::Span<const AlignedScan> scans) {
  CovarianceOptions around;
  around.method = CovarianceMethod::kMultiNdt;
  std::vector<CovarianceRequest> requests;
  for (const AlignedScan& scan : scans) requests.push_back({scan, &around, std::nullopt});
  std::vector<std::optional<RivalPose>> rivals;
  const std::vector<CovarianceReport> reports = EstimateCovariances(engine, requests);
  for (size_t i = 0; i < scans.size(); ++i) {
    rivals.push_back(FindRival(*scans[i].result, reports[i]));
  }
  return rivals;
}

}  // namespace voxloc
