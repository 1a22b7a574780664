// SPDX-License-Identifier: Apache-2.0

#include "server/config/config_errors.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace voxloc::server {

void ConfigErrors::Add(absl::string_view where, const absl::Status& error) {
  Add({error.code(), absl::StrCat(where, ": ", error.message())});
}

void ConfigErrors::Add(const absl::Status& error) {
  if (!error.ok() && !full()) errors_.push_back(error);
}

absl::Status ConfigErrors::Status() const {
  if (errors_.empty()) return absl::OkStatus();
  std::string text;
  for (const absl::Status& error : errors_) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", error.message());
  }
  if (full()) absl::StrAppend(&text, "\nand perhaps more: these are the first ", kMaxErrors);
  return {errors_.front().code(), text};
}

}  // namespace voxloc::server
