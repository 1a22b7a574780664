// SPDX-License-Identifier: Apache-2.0
//
// The points of a scan that a global search counts hits of: few, spread evenly, most of them above
// the ground, since ground is everywhere. Pure functions: the same scan gives the same points.

#ifndef VOXLOC_CORE_ESTIMATE_GLOBAL_SEARCH_SEARCH_POINTS_H_
#define VOXLOC_CORE_ESTIMATE_GLOBAL_SEARCH_SEARCH_POINTS_H_

#include <Eigen/Core>
#include <cstddef>
#include <memory>
#include <vector>

#include "core/cloud/point_cloud.h"
#include "core/engine/bound.h"

namespace voxloc {

struct SearchPointOptions {
  size_t points = 240;  // at most; 1 to kMaxBoundPoints
  double reach_m = 50.0;
  double voxel_m = 1.0;
  double ground_share = 0.2;  // of the points
};

// In the order in which they are best counted: every prefix is spread. Empty where no finite point
// is within reach.
[[nodiscard]] std::vector<Eigen::Vector3d> ChooseSearchPoints(const PointCloud& scan,
                                                              const SearchPointOptions& options);

// Headings of a search: evenly over [first - half a step, ...], radians about the map's z.
struct Headings {
  double first_rad = 0.0;
  double step_rad = 0.0;
  size_t count = 1;
  bool full_turn = false;  // the last one's neighbour is the first

  [[nodiscard]] double At(size_t i) const { return first_rad + step_rad * static_cast<double>(i); }
};

// The step is such that the farthest point moves by at most one voxel from one heading to the next.
[[nodiscard]] Headings SpreadHeadings(const std::vector<Eigen::Vector3d>& points, double voxel_m,
                                      double middle_rad, double half_range_rad);

// The points at every heading, as voxels from the sensor's. A tilt of up to max_tilt_rad moves them
// up or down by distance * tilt, which determines each point's blur class: the smallest of the
// grid's tolerances that covers it, or else the largest.
[[nodiscard]] std::shared_ptr<const BoundScan> RotatePoints(
    const std::vector<Eigen::Vector3d>& points, const Headings& headings, double voxel_m,
    double max_tilt_rad, const std::vector<int>& tolerances);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_GLOBAL_SEARCH_SEARCH_POINTS_H_
