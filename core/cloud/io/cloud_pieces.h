// SPDX-License-Identifier: Apache-2.0
//
// A cloud file of any size, piece by piece: its points in their order, as ReadCloud (cloud_file.h)
// would give them in one cloud.
//
// PCD binary, PLY binary (unless its vertices or elements before them have lists) and KITTI .bin
// are read a piece at a time, and memory holds one piece whatever the size of the file. Text (PCD
// and PLY ascii) and PCD binary_compressed are read whole and come as one piece, within the limits
// of ReadCloud. All pieces have one origin, that of the cloud as a whole; pieces before its first
// finite point have a zero origin (moved by VIEWPOINT). Errors are those of ReadCloud. For one
// thread.

#ifndef VOXLOC_CORE_CLOUD_IO_CLOUD_PIECES_H_
#define VOXLOC_CORE_CLOUD_IO_CLOUD_PIECES_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/cloud/io/cloud_file.h"
#include "core/cloud/io/file_bytes.h"
#include "core/cloud/io/pcd_header.h"
#include "core/cloud/io/point_data.h"
#include "core/cloud/point_cloud.h"

namespace voxloc {

struct CloudPieceOptions {
  // Most points of a piece: 12 MiB of coordinates.
  size_t piece_points = size_t{1} << 20;
  // The limits are those of files that are read whole.
  CloudReadOptions read;
};

// The records of a file, and where they begin.
struct CloudRecords {
  RecordLayout layout;
  uint64_t offset = 0;
  uint64_t points = 0;
  std::optional<PcdHeader> pcd;  // for its VIEWPOINT; nullopt: another format
};

class CloudPieceReader {
 public:
  [[nodiscard]] static absl::StatusOr<CloudPieceReader> Open(const std::string& path,
                                                             const CloudPieceOptions& options = {});

  // Of the whole file.
  [[nodiscard]] uint64_t points() const { return points_; }
  // Whether the file is read piece by piece.
  [[nodiscard]] bool streams() const { return file_.has_value(); }

  // The next points; an empty cloud at the end.
  [[nodiscard]] absl::StatusOr<PointCloud> Next();

 private:
  CloudPieceReader() = default;

  uint64_t points_ = 0;
  uint64_t done_ = 0;  // points handed out
  // Piece by piece.
  std::optional<RandomAccessFile> file_;
  CloudRecords records_;
  size_t piece_points_ = 0;
  std::vector<char> bytes_;                // of a piece
  std::optional<Eigen::Vector3d> origin_;  // in the file's coordinates
  // Or whole.
  PointCloud whole_;
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_IO_CLOUD_PIECES_H_
