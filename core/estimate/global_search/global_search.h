// SPDX-License-Identifier: Apache-2.0
//
// GlobalSearch: a vehicle's pose without a prior, anywhere in a region or in the whole map.

#ifndef VOXLOC_CORE_ESTIMATE_GLOBAL_SEARCH_GLOBAL_SEARCH_H_
#define VOXLOC_CORE_ESTIMATE_GLOBAL_SEARCH_GLOBAL_SEARCH_H_

#include <Eigen/Core>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/engine/engine.h"
#include "core/estimate/initial_pose/pose_search.h"

namespace voxloc {

class GridCache;

struct PoseRegion {
  // The base's position, map frame, metres. nullopt: anywhere in the map.
  struct Box {
    Eigen::Vector3d min;
    Eigen::Vector3d max;
  };
  std::optional<Box> box;
  double yaw_rad = 0.0;                          // middle of the headings, about the map's z
  double yaw_half_range_rad = 3.14159265358979;  // (0, pi]
  double max_tilt_rad = 0.0873;                  // largest roll and pitch, [0, 0.5]
};

// InvalidArgument names the field, its value and what is allowed.
[[nodiscard]] absl::Status ValidatePoseRegion(const PoseRegion& region);

// Caches the grids of the maps that it searched, up to a limit, with LRU eviction. Thread-safe. The
// engine must outlive it.
class GlobalSearch {
 public:
  GlobalSearch(Engine& engine, size_t cache_bytes);
  ~GlobalSearch();
  GlobalSearch(const GlobalSearch&) = delete;
  GlobalSearch& operator=(const GlobalSearch&) = delete;

  // InvalidArgument: a region that does not touch the map, or one too large to search. Cancelled.
  // What the engine says of the job.
  [[nodiscard]] absl::StatusOr<PoseSearchResult> Search(const PoseSearchJob& job,
                                                        const PoseRegion& region,
                                                        const PoseSearchObserver& observer);

 private:
  Engine& engine_;
  const std::unique_ptr<GridCache> cache_;
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_GLOBAL_SEARCH_GLOBAL_SEARCH_H_
