// SPDX-License-Identifier: Apache-2.0
//
// Compares one scan with the map around its sensor: which points the map's cells explain, and which
// solid cells its rays passed through. A ray is evidence that a cell is gone if it crosses the
// plane of the cell's points within their extent, at a steep angle, and ends clearly behind it.
// Rays that graze a wall or the ground, or clip a cell's corner, are ignored. Pure functions.

#ifndef VOXLOC_CORE_ESTIMATE_MAP_FIT_SCAN_FIT_H_
#define VOXLOC_CORE_ESTIMATE_MAP_FIT_SCAN_FIT_H_

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/cloud/point_cloud.h"
#include "core/geometry/pose.h"
#include "core/map/cells.h"

namespace voxloc {

enum class FitKind : uint8_t {
  kExplained,    // a point that a cell explains
  kUnexplained,  // a point that none explains
  kConfirmed,    // a solid cell that points ended in
  kSeenThrough,  // a solid cell that rays passed through, and none ended in
};

struct FitObservation {
  Eigen::Vector3d place_map = Eigen::Vector3d::Zero();  // of the point, or the cell's mean, m
  FitKind kind = FitKind::kExplained;
  bool raised = false;      // higher above the ground than cars are
  float distance_m = 0.0F;  // of an explained point from the surface of its cell
};

struct ScanFitRequest {
  const ResidentMap* map = nullptr;
  size_t statistics_index = 0;  // of its cells: the finest that the scan was aligned with
  const PointCloud* points_base = nullptr;  // seen from the sensor
  Eigen::Vector3d sensor_position_base = Eigen::Vector3d::Zero();
  Pose map_T_base;  // right, to what SystematicError says
};

// Within 20 m of the sensor, and 64 cells. ResourceExhausted: there are too many cells. The same
// request gives the same observations.
[[nodiscard]] absl::StatusOr<std::vector<FitObservation>> ObserveFit(const ScanFitRequest& request);

// Counts. Of points: all, and those that no cell explains. Of solid cells: confirmed or seen
// through, and seen through.
struct FitCounts {
  double all = 0.0;
  double mismatched = 0.0;
  [[nodiscard]] double ratio() const { return all > 0.0 ? mismatched / all : 0.0; }
};

// TileFit: how well scans matched a tile of a map, summed over scans with exponential decay. A
// plain value.
struct TileFit {
  double scans = 0.0;
  FitCounts points;
  FitCounts raised_points;  // of them, higher above the ground than cars are
  FitCounts solid;
  FitCounts raised_solid;
  double squared_distances_m2 = 0.0;  // of explained points from their cells' surfaces

  // m; 0 where no point is explained.
  [[nodiscard]] double residual_m() const;
  // How much seems to have changed, in [0, 1): what tiles are ranked by.
  [[nodiscard]] double change() const;

  void Scale(double factor);
  void Add(const TileFit& more);
};

// Decay factors of a sum: per added scan, and over time.
[[nodiscard]] double DecayPerScan();
[[nodiscard]] double DecayAfter(double time_s);

// Sums the observations per tile. Tiles are given by the bounds of their points, map frame. An
// observation within the bounds of several tiles counts for each; one in none counts for the
// nearest tile within `margin_m`. Tiles without an observation have scans == 0.
[[nodiscard]] std::vector<TileFit> SumByTile(absl::Span<const FitObservation> observations,
                                             absl::Span<const Bounds> tiles, double margin_m);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_MAP_FIT_SCAN_FIT_H_
