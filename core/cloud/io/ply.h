// SPDX-License-Identifier: Apache-2.0
//
// PLY files, ascii and binary of either endianness: their header, checked in itself, and their
// points.

#ifndef VOXLOC_CORE_CLOUD_IO_PLY_H_
#define VOXLOC_CORE_CLOUD_IO_PLY_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/cloud/io/point_data.h"
#include "core/cloud/point_cloud.h"

namespace voxloc {

struct PlyProperty {
  std::string name;
  ScalarType type = ScalarType::kFloat32;
  // The type of a list's length; set for lists only.
  std::optional<ScalarType> length_type;
};

struct PlyElement {
  std::string name;
  size_t count = 0;
  size_t line = 0;  // where the header names it
  std::vector<PlyProperty> properties;

  [[nodiscard]] bool has_list() const;
  // Of one element, its lists left out.
  [[nodiscard]] size_t bytes() const;
};

struct PlyHeader {
  bool ascii = false;
  bool big_endian = false;
  std::vector<PlyElement> elements;
  size_t data_offset = 0;  // of the first byte after the end_header line
  size_t data_line = 0;    // the number of the line that starts there
};

// The element `vertex`, and which of its properties are wanted.
struct PlyVertices {
  size_t element = 0;  // index into the header's
  PointFields fields;  // indices into the element's properties

  // Of the records of binary data, their lists left out.
  [[nodiscard]] RecordLayout Records(const PlyHeader& header) const;
};
// An error if there is no such element or it lacks a coordinate; a list is not a coordinate.
[[nodiscard]] absl::StatusOr<PlyVertices> FindPlyVertices(const PlyHeader& header,
                                                          absl::string_view name);

[[nodiscard]] absl::StatusOr<PlyHeader> ParsePlyHeader(absl::string_view bytes,
                                                       absl::string_view name);

// The element `vertex` of a whole file, with any other elements before or after it; lists are
// skipped. As other readers do, ascii elements are taken as one a line.
[[nodiscard]] absl::StatusOr<PointCloud> ParsePly(absl::string_view bytes, absl::string_view name,
                                                  size_t max_points);

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_IO_PLY_H_
