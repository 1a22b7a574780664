// SPDX-License-Identifier: Apache-2.0
//
// A tile and a map in an engine's memory, in the engine's own layout: opaque to all others,
// immutable, and safe to read from any thread; the last owner frees them.

#ifndef VOXLOC_CORE_MAP_RESIDENT_MAP_H_
#define VOXLOC_CORE_MAP_RESIDENT_MAP_H_

#include <Eigen/Core>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/map/cells.h"

namespace voxloc {

class ResidentTile {
 public:
  virtual ~ResidentTile() = default;

  [[nodiscard]] virtual size_t points() const = 0;
  [[nodiscard]] virtual size_t not_finite() const = 0;
  // Occupied cells on the finest lattice.
  [[nodiscard]] virtual size_t cells() const = 0;
  [[nodiscard]] virtual size_t MemoryBytes() const = 0;
};

class ResidentMap {
 public:
  virtual ~ResidentMap() = default;

  // The statistics it was composed with, and the number of Gaussians of each.
  [[nodiscard]] virtual const std::vector<CellStatistics>& statistics() const = 0;
  [[nodiscard]] virtual size_t cells(size_t statistics_index) const = 0;
  [[nodiscard]] virtual size_t MemoryBytes() const = 0;

  // The Gaussians whose mean lies in the box, ascending by block and place. ResourceExhausted when
  // there are more than `max_cells`, or no memory for them.
  [[nodiscard]] virtual absl::StatusOr<std::vector<MapCell>> CellsInBox(size_t statistics_index,
                                                                        const Eigen::Vector3d& min,
                                                                        const Eigen::Vector3d& max,
                                                                        size_t max_cells) const = 0;
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_MAP_RESIDENT_MAP_H_
