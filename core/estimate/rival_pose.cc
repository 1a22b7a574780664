// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/rival_pose.h"

#include <algorithm>

#include "core/estimate/initial_pose/hypotheses.h"

namespace voxloc {

std::optional<size_t> FindRival(const AlignResult& result, const CovarianceReport& report) {
  const HypothesisOptions limits;
  const double enough = (1.0 - limits.ambiguity_gap) * result.after.nearest_voxel_likelihood;
  std::optional<size_t> rival;
  const size_t ends = std::min(
      {report.offset_map_T_base.size(), report.aligned_map_T_base.size(), report.nvtl.size()});
  for (size_t i = 0; i < ends; ++i) {
    const Pose& end = report.aligned_map_T_base[i];
    const bool distinct = TranslationDistance(end, result.map_T_base) >= limits.min_separation_m ||
                          RotationDistance(end, result.map_T_base) >= limits.min_separation_rad;
    const bool settled = TranslationDistance(end, report.offset_map_T_base[i]) >= kMinRivalTravelM;
    if (!distinct || !settled || !(report.nvtl[i] > enough)) continue;
    if (!rival.has_value() || report.nvtl[i] > report.nvtl[*rival]) rival = i;
  }
  return rival;
}

}  // namespace voxloc
