// SPDX-License-Identifier: Apache-2.0
//
// The header of PCD files, versions .5 to .7, checked in itself: every count and size it gives is
// allowed and they agree with each other. Whether the data is there is for the reader to check.

#ifndef VOXLOC_CORE_CLOUD_IO_PCD_HEADER_H_
#define VOXLOC_CORE_CLOUD_IO_PCD_HEADER_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/cloud/io/cloud_file.h"
#include "core/cloud/io/point_data.h"
#include "core/cloud/point_cloud.h"
#include "core/geometry/pose.h"

namespace voxloc {

struct PcdField {
  std::string name;
  ScalarType type = ScalarType::kFloat32;
  size_t count = 1;  // values of this field in a point

  [[nodiscard]] size_t bytes() const { return SizeOf(type) * count; }
  [[nodiscard]] bool is_padding() const { return name == "_"; }
};

struct PcdHeader {
  std::vector<PcdField> fields;
  PointFields point_fields;  // indices into `fields`
  size_t points = 0;
  PcdEncoding encoding = PcdEncoding::kBinary;
  size_t data_offset = 0;  // of the first byte after the DATA line
  size_t data_line = 0;    // the number of the line that starts there
  // VIEWPOINT, metres: a point lies at viewpoint * (x, y, z). The identity where there is none.
  Pose viewpoint;

  // Of the records of binary data.
  [[nodiscard]] RecordLayout Records() const;

  // Applies VIEWPOINT to the points. A pure translation changes the origin only.
  [[nodiscard]] PointCloud ApplyViewpoint(PointCloud cloud) const;

  [[nodiscard]] size_t point_bytes() const { return Records().record_bytes; }
  [[nodiscard]] size_t padding_bytes() const;  // the part of point_bytes() in padding fields
};

[[nodiscard]] absl::StatusOr<PcdHeader> ParsePcdHeader(absl::string_view bytes,
                                                       absl::string_view name);

// The points of a whole file: ascii, binary and binary_compressed. Bytes after binary data are
// ignored (older writers pad the file); points after the promised ones of ascii data are an error.
[[nodiscard]] absl::StatusOr<PointCloud> ParsePcd(absl::string_view bytes, absl::string_view name,
                                                  size_t max_points);

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_IO_PCD_HEADER_H_
