// SPDX-License-Identifier: Apache-2.0
//
// MapSurfaces: whether the surfaces of a map explain a point, by the Gaussians of its cells.
// Immutable; any number of threads may read.

#ifndef VOXLOC_CORE_MAP_UPDATE_MAP_SURFACES_H_
#define VOXLOC_CORE_MAP_UPDATE_MAP_SURFACES_H_

#include <Eigen/Core>
#include <vector>

#include "absl/status/statusor.h"
#include "core/container/flat_table.h"
#include "core/map/cells.h"

namespace voxloc {

class MapSurfaces {
 public:
  // Of the cells with their means in the box. ResourceExhausted: there are too many.
  [[nodiscard]] static absl::StatusOr<MapSurfaces> Create(const ResidentMap& map,
                                                          size_t statistics_index,
                                                          const Eigen::Vector3d& min_map,
                                                          const Eigen::Vector3d& max_map);

  [[nodiscard]] bool Explain(const Eigen::Vector3d& point_map) const;

 private:
  struct Surface {
    Eigen::Vector3d mean_map;
    Eigen::Matrix3d information;  // with the tolerance, 1/m^2
  };

  double cell_size_m_ = 1.0;
  std::vector<Surface> surfaces_;
  FlatTable<CellKey, uint32_t> first_;  // in surfaces_, of a cell's run
  std::vector<uint32_t> end_;           // of the run that begins there
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_MAP_UPDATE_MAP_SURFACES_H_
