// SPDX-License-Identifier: Apache-2.0
//
// Points in binary files: x, y, z and intensity, each a column of numbers at a fixed stride.
// Records one after another (PCD binary, PLY, KITTI) and field after field (PCD binary_compressed)
// are both of this form.

#ifndef VOXLOC_CORE_CLOUD_IO_COLUMNS_H_
#define VOXLOC_CORE_CLOUD_IO_COLUMNS_H_

#include <cstddef>
#include <optional>

#include "core/cloud/io/scalar_type.h"
#include "core/cloud/point_cloud.h"

namespace voxloc {

struct Column {
  ScalarType type = ScalarType::kFloat32;
  const char* first = nullptr;
  size_t stride_bytes = 0;
};

struct PointColumns {
  Column x;
  Column y;
  Column z;
  std::optional<Column> intensity;
  size_t count = 0;  // the caller has checked that every column has this many values
};

// Float32 coordinates are copied as they are; others go through CloudBuilder.
[[nodiscard]] PointCloud CloudFromColumns(const PointColumns& columns);

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_IO_COLUMNS_H_
