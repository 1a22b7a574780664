// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/diagnostics.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace voxloc {

void Diagnostics::Set(absl::string_view key, const std::variant<bool, int64_t, double>& value) {
  const auto entry = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const DiagnosticEntry& each) { return each.key == key; });
  if (entry != entries_.end()) {
    entry->value = value;
  } else {
    entries_.push_back({std::string(key), value});
  }
}

void Diagnostics::Report(DiagnosticLevel level, absl::string_view text) {
  absl::StrAppend(&text_, text_.empty() ? "" : "; ", text);
  level_ = std::max(level_, level);
}

}  // namespace voxloc
