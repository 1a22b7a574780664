// SPDX-License-Identifier: Apache-2.0
//
// What proposals for a map are made from: its tiles, and the scans of the passes through it. Plain
// values and pure functions.

#ifndef VOXLOC_CORE_MAP_UPDATE_UPDATE_REQUEST_H_
#define VOXLOC_CORE_MAP_UPDATE_UPDATE_REQUEST_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/cloud/point_cloud.h"
#include "core/geometry/pose.h"
#include "core/map_update/change_rule.h"

namespace voxloc {

struct UpdateTile {
  std::string id;
  std::shared_ptr<const PointCloud> cloud_map;
  // May be proposed anew. Others are what scans are aligned with.
  bool changeable = true;
};

struct UpdateScan {
  size_t pass = 0;
  Pose map_T_base;  // as recorded
  Eigen::Vector3d sensor_position_base = Eigen::Vector3d::Zero();
  std::shared_ptr<const PointCloud> points_base;  // of ThinForUpdate
};

struct UpdateRequest {
  absl::Span<const UpdateTile> tiles;
  absl::Span<const int64_t> pass_start_ns;  // of each pass; at most kMaxVotingPasses
  absl::Span<const UpdateScan> scans;
  ChangeRule rule;
};

// What became of the scans.
struct ScanCounts {
  size_t scans = 0;
  size_t not_accepted = 0;  // not aligned with the map
  size_t corrected = 0;     // recorded too far from where they were aligned, left out
  size_t held_out = 0;

  void Add(const ScanCounts& more);
};

// A drive gives a scan of each so many metres that it moves: scans from nearly the same place show
// the same, and a vehicle that stands says nothing more.
constexpr double kUpdateSpacingM = 1.0;

// Points farther from the sensor are left out of scans, and tell nothing of the map.
constexpr double kUpdateRangeM = 40.0;

// At most 8192 points of a scan within kUpdateRangeM, those in sparsely seen places preferred.
[[nodiscard]] PointCloud ThinForUpdate(const PointCloud& scan_base,
                                       const Eigen::Vector3d& sensor_position_base);

// InvalidArgument: too many passes, a scan of none of them, or no tile with points that may change.
[[nodiscard]] absl::Status CheckUpdateRequest(const UpdateRequest& request);

}  // namespace voxloc

#endif  // VOXLOC_CORE_MAP_UPDATE_UPDATE_REQUEST_H_
