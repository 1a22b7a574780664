// SPDX-License-Identifier: Apache-2.0
//
// FitCells: the cells of a map around a place, by where they lie, prepared for the comparison with
// one scan. Positions are offsets from that place, in float, so that a map far from its zero loses
// nothing. Immutable and thread-safe.

#ifndef VOXLOC_CORE_ESTIMATE_MAP_FIT_FIT_CELLS_H_
#define VOXLOC_CORE_ESTIMATE_MAP_FIT_FIT_CELLS_H_

#include <Eigen/Core>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/map/cells.h"

namespace voxloc {

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

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_MAP_FIT_FIT_CELLS_H_
