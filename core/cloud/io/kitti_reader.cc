// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/kitti_reader.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/status/try.h"

namespace voxloc {

RecordLayout BinRecords(size_t floats) {
  const auto field = [](size_t index) {
    return RecordField{ScalarType::kFloat32, index * sizeof(float)};
  };
  RecordLayout layout{{field(0), field(1), field(2), std::nullopt}, floats * sizeof(float)};
  if (floats > 3) layout.intensity = field(3);
  return layout;
}

absl::StatusOr<RecordFloats> RecordFloatsOfFile(const FileParts& file, absl::string_view name,
                                                size_t told) {
  const std::vector<RecordRange> ranges = RecordRangesOf(file.size());
  std::vector<std::string> parts;
  std::vector<RecordSample> samples;
  parts.reserve(ranges.size());
  for (const RecordRange& range : ranges) {
    std::string& part = parts.emplace_back(range.bytes, '\0');
    VOXLOC_TRY(file.Read(range.offset, part.size(), part.data()));
    samples.push_back({range.offset, part});
  }
  return ChooseRecordFloats(told, name, file.size(), samples);
}

absl::StatusOr<PointCloud> ParseKittiBin(absl::string_view bytes, absl::string_view name,
                                         size_t max_points, size_t record_floats) {
  std::vector<RecordSample> samples;
  for (const RecordRange& range : RecordRangesOf(bytes.size())) {
    samples.push_back({range.offset, bytes.substr(static_cast<size_t>(range.offset), range.bytes)});
  }
  VOXLOC_ASSIGN_OR_RETURN(const RecordFloats record,
                          ChooseRecordFloats(record_floats, name, bytes.size(), samples));
  const RecordLayout records = BinRecords(record.floats);
  const size_t count = bytes.size() / records.record_bytes;
  if (count > max_points) {
    return absl::ResourceExhaustedError(
        absl::StrCat(name, ": must have at most ", max_points, " points (got ", count, ")"));
  }
  return CloudFromColumns(records.ColumnsOf(bytes.data(), count));
}

}  // namespace voxloc
