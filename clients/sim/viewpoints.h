// SPDX-License-Identifier: Apache-2.0
//
// Viewpoints: from where a mapping vehicle would have seen a surface. Points along all streets, and
// for any place the few of them that matter: on each storey the nearest, well apart from each
// other.
//
// The caster and the world must outlive it. Const after construction; any number of threads may
// ask.

#ifndef VOXLOC_CLIENTS_SIM_VIEWPOINTS_H_
#define VOXLOC_CLIENTS_SIM_VIEWPOINTS_H_

#include <Eigen/Core>
#include <vector>

#include "clients/sim/ray_caster.h"
#include "clients/sim/square_index.h"
#include "clients/sim/world.h"

namespace voxloc::sim {

class Viewpoints {
 public:
  Viewpoints(const World& world, const RayCaster& caster, double max_distance_m);

  // Whether a surface point with the given outward normal faces one of its viewpoints with nothing
  // in between.
  [[nodiscard]] bool See(const Eigen::Vector3d& point, const Eigen::Vector3d& normal) const;

 private:
  // Indices of the eyes of a storey that look at `place`, nearest first.
  [[nodiscard]] std::vector<int> ChooseEyes(const Eigen::Vector2d& place, int storey,
                                            double max_distance_m, const SquareIndex& index) const;

  const RayCaster& caster_;
  double half_size_m_;
  int cells_per_side_;
  std::vector<Eigen::Vector3d> eyes_;
  std::vector<int> storeys_;                    // of the eyes
  std::vector<std::vector<int>> eyes_of_cell_;  // by storey, nearest first
};

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_VIEWPOINTS_H_
