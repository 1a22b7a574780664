// SPDX-License-Identifier: Apache-2.0
//
// The square tiles that a map is cut into, so that it can be loaded and replaced piece by piece,
// and points of any number cut into them through a temporary file, so that memory holds a part of
// them only.

#ifndef VOXLOC_CLIENTS_DATASET_TILE_SPILL_H_
#define VOXLOC_CLIENTS_DATASET_TILE_SPILL_H_

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/dataset/cloud_sources.h"
#include "core/cloud/point_cloud.h"

namespace voxloc {

// Column and row of a tile: it spans [index * size, (index + 1) * size).
using TileIndex = std::pair<int64_t, int64_t>;

struct TileCloud {
  // The lowest corner in metres, such as "x-20_y40".
  std::string id;
  // Its origin is the corner, at the height of the whole cloud's origin.
  PointCloud cloud;
  XyBounds bounds;
};

// The xy grid of square tiles anchored at the map's zero. A point belongs to the tile with
// min <= point < max.
class TileGrid {
 public:
  // InvalidArgument when the size is not from 1 m to 1e6 m.
  [[nodiscard]] static absl::StatusOr<TileGrid> Create(double tile_size_m);

  // False: the point is further than 1e9 m from zero in x or y.
  [[nodiscard]] bool IndexOf(const Eigen::Vector3d& point, TileIndex* index) const;

  // The tile's lowest corner, at the given height.
  [[nodiscard]] Eigen::Vector3d OriginOf(const TileIndex& index, double origin_z_m) const {
    return {static_cast<double>(index.first) * tile_size_m_,
            static_cast<double>(index.second) * tile_size_m_, origin_z_m};
  }

  // Without points, around that origin.
  [[nodiscard]] TileCloud EmptyTile(const TileIndex& index, double origin_z_m) const;

 private:
  explicit TileGrid(double tile_size_m) : tile_size_m_(tile_size_m) {}

  double tile_size_m_;
};

// The error for a point for which TileGrid::IndexOf returned false.
[[nodiscard]] absl::Status TileRangeError(uint64_t point_number, const Eigen::Vector3d& point);

// Sorts points into tiles by a temporary file. Points are added in pieces, of one cloud or of many,
// and buffered. When `buffer_bytes` are full, the points are sorted by tile and appended to the
// file, and each tile records the offset of its run (16 bytes per run). Load reads the runs of a
// tile. The file is unlinked right after it is created, so that it never outlives the process.
//
// Memory: at most 2 * buffer_bytes (what is gathered and what is written), the runs, and 100 bytes
// a tile. Disk: 12 bytes a point.
class TileSpill {
 public:
  struct Options {
    double tile_size_m = 0.0;  // as TileGrid takes it
    std::string directory;     // of the file; empty: the system's for temporary files
    size_t buffer_bytes = size_t{32} << 20;
  };

  // InvalidArgument: the tile size. Other errors name the directory and the system's reason.
  [[nodiscard]] static absl::StatusOr<TileSpill> Create(const Options& options);

  // Points in the map's frame. Those that are not finite belong to no tile; intensities are left
  // out. The height of all tiles' origins is that of the first piece's. InvalidArgument: a point is
  // too far from zero; ResourceExhausted: the disk is full.
  [[nodiscard]] absl::Status Add(const PointCloud& piece);

  // After the last piece; once.
  [[nodiscard]] absl::Status Finish();

  // What follows is for after Finish; any number of threads may call it.

  // The tiles that have points, ordered by x, then y.
  [[nodiscard]] const std::vector<TileIndex>& tiles() const { return order_; }
  [[nodiscard]] uint64_t points() const { return points_; }  // finite ones
  [[nodiscard]] uint64_t points_not_finite() const { return points_not_finite_; }

  // Of the tile, without its points.
  [[nodiscard]] TileCloud Describe(const TileIndex& index) const {
    return grid_.EmptyTile(index, origin_z_m_.value_or(0.0));
  }
  // The tile with its points in the order in which they came, and around the tile's origin, to
  // which their offsets are rounded once.
  [[nodiscard]] absl::StatusOr<TileCloud> Load(const TileIndex& index) const;

 private:
  // Of the file; closes it.
  struct Descriptor {
    explicit Descriptor(int an_id) : id(an_id) {}
    Descriptor(Descriptor&& other) noexcept : id(std::exchange(other.id, -1)) {}
    ~Descriptor();

    int id;
  };
  struct Run {
    uint64_t offset = 0;  // in the file, bytes
    uint64_t points = 0;
  };
  // A point that is not in the file yet, around its tile's origin.
  struct BufferedPoint {
    uint32_t tile = 0;  // its position in runs_
    std::array<float, 3> offset = {};
  };

  TileSpill(TileGrid grid, std::string directory, Descriptor descriptor, size_t buffer_bytes)
      : grid_(grid),
        directory_(std::move(directory)),
        descriptor_(std::move(descriptor)),
        max_buffered_(std::max<size_t>(1, buffer_bytes / sizeof(BufferedPoint))) {}

  [[nodiscard]] absl::Status FlushBuffer();

  TileGrid grid_;
  std::string directory_;
  Descriptor descriptor_;
  size_t max_buffered_;                      // points
  std::map<TileIndex, uint32_t> positions_;  // of the tiles in runs_
  std::vector<std::vector<Run>> runs_;       // by tile, in the order of their first points
  std::vector<TileIndex> order_;
  std::optional<double> origin_z_m_;
  std::vector<BufferedPoint> buffer_;
  uint64_t file_bytes_ = 0;
  uint64_t points_ = 0;
  uint64_t points_not_finite_ = 0;
};

}  // namespace voxloc

#endif  // VOXLOC_CLIENTS_DATASET_TILE_SPILL_H_
