// SPDX-License-Identifier: Apache-2.0
//
// CubeVotes: what each pass of a vehicle saw of small cubes of space: points in them, free space,
// or a new surface in front of them. A cube has a bit for each pass, so that a pass counts once,
// however many scans it has, and can be left out later.
//
// The order of calls: AddMap, AddHits for all scans, Settle, AddRays for all scans, then the cubes
// are read. Scans of different passes may come in any order. Only cubes with points of the map or
// of a scan are kept, about 100 bytes each. Not thread-safe. Memory may run out: std::bad_alloc.

#ifndef VOXLOC_CORE_MAP_UPDATE_CUBE_VOTES_H_
#define VOXLOC_CORE_MAP_UPDATE_CUBE_VOTES_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "core/cloud/point_cloud.h"
#include "core/container/flat_table.h"
#include "core/map/lattice.h"

namespace voxloc {

constexpr size_t kMaxVotingPasses = 64;
using PassMask = uint64_t;  // bit p: pass p

struct VotedCube {
  CellKey key;
  uint32_t map_points = 0;                            // of the map
  uint32_t hits = 0;                                  // points of scans
  Eigen::Vector3f hit_sum = Eigen::Vector3f::Zero();  // of them, from the cube's corner, m
  PassMask hit = 0;
  PassMask hit_near = 0;      // in the cube or one of the 26 around it; from Settle on
  PassMask seen = 0;          // with points within a metre or two; from Settle on
  PassMask crossed_once = 0;  // by at least one ray
  PassMask through = 0;       // by at least two rays: a single one may be a wrong return
  PassMask behind = 0;        // up to kBehindM behind a surface that the map does not have
  bool novel = false;         // has points of scans that the map does not explain; from Settle on
  // Points of the map were found to be gone earlier: they explain nothing near them.
  bool gone = false;
};

class CubeVotes {
 public:
  // A ray says nothing about the last part of its way: errors of range and pose.
  static constexpr double kStopBeforeEndM = 0.2;
  // A wall that moved towards the street hides its old place.
  static constexpr double kBehindM = 1.0;
  // The least part of a ray in a cube, in edges, with which the ray crosses the cube: less clips a
  // corner.
  static constexpr double kMinChord = 0.6;

  // Cubes whose centre lies in the box from `min_map` to `max_map`; others are left out.
  CubeVotes(double cube_m, const Eigen::Vector3d& min_map, const Eigen::Vector3d& max_map)
      : cube_m_(cube_m), min_map_(min_map), max_map_(max_map) {}

  void AddMap(const PointCloud& cloud_map);
  // Cubes that an earlier round found to be gone; after AddMap.
  void SetGone(absl::Span<const CellKey> cubes);
  void AddHits(size_t pass, absl::Span<const Eigen::Vector3d> points_map);
  // `explained`: whether a surface of the map explains a point (map frame), though the map has none
  // nearby. It is asked for the mean of each cube's points once.
  void Settle(absl::FunctionRef<bool(const Eigen::Vector3d&)> explained);
  // Rays are followed up to `range_m`.
  void AddRays(size_t pass, const Eigen::Vector3d& sensor_map,
               absl::Span<const Eigen::Vector3d> points_map, double range_m);
  // Removes the votes of these passes.
  void Drop(PassMask passes);

  [[nodiscard]] const std::vector<VotedCube>& cubes() const { return cubes_; }
  [[nodiscard]] const VotedCube* Find(const CellKey& key) const;
  [[nodiscard]] double cube_m() const { return cube_m_; }
  [[nodiscard]] Eigen::Vector3d MeanHit(const VotedCube& cube) const {
    return CellCorner(cube.key, cube_m_) +
           (cube.hit_sum / static_cast<float>(cube.hits)).cast<double>();
  }
  [[nodiscard]] size_t MemoryBytes() const;

 private:
  [[nodiscard]] bool IsInside(const CellKey& key) const;
  VotedCube& CubeAt(const CellKey& key);

  double cube_m_;
  Eigen::Vector3d min_map_;
  Eigen::Vector3d max_map_;
  std::vector<VotedCube> cubes_;
  FlatTable<CellKey, uint32_t> places_;  // in cubes_
  FlatTable<CellKey, uint8_t> blocks_;   // of 8 x 8 x 8 cubes, with a cube; from Settle on
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_MAP_UPDATE_CUBE_VOTES_H_
