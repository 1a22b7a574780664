// SPDX-License-Identifier: Apache-2.0

#include "core/map_update/scan_motions.h"

#include <algorithm>

#include "core/status/try.h"

namespace voxloc {
namespace {

// Farther away, another part of the surroundings is seen.
constexpr double kMaxDistanceM = 15.0;
// Between a motion and the one by aligning the scans the other way round: more is a wrong fit.
constexpr double kMaxDifferenceM = 0.05;
constexpr double kMaxDifferenceRad = 0.01;
constexpr size_t kMotionsABatch = 16;

}  // namespace

absl::StatusOr<std::vector<std::optional<Pose>>> MeasureMotions(
    Engine& engine, const Profile& profile, absl::Span<const ScanInPass> scans) {
  const std::vector<CellStatistics> statistics = RequiredStatistics({profile});
  const auto align = [&](size_t map, size_t scan) -> absl::StatusOr<AlignJob> {
    AlignJob job;
    VOXLOC_ASSIGN_OR_RETURN(const auto tile, engine.BuildTile(*scans[map].points_base, statistics));
    VOXLOC_ASSIGN_OR_RETURN(job.map, engine.Compose({tile}, statistics, nullptr));
    job.scan = scans[scan].points_base;
    job.map_T_base_guess = scans[map].map_T_base.Inverse() * scans[scan].map_T_base;
    job.profile = profile;
    job.work_class = WorkClass::kMapping;
    return job;
  };
  std::vector<std::optional<Pose>> motions(scans.size());
  for (size_t begin = 0; begin + 1 < scans.size(); begin += kMotionsABatch) {
    std::vector<size_t> from;
    std::vector<AlignJob> jobs;
    for (size_t i = begin; i < std::min(scans.size() - 1, begin + kMotionsABatch); ++i) {
      if (TranslationDistance(scans[i].map_T_base, scans[i + 1].map_T_base) > kMaxDistanceM) {
        continue;
      }
      from.push_back(i);
      VOXLOC_ASSIGN_OR_RETURN(jobs.emplace_back(), align(i, i + 1));
      VOXLOC_ASSIGN_OR_RETURN(jobs.emplace_back(), align(i + 1, i));
    }
    const std::vector<AlignResult> results = engine.Align(jobs);
    for (size_t k = 0; k < from.size(); ++k) {
      const AlignResult& forth = results[2 * k];
      const AlignResult& back = results[2 * k + 1];
      for (const AlignResult* result : {&forth, &back}) {
        if (result->status.code() == absl::StatusCode::kResourceExhausted) return result->status;
      }
      if (forth.status.ok() && back.status.ok() &&
          TranslationDistance(forth.map_T_base, back.map_T_base.Inverse()) <= kMaxDifferenceM &&
          RotationDistance(forth.map_T_base, back.map_T_base.Inverse()) <= kMaxDifferenceRad) {
        motions[from[k]] = forth.map_T_base;
      }
    }
  }
  return motions;
}

}  // namespace voxloc
