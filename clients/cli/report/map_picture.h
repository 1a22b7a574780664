// SPDX-License-Identifier: Apache-2.0
//
// The surroundings of a drive from above, gathered from scans placed at their estimated poses.
//
// A grid in x and y that remembers how many points fell into each cell and between which heights.
// It grows coarser as it fills, so its memory is bounded for any drive. For one thread.

#ifndef VOXLOC_CLIENTS_CLI_REPORT_MAP_PICTURE_H_
#define VOXLOC_CLIENTS_CLI_REPORT_MAP_PICTURE_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "core/cloud/point_cloud.h"
#include "core/geometry/pose.h"

namespace voxloc::cli {

class MapPicture {
 public:
  // Points that are not finite, or farther than 10 km from the first pose, are left out.
  void Add(const Pose& map_T_base, const PointCloud& cloud_base);

  // The picture as it is embedded: 6 bytes a cell (x and y index from the lowest ones, uint16
  // little endian; 255 for the fullest cell, logarithmic; height from the lowest to the highest
  // point, 1/32 m a unit), in base64.
  struct Encoded {
    double cell_m = 0.0;
    Eigen::Vector2d low = Eigen::Vector2d::Zero();  // corner of cell (0, 0), map frame
    size_t cells = 0;
    std::string base64;
  };
  [[nodiscard]] Encoded Encode(size_t max_cells = 120000) const;

  [[nodiscard]] size_t cells() const { return cells_.size(); }

 private:
  struct Index {
    int32_t x = 0;
    int32_t y = 0;
    friend bool operator==(const Index& a, const Index& b) { return a.x == b.x && a.y == b.y; }
    template <typename H>
    friend H AbslHashValue(H hash, const Index& index) {
      return H::combine(std::move(hash), index.x, index.y);
    }
  };
  struct Cell {
    uint32_t points = 0;
    float lowest = 0.0f;
    float highest = 0.0f;
  };
  using Cells = absl::flat_hash_map<Index, Cell>;

  static void Merge(const Cell& more, Cell* cell);
  static Cells Coarser(const Cells& cells);

  std::optional<Eigen::Vector3d> origin_;  // the first pose, in whole metres
  double cell_m_ = 0.25;
  Cells cells_;
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_REPORT_MAP_PICTURE_H_
