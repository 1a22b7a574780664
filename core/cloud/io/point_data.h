// SPDX-License-Identifier: Apache-2.0
//
// The points of cloud files: as columns of numbers at a fixed stride, which records one after
// another (PCD binary, PLY, KITTI) and field after field (PCD binary_compressed) both are, and as
// text, one point a line (ascii PCD and PLY).

#ifndef VOXLOC_CORE_CLOUD_IO_POINT_DATA_H_
#define VOXLOC_CORE_CLOUD_IO_POINT_DATA_H_

#include <Eigen/Core>
#include <cstddef>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/cloud/io/point_fields.h"
#include "core/cloud/io/text_scan.h"
#include "core/cloud/point_cloud.h"

namespace voxloc {

struct Column {
  ScalarType type = ScalarType::kFloat32;
  const char* first = nullptr;
  size_t stride_bytes = 0;
  bool big_endian = false;
};

struct PointColumns : PointComponents<Column> {
  size_t count = 0;  // of values in every column; checked by the caller
};

// The position of a number in a record of a record array.
struct RecordField {
  ScalarType type = ScalarType::kFloat32;
  size_t offset_bytes = 0;
};
struct RecordLayout : PointComponents<RecordField> {
  size_t record_bytes = 0;
  bool big_endian = false;

  // The columns of `count` records at `first`.
  [[nodiscard]] PointColumns ColumnsOf(const char* first, size_t count) const;
};

// Float32 coordinates keep their values as they are; of the others the origin is chosen from the
// first point that is finite: zero where float32 is good enough there, else that point rounded to
// whole metres.
[[nodiscard]] PointCloud CloudFromColumns(const PointColumns& columns);

// The same for a part of a cloud: `origin` is that of the parts before it, where one was chosen,
// and is set where this part is the first to choose one.
[[nodiscard]] PointCloud CloudFromColumns(const PointColumns& columns,
                                          std::optional<Eigen::Vector3d>* origin);

// Where the numbers of a point stand in a line, counted in words from 0.
struct AsciiLayout : PointComponents<size_t> {
  size_t words_per_line = 0;
};

// Takes `count` lines off `lines`, blank ones not counted, of which `remaining_bytes` are left;
// errors name `name` and the line.
[[nodiscard]] absl::StatusOr<PointCloud> ParseAsciiPoints(LineScanner& lines,
                                                          size_t remaining_bytes, size_t count,
                                                          const AsciiLayout& layout,
                                                          absl::string_view name);

// The next line that is not blank; false at the end.
[[nodiscard]] bool NextNonBlankLine(LineScanner& lines, absl::string_view& line);

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_IO_POINT_DATA_H_
