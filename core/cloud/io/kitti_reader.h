// SPDX-License-Identifier: Apache-2.0
//
// KITTI .bin files: nothing but records of four float32, x y z intensity.

#ifndef VOXLOC_CORE_CLOUD_IO_KITTI_READER_H_
#define VOXLOC_CORE_CLOUD_IO_KITTI_READER_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/cloud/io/columns.h"
#include "core/cloud/point_cloud.h"

namespace voxloc {

[[nodiscard]] RecordLayout KittiRecords();

[[nodiscard]] absl::StatusOr<PointCloud> ParseKittiBin(absl::string_view bytes,
                                                       absl::string_view name, size_t max_points);

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_IO_KITTI_READER_H_
