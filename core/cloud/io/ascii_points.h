// SPDX-License-Identifier: Apache-2.0
//
// Points as text, one a line: the body of ascii PCD and PLY files.

#ifndef VOXLOC_CORE_CLOUD_IO_ASCII_POINTS_H_
#define VOXLOC_CORE_CLOUD_IO_ASCII_POINTS_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/cloud/io/point_fields.h"
#include "core/cloud/io/text_scan.h"
#include "core/cloud/point_cloud.h"

namespace voxloc {

// Where the numbers stand in a line, counted in words from 0.
struct AsciiLayout : PointParts<size_t> {
  size_t words_per_line = 0;
};

// Takes `count` lines off `lines`, blank ones not counted, of which `remaining_bytes` are left;
// errors name `name` and the line.
[[nodiscard]] absl::StatusOr<PointCloud> ParseAsciiPoints(LineScanner& lines,
                                                          size_t remaining_bytes, size_t count,
                                                          const AsciiLayout& layout,
                                                          absl::string_view name);

// The next line that is not blank; false at the end.
[[nodiscard]] bool NextFilledLine(LineScanner& lines, absl::string_view& line);

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_IO_ASCII_POINTS_H_
