// SPDX-License-Identifier: Apache-2.0
//
// The points of a map's tiles, thinned evenly to a number of points and packed into few bytes.
//
// A tile lies in a cube with an edge of 2^exponent metres, in which each coordinate has 16 bits. Of
// that cube level k is the octree's cells with an edge of 2^(exponent - k) metres: it has one point
// of each cell that holds points and has none of an earlier level. The levels up to k together are
// so the points thinned to one a cell, and what is drawn of a tile from afar is a prefix of them.
// Cells of one size are kept, or left out, in all tiles alike; of the finest size that is kept, as
// many as the limit allows, evenly spread.

#ifndef VOXLOC_CLIENTS_CLI_REPORT_THINNED_POINTS_H_
#define VOXLOC_CLIENTS_CLI_REPORT_THINNED_POINTS_H_

#include <Eigen/Core>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "core/cloud/point_cloud.h"

namespace voxloc::cli {

// For one thread. Its memory is bounded by the limit and the largest tile.
class ThinnedPoints {
 public:
  // `max_points`: of all tiles together, at least 1.
  explicit ThinnedPoints(size_t max_points) : max_points_(max_points) {}

  // The tile after those before it. Points that are not finite are left out, and all but one of
  // those that have the same 16 bits on each axis.
  void AddTile(const PointCloud& cloud_map);

  struct PackedTile {
    Eigen::Vector3d origin_map = Eigen::Vector3d::Zero();  // lowest corner of its cube
    int exponent = 0;
    std::vector<size_t> level_points;  // of level 0, 1, ...
    // Three uint16 a point, little endian, level after level: it lies at origin_map + (value + 0.5)
    // * 2^(exponent - 16) metres, at most half such a step from where it was on each axis.
    std::string bytes;

    [[nodiscard]] size_t points() const { return bytes.size() / 6; }
  };
  // The tiles in the order in which they were added.
  [[nodiscard]] std::vector<PackedTile> Pack() const;

 private:
  // 16 bits of a coordinate, and the cube itself.
  static constexpr size_t kLevels = 17;
  struct Tile {
    Eigen::Vector3d origin_map = Eigen::Vector3d::Zero();
    int exponent = 0;
    // The interleaved bits of each point: its Morton code.
    std::array<std::vector<uint64_t>, kLevels> levels;
  };

  // Leaves out cells of sizes of which not one fits the limit.
  void DropFinestCells();

  const size_t max_points_;
  std::vector<Tile> tiles_;
  std::map<int, size_t> counts_;  // of points by the exponents of their levels' cells
  size_t points_ = 0;
  int finest_exponent_ = std::numeric_limits<int>::min();  // of the cells that are still kept
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_REPORT_THINNED_POINTS_H_
