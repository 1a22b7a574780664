// SPDX-License-Identifier: Apache-2.0
//
// From the clouds of a scan on the wire to points in the base frame that can be aligned. Work for a
// worker, not for gRPC's threads. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_LOCALIZATION_SCAN_PREPARATION_H_
#define VOXLOC_SERVER_LOCALIZATION_SCAN_PREPARATION_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/cloud/motion.h"
#include "core/engine/engine.h"
#include "core/estimate/quality/scan_shape.h"
#include "core/geometry/twist.h"
#include "server/convert/options.h"
#include "voxloc/v1/scan.pb.h"

namespace voxloc::server {

struct PreparedScan {
  std::shared_ptr<const PointCloud> base;  // may be empty
  FilterCounts counts;
  bool deskewed = false;  // whether points were moved to the scan's stamp
  // For each point of this scan (not of joined ones), seconds from its stamp. Empty: not deskewed.
  std::vector<float> time_s;
  ScanRays rays;             // of the first cloud's sensor
  size_t joined_scans = 0;   // this one included; 0: it is not to be joined
  size_t joined_points = 0;  // of the earlier ones
};

// Decodes the clouds of a scan that CheckScanClouds has passed, moves their points to the scan's
// stamp where they have times and `base_twist` is known, filters them by the engine and joins them
// in the base frame. Errors are those of Engine::Filter.
[[nodiscard]] absl::StatusOr<PreparedScan> PrepareScan(const v1::Scan& scan,
                                                       const ScanRecipe& recipe,
                                                       const std::optional<Twist>& base_twist,
                                                       Engine& engine, WorkClass work_class);

// Joins the scan, which has points, with earlier ones: afterwards `base` is the joint cloud,
// thinned as the recipe says, and the rays are still those of the scan alone.
void JoinScans(absl::Span<const PlacedCloud> earlier, const ScanRecipe& recipe,
               PreparedScan& prepared);

// InvalidArgument, with the counts, when nothing is left of a scan.
[[nodiscard]] absl::Status RequirePoints(const FilterCounts& counts);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_LOCALIZATION_SCAN_PREPARATION_H_
