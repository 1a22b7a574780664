// SPDX-License-Identifier: Apache-2.0
//
// From a cloud on the wire to points in the base frame that can be aligned. Work for a worker, not
// for gRPC's threads. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_SCAN_SCAN_PREPARATION_H_
#define VOXLOC_SERVER_SCAN_SCAN_PREPARATION_H_

#include <memory>

#include "absl/status/statusor.h"
#include "core/engine/engine.h"
#include "server/convert/scan_recipe.h"
#include "voxloc/v1/cloud.pb.h"

namespace voxloc::server {

struct PreparedScan {
  std::shared_ptr<const PointCloud> base;  // may be empty
  FilterCounts counts;
};

// Decodes, filters by the engine and moves into the base frame a cloud that CheckScanCloud has
// passed. Errors are those of Engine::Filter.
[[nodiscard]] absl::StatusOr<PreparedScan> PrepareScan(const v1::Cloud& cloud,
                                                       const ScanRecipe& recipe, Engine& engine,
                                                       WorkClass work_class);

// InvalidArgument, with the counts, when nothing is left of a scan.
[[nodiscard]] absl::Status RequirePoints(const FilterCounts& counts);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SCAN_SCAN_PREPARATION_H_
