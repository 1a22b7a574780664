// SPDX-License-Identifier: Apache-2.0

#include "server/scan/scan_preparation.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/convert/cloud.h"

namespace voxloc::server {
namespace {

absl::Status Filter(const FilterOptions& options, Engine& engine, WorkClass work_class,
                    PointCloud& cloud, FilterCounts& counts) {
  auto filtered = engine.Filter(cloud, options, work_class);
  if (!filtered.ok()) return filtered.status();
  cloud = std::move(filtered->cloud);
  counts.not_finite += filtered->counts.not_finite;
  counts.out_of_limits += filtered->counts.out_of_limits;
  counts.thinned += filtered->counts.thinned;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PreparedScan> PrepareScan(const v1::Cloud& cloud, const ScanRecipe& recipe,
                                         Engine& engine, WorkClass work_class) {
  DecodedCloud decoded = DecodeScan(cloud);
  PreparedScan prepared;
  FilterCounts& counts = prepared.counts;
  counts.received = decoded.received;
  counts.not_finite = decoded.not_finite;
  counts.out_of_limits = decoded.out_of_reach;
  PointCloud points = std::move(decoded.cloud);
  if (recipe.filters.sensor.has_value()) {
    if (absl::Status status = Filter(*recipe.filters.sensor, engine, work_class, points, counts);
        !status.ok()) {
      return status;
    }
  }
  if (const std::optional<Pose> base_T_sensor = recipe.Mount(); base_T_sensor.has_value()) {
    points = Transform(*base_T_sensor, points);
  }
  if (recipe.filters.base.has_value()) {
    if (absl::Status status = Filter(*recipe.filters.base, engine, work_class, points, counts);
        !status.ok()) {
      return status;
    }
  }
  counts.kept = points.size();
  prepared.base = std::make_shared<const PointCloud>(std::move(points));
  return prepared;
}

absl::Status RequirePoints(const FilterCounts& counts) {
  if (counts.kept > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("no point is left of ", counts.received, ": ", counts.not_finite,
                   " not finite, ", counts.out_of_limits, " outside the limits of the filter"));
}

}  // namespace voxloc::server
