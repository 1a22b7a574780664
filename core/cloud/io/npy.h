// SPDX-License-Identifier: Apache-2.0
//
// NumPy's .npy files (format 1.0 to 3.0): arrays (N, 3) of x y z or (N, 4) of x y z intensity,
// float32 or float64 of either endianness, in C order. Others are refused by what they are.

#ifndef VOXLOC_CORE_CLOUD_IO_NPY_H_
#define VOXLOC_CORE_CLOUD_IO_NPY_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/cloud/io/point_data.h"

namespace voxloc {

struct NpyHeader {
  RecordLayout records;
  uint64_t data_offset = 0;  // of the first record
  uint64_t points = 0;
};

// The most bytes of a header that is read; that of an array without fields has 128.
constexpr size_t kMaxNpyHeaderBytes = 64 << 10;

// `head`: the first bytes of a file of `file_bytes`, all of them or at least kMaxNpyHeaderBytes.
[[nodiscard]] absl::StatusOr<NpyHeader> ParseNpyHeader(absl::string_view head, uint64_t file_bytes,
                                                       absl::string_view name);

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_IO_NPY_H_
