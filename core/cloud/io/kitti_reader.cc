// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/kitti_reader.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/cloud/io/columns.h"
#include "core/cloud/io/malformed.h"

namespace voxloc {

absl::StatusOr<PointCloud> ParseKittiBin(absl::string_view bytes, absl::string_view name,
                                         size_t max_points) {
  constexpr size_t kRecordBytes = 4 * sizeof(float);
  if (bytes.size() % kRecordBytes != 0) {
    return MalformedByte(name, bytes.size() - bytes.size() % kRecordBytes,
                         absl::StrCat("the size must be a multiple of ", kRecordBytes,
                                      " bytes, float32 x y z intensity (got ", bytes.size(), ")"));
  }
  const size_t count = bytes.size() / kRecordBytes;
  if (count > max_points) {
    return absl::ResourceExhaustedError(
        absl::StrCat(name, ": must have at most ", max_points, " points (got ", count, ")"));
  }
  const auto column = [&](size_t index) {
    return Column{ScalarType::kFloat32, bytes.data() + index * sizeof(float), kRecordBytes};
  };
  return CloudFromColumns({column(0), column(1), column(2), column(3), count});
}

}  // namespace voxloc
