// SPDX-License-Identifier: Apache-2.0
//
// How far the scores of a scan may be off when its points are not quite where they are thought to
// be: because the reference rounds transformed points to float32 map coordinates, or because two
// poses differ. Bounds from the derivatives of every pair of point and cell, in double; no
// code of the engines takes part.

#ifndef VOXLOC_TESTS_GOLDEN_DISPLACEMENT_H_
#define VOXLOC_TESTS_GOLDEN_DISPLACEMENT_H_

#include <Eigen/Core>
#include <functional>
#include <vector>

#include "core/geometry/covariance.h"
#include "core/geometry/pose.h"
#include "tests/golden/golden_fixture.h"
#include "tests/support/reference_ndt.h"

namespace voxloc::golden {

struct ScoreChange {
  double transform_probability = 0.0;
  double nearest_voxel_likelihood = 0.0;
  Matrix6 hessian = Matrix6::Zero();  // entry by entry, absolute
};

// By how far a point is displaced at most, metres.
struct Displacement {
  double common_m = 0.0;  // as its neighbours are
  double random_m = 0.0;  // independently of all others: the sum over points grows with the root
};
// From a point's coordinates in base and map frame.
using DisplacementOf = std::function<Displacement(const Eigen::Vector3d& point_base,
                                                  const Eigen::Vector3d& point_map)>;

// What the reference's arithmetic does to a point: rotated, moved and stored in float32.
Displacement Float32Displacement(const Eigen::Vector3d& point_base,
                                 const Eigen::Vector3d& point_map);

// How far apart two poses put a point, and Float32Displacement.
DisplacementOf BetweenPoses(const Pose& a, const Pose& b);

// Pairs that the displacement may take across the search radius count with their whole
// contribution, and so do pairs that the reference finds otherwise because it searches cells by
// float32 means in map coordinates.
class ChangeBound {
 public:
  // Of the set's scan under its one stage. `loaded` must outlive it.
  explicit ChangeBound(const LoadedSet& loaded);

  [[nodiscard]] ScoreChange At(const Pose& map_T_base, const DisplacementOf& displacement_of) const;

 private:
  struct Cell {
    Eigen::Vector3d mean;
    Eigen::Vector3d index;             // where the engine's search finds it
    Eigen::Vector3d index_in_float32;  // and the reference's
    Eigen::Matrix3d information;
    double largest_information = 0.0;  // eigenvalue
  };
  struct Pair;

  [[nodiscard]] Pair Evaluate(const Cell& cell, const Eigen::Vector3d& point_map) const;

  const LoadedSet& loaded_;
  reference::Constants constants_;
  std::vector<Cell> cells_;
};

}  // namespace voxloc::golden

#endif  // VOXLOC_TESTS_GOLDEN_DISPLACEMENT_H_
