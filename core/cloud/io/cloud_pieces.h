// SPDX-License-Identifier: Apache-2.0
//
// A cloud file of any size, piece by piece: its points in their order, as ReadCloud (cloud_file.h)
// would give them in one cloud.
//
// Arrays of records (cloud_records.h) and .xyz, .csv and .txt are read a piece at a time, and
// memory holds one piece whatever the size of the file. PCD and PLY ascii, PLY with lists and PCD
// binary_compressed are read whole and come as one piece, within the limits of ReadCloud. All
// pieces have one origin, that of the cloud as a whole; pieces before its first finite point have a
// zero origin (moved by VIEWPOINT). Errors are those of ReadCloud. For one thread.

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
#include "core/cloud/io/cloud_records.h"
#include "core/cloud/io/file_bytes.h"
#include "core/cloud/io/text_points.h"
#include "core/cloud/point_cloud.h"

namespace voxloc {

struct CloudPieceOptions {
  // Most points of a piece: 12 MiB of coordinates. Of records of over 32 bytes it has fewer.
  size_t piece_points = size_t{1} << 20;
  // The limits are those of files that are read whole.
  CloudReadOptions read;
};

class CloudPieceReader {
 public:
  [[nodiscard]] static absl::StatusOr<CloudPieceReader> Open(const std::string& path,
                                                             const CloudPieceOptions& options = {});

  // Of the whole file, as its header promises them: the withheld ones of LAS too, which no piece
  // has. Of .xyz, .csv and .txt an estimate.
  [[nodiscard]] uint64_t points() const { return points_; }
  [[nodiscard]] bool points_known() const { return !text_.has_value(); }
  // Whether the file is read piece by piece.
  [[nodiscard]] bool streams() const { return file_.has_value(); }

  // The next points; an empty cloud at the end.
  [[nodiscard]] absl::StatusOr<PointCloud> Next();

 private:
  CloudPieceReader() = default;

  absl::StatusOr<PointCloud> NextOfRecords();
  absl::StatusOr<PointCloud> NextOfText();

  uint64_t points_ = 0;
  // Piece by piece.
  std::optional<RandomAccessFile> file_;
  CloudRecords records_;
  uint64_t done_ = 0;                    // records
  std::optional<TextPointParser> text_;  // in place of records
  uint64_t text_offset_ = 0;             // of the first line that is not done
  size_t piece_points_ = 0;
  std::vector<char> bytes_;                // of a piece
  std::optional<Eigen::Vector3d> origin_;  // in the file's coordinates
  // Or whole.
  PointCloud whole_;
};

// The whole cloud, read piece by piece, so that memory holds it and one piece. Errors and limits
// are those of ReadCloud.
[[nodiscard]] absl::StatusOr<PointCloud> ReadAllPieces(const std::string& path,
                                                       const CloudReadOptions& limits);

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_IO_CLOUD_PIECES_H_
