// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/kitti_reader.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/cloud/io/columns.h"
#include "core/cloud/io/malformed.h"

namespace voxloc {

RecordLayout KittiRecords() {
  const auto field = [](size_t index) {
    return RecordField{ScalarType::kFloat32, index * sizeof(float)};
  };
  return {field(0), field(1), field(2), field(3), 4 * sizeof(float)};
}

absl::StatusOr<PointCloud> ParseKittiBin(absl::string_view bytes, absl::string_view name,
                                         size_t max_points) {
  const RecordLayout records = KittiRecords();
  if (bytes.size() % records.record_bytes != 0) {
    return MalformedByte(name, bytes.size() - bytes.size() % records.record_bytes,
                         absl::StrCat("the size must be a multiple of ", records.record_bytes,
                                      " bytes, float32 x y z intensity (got ", bytes.size(), ")"));
  }
  const size_t count = bytes.size() / records.record_bytes;
  if (count > max_points) {
    return absl::ResourceExhaustedError(
        absl::StrCat(name, ": must have at most ", max_points, " points (got ", count, ")"));
  }
  return CloudFromColumns(records.ColumnsOf(bytes.data(), count));
}

}  // namespace voxloc
