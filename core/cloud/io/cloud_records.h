// SPDX-License-Identifier: Apache-2.0
//
// CloudRecords: the points of a file that is an array of records after a header, in which any part
// can be read by itself: PCD binary, PLY binary (unless its vertices or elements before them have
// lists), KITTI .bin, LAS and .npy.

#ifndef VOXLOC_CORE_CLOUD_IO_CLOUD_RECORDS_H_
#define VOXLOC_CORE_CLOUD_IO_CLOUD_RECORDS_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/cloud/io/cloud_file.h"
#include "core/cloud/io/file_bytes.h"
#include "core/cloud/io/las.h"
#include "core/cloud/io/pcd_header.h"
#include "core/cloud/io/point_data.h"
#include "core/cloud/point_cloud.h"

namespace voxloc {

// What LAS and .npy files have in their first bytes; nearly all headers of PCD and PLY too, of
// which one of a thousand fields has 40 kB.
constexpr uint64_t kCloudHeadBytes = 256 << 10;

struct CloudRecords {
  size_t record_bytes = 0;
  uint64_t offset = 0;           // of the first
  uint64_t points = 0;           // as the header promises them; they are there
  RecordLayout layout;           // unless it is a LAS file
  std::optional<PcdHeader> pcd;  // for its VIEWPOINT
  std::optional<LasHeader> las;

  // The points of `count` records at `first`; `origin` as CloudFromColumns has it.
  [[nodiscard]] PointCloud PointsOf(const char* first, size_t count,
                                    std::optional<Eigen::Vector3d>* origin) const;
};

// Of a LAS or .npy file of `file_bytes`, from its first kCloudHeadBytes, or all its bytes; `read`
// gives those of records behind the points of a LAS file.
[[nodiscard]] absl::StatusOr<CloudRecords> ParseRecordsHeader(
    CloudFormat format, absl::string_view head, uint64_t file_bytes, ReadFilePart read,
    absl::string_view name, const CloudReadOptions& options);

// nullopt: a PCD or PLY file that must be read whole, or is malformed; reading it whole then gives
// the error.
[[nodiscard]] absl::StatusOr<std::optional<CloudRecords>> FindRecords(
    const RandomAccessFile& file, CloudFormat format, absl::string_view name,
    const CloudReadOptions& options);

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_IO_CLOUD_RECORDS_H_
