// SPDX-License-Identifier: Apache-2.0
//
// PLY files: the element `vertex`, with any other elements before or after it. Lists in other
// elements are skipped; a list in the vertices is an error. As other readers do, ascii elements are
// taken as one a line.

#ifndef VOXLOC_CORE_CLOUD_IO_PLY_READER_H_
#define VOXLOC_CORE_CLOUD_IO_PLY_READER_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/cloud/point_cloud.h"

namespace voxloc {

[[nodiscard]] absl::StatusOr<PointCloud> ParsePly(absl::string_view bytes, absl::string_view name,
                                                  size_t max_points);

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_IO_PLY_READER_H_
