// SPDX-License-Identifier: Apache-2.0
//
// How many float32 a point has in a .bin file, which has no header: KITTI writes 4 (x y z
// intensity), nuScenes 5, others 6. Told, or by the file's name and the values in it.
//
// The values decide thus: in the right record a value resembles the one of the next point in the
// same column; in a wrong one it meets other columns. Pure functions.

#ifndef VOXLOC_CORE_CLOUD_IO_RECORD_FLOATS_H_
#define VOXLOC_CORE_CLOUD_IO_RECORD_FLOATS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace voxloc {

// Records that may be told, float32 a point. Without being told only 4 to 6 are taken.
constexpr size_t kMinRecordFloats = 3;
constexpr size_t kMaxRecordFloats = 32;

enum class RecordReason { kTold, kName, kSize, kValues };

struct RecordFloats {
  size_t floats = 4;
  RecordReason reason = RecordReason::kSize;
};

// A part of a file.
struct RecordSample {
  uint64_t offset = 0;  // bytes, a multiple of 4
  absl::string_view bytes;
};

// The parts of a file of that size that are to be looked at: offset and number of bytes.
struct RecordRange {
  uint64_t offset = 0;
  size_t bytes = 0;
};
[[nodiscard]] std::vector<RecordRange> RecordRangesOf(uint64_t file_bytes);

// `told`: the answer, where it is known; 0: it is not. `name`: of the file, of which .pcd.bin (as
// nuScenes writes) means 5, and .bin 4 where the values do not speak against it. InvalidArgument:
// the size fits no record, or what fits is not certain; the message names the flag --record-floats.
[[nodiscard]] absl::StatusOr<RecordFloats> ChooseRecordFloats(
    size_t told, absl::string_view name, uint64_t file_bytes,
    const std::vector<RecordSample>& samples);

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_IO_RECORD_FLOATS_H_
