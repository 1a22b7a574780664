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
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/cloud/point_cloud.h"
#include "core/estimate/map_fit/tile_fit.h"
#include "core/geometry/pose.h"
#include "core/map/cells.h"
#include "core/map/resident_map.h"

namespace voxloc {

// FitCells: the cells of a map around a place, by where they lie, prepared for the comparison with
// one scan. Positions are offsets from that place, in float, so that a map far from its zero loses
// nothing. Immutable and thread-safe.
struct FitCell {
  Eigen::Vector3f mean;         // m, from the place
  Eigen::Matrix3f information;  // of its points as a scan with an uncertain pose sees them, 1/m^2
  // Of the plane that its points lie in.
  Eigen::Vector3f normal;
  float normal_sigma_m = 0.0F;  // of the points, across it
  bool solid = false;           // whether they lie in a plane, and fill enough of it
};

class FitCells {
 public:
  // `cells` are of a lattice of this size, each run of one key together. `tolerance_sigma_m`: of
  // the scan's points, for the errors of its pose. ResourceExhausted: they span too many places.
  [[nodiscard]] static absl::StatusOr<FitCells> Make(const std::vector<MapCell>& cells,
                                                     double cell_size_m,
                                                     const Eigen::Vector3d& centre_map,
                                                     double tolerance_sigma_m);

  [[nodiscard]] const std::vector<FitCell>& cells() const { return cells_; }
  [[nodiscard]] const Eigen::Vector3d& centre_map() const { return centre_map_; }
  [[nodiscard]] float cell_size_m() const { return cell_size_m_; }

  // In cells of the lattice, from the corner of the least place.
  [[nodiscard]] Eigen::Vector3f PlaceOf(const Eigen::Vector3f& offset) const {
    return offset * cells_per_m_ + shift_;
  }
  // Numbers of the cells of a place, from first to before second; none outside.
  [[nodiscard]] std::pair<uint32_t, uint32_t> At(const Eigen::Vector3i& place) const {
    if ((place.array() < 0).any() || (place.array() >= size_.array()).any()) return {0, 0};
    const size_t i = (static_cast<size_t>(place.z()) * static_cast<size_t>(size_.y()) +
                      static_cast<size_t>(place.y())) *
                         static_cast<size_t>(size_.x()) +
                     static_cast<size_t>(place.x());
    const uint32_t first = first_[i];
    if (first == kNone) return {0, 0};
    return {first, end_[first]};
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  FitCells() = default;

  Eigen::Vector3d centre_map_ = Eigen::Vector3d::Zero();
  float cell_size_m_ = 1.0F;
  float cells_per_m_ = 1.0F;
  Eigen::Vector3f shift_ = Eigen::Vector3f::Zero();  // of the centre, in cells
  Eigen::Vector3i size_ = Eigen::Vector3i::Zero();   // in cells
  std::vector<FitCell> cells_;
  std::vector<uint32_t> first_;  // of each place, x fastest
  std::vector<uint32_t> end_;    // of the run that begins with a cell
};

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

// Sums the observations per tile. Tiles are given by the bounds of their points, map frame. An
// observation within the bounds of several tiles counts for each; one in none counts for the
// nearest tile within `margin_m`. Tiles without an observation have scans == 0.
[[nodiscard]] std::vector<TileFit> SumByTile(absl::Span<const FitObservation> observations,
                                             absl::Span<const Bounds> tiles, double margin_m);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_MAP_FIT_SCAN_FIT_H_
