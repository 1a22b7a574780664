// SPDX-License-Identifier: Apache-2.0
//
// Which of a file's named fields are the coordinates and the intensity.

#ifndef VOXLOC_CORE_CLOUD_IO_POINT_FIELDS_H_
#define VOXLOC_CORE_CLOUD_IO_POINT_FIELDS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace voxloc {

// Indices into the list of names.
struct PointFields {
  size_t x = 0;
  size_t y = 0;
  size_t z = 0;
  std::optional<size_t> intensity;
};

// Most fields of a point; a coloured, labelled scan with normals has about 20.
constexpr size_t kMaxPointFields = 1024;

// Names are compared without regard to case; `scalar_intensity` (CloudCompare) counts as intensity.
// InvalidArgument when a coordinate is missing or named twice, or there are too many fields.
[[nodiscard]] absl::StatusOr<PointFields> FindPointFields(const std::vector<std::string>& names);

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_IO_POINT_FIELDS_H_
