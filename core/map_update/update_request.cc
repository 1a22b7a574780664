// SPDX-License-Identifier: Apache-2.0

#include "core/map_update/update_request.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/cloud/filters.h"
#include "core/container/flat_table.h"
#include "core/map/lattice.h"

namespace voxloc {
namespace {

// 100 kB a scan.
constexpr size_t kMaxScanPoints = 8192;
constexpr double kThinVoxelM = 0.2;

}  // namespace

void ScanCounts::Add(const ScanCounts& more) {
  scans += more.scans;
  not_accepted += more.not_accepted;
  corrected += more.corrected;
  held_out += more.held_out;
}

PointCloud ThinForUpdate(const PointCloud& scan_base, const Eigen::Vector3d& sensor_position_base) {
  PointCloud thin;
  thin.origin = scan_base.origin;
  FlatTable<CellKey, uint8_t> taken;
  for (size_t i = 0; i < scan_base.size(); ++i) {
    if (!scan_base.IsFinite(i)) continue;
    const Eigen::Vector3d point = scan_base.Point(i);
    if (!((point - sensor_position_base).norm() <= kUpdateRangeM)) continue;
    const CellKey voxel = CellOf(point, kThinVoxelM);
    if (taken.Find(voxel) != nullptr) continue;
    taken.Insert(voxel, 1);
    thin.PushBack(scan_base.x[i], scan_base.y[i], scan_base.z[i]);
  }
  return RandomSample(thin, kMaxScanPoints, /*seed=*/1);
}

absl::Status CheckUpdateRequest(const UpdateRequest& request) {
  if (request.pass_start_ns.size() > kMaxVotingPasses) {
    return absl::InvalidArgumentError(absl::StrCat("there must be at most ", kMaxVotingPasses,
                                                   " passes (got ", request.pass_start_ns.size(),
                                                   ")"));
  }
  for (const UpdateScan& scan : request.scans) {
    if (scan.pass >= request.pass_start_ns.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a scan's pass must be below ", request.pass_start_ns.size(), " (got ", scan.pass, ")"));
    }
  }
  if (std::none_of(request.tiles.begin(), request.tiles.end(), [](const UpdateTile& tile) {
        return tile.changeable && ComputeBounds(*tile.cloud_map).finite_points > 0;
      })) {
    return absl::InvalidArgumentError("no tile that may change has a point");
  }
  return absl::OkStatus();
}

}  // namespace voxloc
