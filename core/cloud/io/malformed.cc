// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/malformed.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace voxloc {

std::string Quoted(absl::string_view value) {
  constexpr size_t kMaxShown = 48;
  return absl::StrCat("'", absl::CHexEscape(value.substr(0, kMaxShown)),
                      value.size() > kMaxShown ? "..." : "", "'");
}

}  // namespace voxloc
