// SPDX-License-Identifier: Apache-2.0
//
// The brute-force evaluation of tests/support/reference_ndt.h on maps of any size: points are taken
// neighbourhood by neighbourhood, each with the cells it can reach, and the sums are added.

#ifndef VOXLOC_TESTS_CUDA_ENGINE_NEAR_REFERENCE_H_
#define VOXLOC_TESTS_CUDA_ENGINE_NEAR_REFERENCE_H_

#include <map>
#include <vector>

#include "tests/support/reference_ndt.h"

namespace voxloc::reference {

class NearReference {
 public:
  // The cells are copied, and are those of stages with this cell size.
  NearReference(const std::vector<MapCell>& cells, double cell_size_m);

  // As reference::Evaluate with all the cells.
  [[nodiscard]] Evaluation Evaluate(const PointCloud& scan, const ChartVector& chart,
                                    const Stage& stage) const;

 private:
  [[nodiscard]] CellKey NeighborhoodOf(const Eigen::Vector3d& point) const;
  [[nodiscard]] std::vector<MapCell> CellsAround(const CellKey& neighborhood) const;

  double edge_m_;
  std::map<CellKey, std::vector<MapCell>> cells_;  // by neighbourhood
};

}  // namespace voxloc::reference

#endif  // VOXLOC_TESTS_CUDA_ENGINE_NEAR_REFERENCE_H_
