// SPDX-License-Identifier: Apache-2.0
//
// Which points of a scan the stages of a schedule search with. A stage with a point voxel takes one
// point of each voxel, so that a surface counts by its area and not by how densely it was sampled:
// the ground near a sensor holds most of the points of a raw scan, and large cells would follow it.
//
// Voxels of different stages nest, so the points are put in an order in which those of every stage
// come first. A plain function of its arguments; not thread-safe for one object.

#ifndef VOXLOC_CORE_ENGINE_STAGE_POINTS_H_
#define VOXLOC_CORE_ENGINE_STAGE_POINTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/cloud/point_cloud.h"
#include "core/engine/profile.h"
#include "core/ndt/search_rules.h"

namespace voxloc {

// Whether a stage searches with fewer points than the scan has.
[[nodiscard]] bool HasThinnedStage(const Profile& profile);

class StagePoints {
 public:
  // The scan's finite points for the stages of a valid profile. Memory is kept for the next scan.
  void Select(const PointCloud& scan_base, const Profile& profile);

  // Places in the scan of its finite points.
  [[nodiscard]] const std::vector<uint32_t>& order() const { return order_; }
  // Their root mean square distance from the base, metres; 0 without any.
  [[nodiscard]] double root_mean_square_range() const { return root_mean_square_range_; }
  // How many of them, from the first, each stage searches with.
  [[nodiscard]] const std::array<uint32_t, ndt::kMaxStages>& counts() const { return counts_; }

 private:
  // Fills keys_ and places_ with the points that may stand for a voxel: the packed indices of their
  // smallest voxels, and their places in the scan.
  void CollectVoxelKeys(const PointCloud& scan_base, double inverse_edge);
  // Stores this level for the points that are the first of a voxel `by` times as large.
  void MarkFirsts(int32_t by, uint8_t level);

  std::vector<uint32_t> order_;
  std::array<uint32_t, ndt::kMaxStages> counts_{};
  double root_mean_square_range_ = 0.0;
  std::vector<uint8_t> first_level_;  // of each point: the largest voxels that it stands for
  std::vector<uint64_t> keys_;
  std::vector<uint32_t> places_;
  std::vector<uint64_t> slots_;  // a hash table of keys; 0: none
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_ENGINE_STAGE_POINTS_H_
