// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/malformed.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace voxloc {

absl::Status Malformed(absl::string_view name, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(name, ": ", what));
}

absl::Status MalformedLine(absl::string_view name, size_t line, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(name, ": line ", line, ": ", what));
}

absl::Status MalformedByte(absl::string_view name, size_t offset, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(name, ": byte ", offset, ": ", what));
}

std::string Quoted(absl::string_view value) {
  constexpr size_t kMaxShown = 48;
  return absl::StrCat("'", absl::CHexEscape(value.substr(0, kMaxShown)),
                      value.size() > kMaxShown ? "..." : "", "'");
}

}  // namespace voxloc
