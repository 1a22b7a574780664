// SPDX-License-Identifier: Apache-2.0

#include "core/map_update/scan_motions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/cloud/ground.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

// The rings on the ground move with the sensor: by them, scans fit each other best where it has not
// moved. In the towns of seeds 102 and 103, of 279 motions of a sensor with 16 rings 8 were wrong
// by more than 0.08 m, up to 0.2 m, with them, and of 304 without them none by more than 0.05 m.
constexpr GroundRange kAboveGround = {0.3, std::numeric_limits<double>::infinity()};
// Farther away, another part of the surroundings is seen.
constexpr double kMaxDistanceM = 15.0;
// Between a motion and the one by aligning the scans the other way round, along the ground: more is
// a wrong fit. Their heights differ by more, which alignments with the map tell better.
constexpr double kMaxDifferenceM = 0.05;
constexpr double kMaxDifferenceRad = 0.01;
constexpr size_t kMotionsABatch = 16;

// Halfway from one to the other. nullopt: they differ.
std::optional<Pose> MeanOf(const Pose& forth, const Pose& back) {
  const Eigen::AngleAxisd turn((back.rotation * forth.rotation.conjugate()).normalized());
  if ((back.translation - forth.translation).head<2>().norm() > kMaxDifferenceM ||
      std::abs(turn.angle() * turn.axis().z()) > kMaxDifferenceRad) {
    return std::nullopt;
  }
  return Pose{0.5 * (forth.translation + back.translation),
              forth.rotation.slerp(0.5, back.rotation)};
}

}  // namespace

absl::StatusOr<std::vector<std::optional<Pose>>> MeasureMotions(
    Engine& engine, const Profile& profile, absl::Span<const ScanInPass> scans) {
  const std::vector<CellStatistics> statistics = RequiredStatistics({profile});
  const auto align = [&](const ScanInPass& map,
                         const ScanInPass& scan) -> absl::StatusOr<AlignJob> {
    AlignJob job;
    VOXLOC_ASSIGN_OR_RETURN(const auto tile, engine.BuildTile(*map.points_base, statistics));
    VOXLOC_ASSIGN_OR_RETURN(job.map, engine.Compose({tile}, statistics, nullptr));
    job.scan = scan.points_base;
    job.map_T_base_guess = map.map_T_base.Inverse() * scan.map_T_base;
    job.profile = profile;
    job.work_class = WorkClass::kMapping;
    return job;
  };
  std::vector<std::optional<Pose>> motions(scans.size());
  for (size_t begin = 0; begin + 1 < scans.size(); begin += kMotionsABatch) {
    std::vector<ScanInPass> raised;
    for (const ScanInPass& scan : scans.subspan(begin, kMotionsABatch + 1)) {
      VOXLOC_ASSIGN_OR_RETURN(PointCloud points, CropAboveGround(*scan.points_base, kAboveGround));
      raised.push_back({std::make_shared<const PointCloud>(std::move(points)), scan.map_T_base});
    }
    std::vector<size_t> from;
    std::vector<AlignJob> jobs;
    for (size_t i = 0; i + 1 < raised.size(); ++i) {
      if (raised[i].points_base->empty() || raised[i + 1].points_base->empty() ||
          TranslationDistance(raised[i].map_T_base, raised[i + 1].map_T_base) > kMaxDistanceM) {
        continue;
      }
      from.push_back(begin + i);
      VOXLOC_ASSIGN_OR_RETURN(jobs.emplace_back(), align(raised[i], raised[i + 1]));
      VOXLOC_ASSIGN_OR_RETURN(jobs.emplace_back(), align(raised[i + 1], raised[i]));
    }
    const std::vector<AlignResult> results = engine.Align(jobs);
    for (size_t k = 0; k < from.size(); ++k) {
      const AlignResult& forth = results[2 * k];
      const AlignResult& back = results[2 * k + 1];
      for (const AlignResult* result : {&forth, &back}) {
        if (result->status.code() == absl::StatusCode::kResourceExhausted) return result->status;
      }
      if (!forth.status.ok() || !back.status.ok()) continue;
      motions[from[k]] = MeanOf(forth.map_T_base, back.map_T_base.Inverse());
    }
  }
  return motions;
}

}  // namespace voxloc
