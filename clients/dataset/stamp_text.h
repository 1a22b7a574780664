// SPDX-License-Identifier: Apache-2.0
//
// Numbers as people's files have them. Stamps are decimal seconds; a double is too coarse for
// nanoseconds since 1970, so the digits are taken as they stand.

#ifndef VOXLOC_CLIENTS_DATASET_STAMP_TEXT_H_
#define VOXLOC_CLIENTS_DATASET_STAMP_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace voxloc {

// "1403636579.763555552", "-0.5", "1.403636579763555552e+09": exact to the nanosecond, further
// digits are cut off. Nothing when the text is no number or its nanoseconds do not fit 64 bits.
[[nodiscard]] std::optional<int64_t> NanosecondsFromSeconds(absl::string_view seconds);

// The shortest text that reads back as the same double.
[[nodiscard]] std::string NumberText(double value);

// Always nine decimals.
[[nodiscard]] std::string SecondsFromNanoseconds(int64_t stamp_ns);

}  // namespace voxloc

#endif  // VOXLOC_CLIENTS_DATASET_STAMP_TEXT_H_
