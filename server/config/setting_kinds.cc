// SPDX-License-Identifier: Apache-2.0

#include "server/config/setting_kinds.h"

#include <charconv>
#include <cstddef>
#include <limits>

namespace voxloc::server::setting_kinds {

absl::Status Refuse(absl::string_view key, absl::string_view value, absl::string_view requirement) {
  return absl::InvalidArgumentError(
      absl::StrCat(key, " must be ", requirement, " (got '", value, "')"));
}

bool ParseBytes(absl::string_view value, uint64_t& bytes) {
  constexpr absl::string_view kSuffixes = "KMGT";
  uint64_t unit = 1;
  if (!value.empty()) {
    const size_t place = kSuffixes.find(value.back());
    if (place != absl::string_view::npos) {
      unit = uint64_t{1} << (10 * (place + 1));
      value.remove_suffix(1);
    }
  }
  uint64_t count = 0;
  if (!absl::SimpleAtoi(value, &count)) return false;
  if (count > std::numeric_limits<uint64_t>::max() / unit) return false;
  bytes = count * unit;
  return true;
}

std::string NumberText(double value) {
  char text[32];  // 24 characters at most: "-2.2250738585072014e-308"
  const std::to_chars_result end = std::to_chars(std::begin(text), std::end(text), value);
  return {text, end.ptr};
}

}  // namespace voxloc::server::setting_kinds
