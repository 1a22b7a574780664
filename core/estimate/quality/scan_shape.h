// SPDX-License-Identifier: Apache-2.0
//
// What a scan shows on its own, wherever it was taken: which of its points stand clear of the
// ground, and the space that its rays saw to be free. Pure functions; the same scan gives the same
// shape.

#ifndef VOXLOC_CORE_ESTIMATE_QUALITY_SCAN_SHAPE_H_
#define VOXLOC_CORE_ESTIMATE_QUALITY_SCAN_SHAPE_H_

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/cloud/point_cloud.h"
#include "core/engine/engine.h"

namespace voxloc {

constexpr size_t kMaxFreeSpaceRays = 64;

// The space that a scan saw to be free: points along its rays. At a right pose the map has nothing
// there; at a wrong one rays pass through walls.
struct FreeSpace {
  std::shared_ptr<const PointCloud> points_base;
  std::vector<uint32_t> ray;  // of each point, counted from 0
  size_t rays = 0;            // with at least one point
};

// Points along rays from the sensor to an even choice of the scan's points, none near a point of
// the scan. The same scan gives the same points.
[[nodiscard]] FreeSpace SampleFreeSpace(const PointCloud& scan_base,
                                        const Eigen::Vector3d& sensor_position_base);

struct ScanShape {
  // Of each point of the scan, 1: it stands clear of the lowest points near it.
  std::vector<uint8_t> raised;
  FreeSpace free_space;
};

// The rays of a sensor: from where they left, and to which points. Not all points of a scan that is
// made of several were seen from there.
struct ScanRays {
  Eigen::Vector3d sensor_position_base = Eigen::Vector3d::Zero();
  std::shared_ptr<const PointCloud> points_base;  // null: those of the scan
};

// `map_R_base`: the scan's orientation to a few degrees, as a guess has it; only its tilt counts.
[[nodiscard]] ScanShape ShapeOf(const PointCloud& scan_base, const ScanRays& rays,
                                const Eigen::Quaterniond& map_R_base);

// GroundGrid: heights above the ground, which is taken to be the lowest of some points nearby: of
// the same column of 4 m x 4 m and of the eight around it. Immutable and thread-safe.
class GroundGrid {
 public:
  // Points are (x, y, height), level, m; those that are not finite count for nothing.
  explicit GroundGrid(const std::vector<Eigen::Vector3f>& points);

  // Of one of these points, m; at least 0.
  [[nodiscard]] float HeightOf(const Eigen::Vector3f& point) const {
    return point.z() - lowest_nearby_[ColumnOf(point)];
  }

 private:
  void ComputeLowestNearby(const std::vector<float>& lowest);
  [[nodiscard]] size_t ColumnOf(const Eigen::Vector3f& point) const;

  float columns_per_m_ = 0.0F;
  Eigen::Vector2f low_;
  size_t width_ = 0;
  std::vector<float> lowest_nearby_;
};

// Scores over the points that stand clear of the ground, as Autoware's ndt_scan_matcher has them.
struct NoGroundScores {
  PoseScore score;                                // over those points only
  std::shared_ptr<const PointCloud> points_base;  // those points; may be empty
};

// The points of the scan that lie more than `z_margin_m` above the position of `map_T_base`, in the
// map frame, scored there under the profile's score stage. Without such a point all scores are 0.
[[nodiscard]] absl::StatusOr<NoGroundScores> ScoreWithoutGround(Engine& engine, const AlignJob& job,
                                                                const Pose& map_T_base,
                                                                double z_margin_m);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_QUALITY_SCAN_SHAPE_H_
