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

namespace voxloc {

[[nodiscard]] RecordLayout BinRecords(size_t floats);

// How many floats a record of a file has: ChooseRecordFloats of its parts, or Read's error.
[[nodiscard]] absl::StatusOr<RecordFloats> RecordFloatsOfFile(const FileParts& file,
                                                              absl::string_view name, size_t told);

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_IO_KITTI_READER_H_
