// SPDX-License-Identifier: Apache-2.0
//
// PCD files: ascii, binary and binary_compressed. VIEWPOINT is ignored. Bytes after binary data are
// ignored (older writers pad the file); points after the promised ones of ascii data are an error.

#ifndef VOXLOC_CORE_CLOUD_IO_PCD_READER_H_
#define VOXLOC_CORE_CLOUD_IO_PCD_READER_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/cloud/point_cloud.h"

namespace voxloc {

[[nodiscard]] absl::StatusOr<PointCloud> ParsePcd(absl::string_view bytes, absl::string_view name,
                                                  size_t max_points);

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_IO_PCD_READER_H_
