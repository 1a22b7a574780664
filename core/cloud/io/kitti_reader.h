// SPDX-License-Identifier: Apache-2.0
//
// .bin files without a header: nothing but records of float32, of which the first are x y z and, in
// KITTI's and most others', intensity.

#ifndef VOXLOC_CORE_CLOUD_IO_KITTI_READER_H_
#define VOXLOC_CORE_CLOUD_IO_KITTI_READER_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/cloud/io/columns.h"
#include "core/cloud/io/file_bytes.h"
#include "core/cloud/io/record_floats.h"
#include "core/cloud/point_cloud.h"

namespace voxloc {

// The readers of the formats that ReadCloud knows, from the bytes of a whole file; `name` stands
// for the file in messages.

// Ascii, binary and binary_compressed. Bytes after binary data are ignored (older writers pad the
// file); points after the promised ones of ascii data are an error.
[[nodiscard]] absl::StatusOr<PointCloud> ParsePcd(absl::string_view bytes, absl::string_view name,
                                                  size_t max_points);

// The element `vertex`, with any other elements before or after it; lists are skipped. As other
// readers do, ascii elements are taken as one a line.
[[nodiscard]] absl::StatusOr<PointCloud> ParsePly(absl::string_view bytes, absl::string_view name,
                                                  size_t max_points);

// Records of float32 without a header. `record_floats`: as CloudReadOptions has it.
[[nodiscard]] absl::StatusOr<PointCloud> ParseKittiBin(absl::string_view bytes,
                                                       absl::string_view name, size_t max_points,
                                                       size_t record_floats);

[[nodiscard]] RecordLayout BinRecords(size_t floats);

// How many floats a record of a file has: ChooseRecordFloats of its parts, or Read's error.
[[nodiscard]] absl::StatusOr<RecordFloats> RecordFloatsOfFile(const FileParts& file,
                                                              absl::string_view name, size_t told);

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_IO_KITTI_READER_H_
