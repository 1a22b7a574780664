// SPDX-License-Identifier: Apache-2.0
//
// NewPoints: the points of a new surface, from those that many scans have of it. The noise of a
// single scan is averaged: each point is moved onto the plane of all points around it, where they
// lie in a plane. Not thread-safe. Memory may run out: std::bad_alloc.

#ifndef VOXLOC_CORE_MAP_UPDATE_NEW_POINTS_H_
#define VOXLOC_CORE_MAP_UPDATE_NEW_POINTS_H_

#include <Eigen/Core>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/cloud/point_cloud.h"
#include "core/container/flat_table.h"
#include "core/map/lattice.h"

namespace voxloc {

class NewPoints {
 public:
  // Of these cubes of edge `cube_m`.
  NewPoints(double cube_m, absl::Span<const CellKey> cubes);

  // Those in the cubes.
  void Add(absl::Span<const Eigen::Vector3d> points_map);

  // A point every `spacing_m`, about, in the cubes whose number in the list `chosen` has.
  [[nodiscard]] std::vector<Eigen::Vector3d> Thin(absl::Span<const size_t> chosen,
                                                  double spacing_m) const;

 private:
  static constexpr size_t kKept = 8;
  struct Cube {
    CellKey key;
    size_t count = 0;
    Eigen::Vector3f sum = Eigen::Vector3f::Zero();  // from the cube's centre
    Eigen::Matrix3f products = Eigen::Matrix3f::Zero();
    std::array<Eigen::Vector3f, kKept> kept;  // an even choice, from the centre
  };

  [[nodiscard]] Eigen::Vector3d OntoPlane(const CellKey& key, const Eigen::Vector3d& point) const;

  double cube_m_;
  std::vector<Cube> cubes_;
  FlatTable<CellKey, uint32_t> places_;
};

// About the distance between neighbouring points of a map on its surfaces, m: from the median of
// the numbers of points in its cubes of 0.5 m. At least 0.02 m, which is that of no points.
[[nodiscard]] double SpacingOf(const PointCloud& cloud_map);

}  // namespace voxloc

#endif  // VOXLOC_CORE_MAP_UPDATE_NEW_POINTS_H_
