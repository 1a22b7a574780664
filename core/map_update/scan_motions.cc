// SPDX-License-Identifier: Apache-2.0

#include "core/map_update/scan_motions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/cloud/ground.h"
#include "core/geometry/covariance.h"
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
// a wrong fit.
constexpr double kMaxDifferenceM = 0.05;
constexpr double kMaxDifferenceRad = 0.01;
constexpr size_t kMotionsABatch = 16;

bool AgreeAlongGround(const Pose& a, const Pose& b) {
  const Vector6 difference = FixedAxesDifference(a, b);
  return difference.head<2>().norm() <= kMaxDifferenceM &&
         std::abs(difference[5]) <= kMaxDifferenceRad;
}

Pose Halfway(const Pose& a, const Pose& b) {
  return {0.5 * (a.translation + b.translation), a.rotation.slerp(0.5, b.rotation)};
}

// `along` with the height, roll and pitch of `upright`, which is nearly the same.
Pose Combine(const Pose& along, const Pose& upright) {
  Vector6 difference = FixedAxesDifference(along, upright);
  difference[0] = difference[1] = difference[5] = 0.0;
  return ApplyFixedAxesDifference(along, difference);
}

}  // namespace

absl::StatusOr<std::vector<std::optional<Pose>>> MeasureMotions(Engine& engine,
                                                                const Profile& profile,
                                                                absl::Span<const ScanInPass> scans,
                                                                TiltPoints tilt_points) {
  const std::vector<CellStatistics> statistics = RequiredStatistics({profile});
  std::vector<AlignJob> jobs;
  const auto add_jobs = [&](const ScanInPass& from, const ScanInPass& to) -> absl::Status {
    for (const auto& [map, scan] : {std::pair(&from, &to), std::pair(&to, &from)}) {
      AlignJob& job = jobs.emplace_back();
      VOXLOC_ASSIGN_OR_RETURN(const auto tile, engine.BuildTile(*map->points_base, statistics));
      VOXLOC_ASSIGN_OR_RETURN(job.map, engine.Compose({tile}, statistics, nullptr));
      job.scan = scan->points_base;
      job.map_T_base_guess = map->map_T_base.Inverse() * scan->map_T_base;
      job.profile = profile;
      job.work_class = WorkClass::kMapping;
    }
    return absl::OkStatus();
  };
  std::vector<std::optional<Pose>> motions(scans.size());
  for (size_t begin = 0; begin + 1 < scans.size(); begin += kMotionsABatch) {
    const auto batch = scans.subspan(begin, kMotionsABatch + 1);
    std::vector<ScanInPass> raised;
    for (const ScanInPass& scan : batch) {
      VOXLOC_ASSIGN_OR_RETURN(PointCloud points, CropAboveGround(*scan.points_base, kAboveGround));
      raised.push_back({std::make_shared<const PointCloud>(std::move(points)), scan.map_T_base});
    }
    std::vector<size_t> from;
    jobs.clear();
    for (size_t i = 0; i + 1 < batch.size(); ++i) {
      if (raised[i].points_base->empty() || raised[i + 1].points_base->empty() ||
          TranslationDistance(batch[i].map_T_base, batch[i + 1].map_T_base) > kMaxDistanceM) {
        continue;
      }
      from.push_back(begin + i);
      VOXLOC_TRY(add_jobs(raised[i], raised[i + 1]));
      if (tilt_points == TiltPoints::kAll) VOXLOC_TRY(add_jobs(batch[i], batch[i + 1]));
    }
    const std::vector<AlignResult> results = engine.Align(jobs);
    const size_t jobs_each = tilt_points == TiltPoints::kAll ? 4 : 2;
    for (size_t k = 0; k < from.size(); ++k) {
      const auto own = absl::MakeConstSpan(results).subspan(jobs_each * k, jobs_each);
      bool ok = true;
      for (const AlignResult& result : own) {
        if (result.status.code() == absl::StatusCode::kResourceExhausted) return result.status;
        ok &= result.status.ok();
      }
      if (!ok) continue;
      const Pose back = own[1].map_T_base.Inverse();
      if (!AgreeAlongGround(own[0].map_T_base, back)) continue;
      Pose& motion = motions[from[k]].emplace(Halfway(own[0].map_T_base, back));
      if (tilt_points == TiltPoints::kAboveGround) continue;
      motion = Combine(motion, Halfway(own[2].map_T_base, own[3].map_T_base.Inverse()));
    }
  }
  return motions;
}

}  // namespace voxloc
