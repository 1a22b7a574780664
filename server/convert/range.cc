// SPDX-License-Identifier: Apache-2.0

#include "server/convert/range.h"

#include "absl/strings/str_cat.h"

namespace voxloc::server {

absl::Status CheckRange(absl::string_view field, double value, double low, double high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, " must be from ", low, " to ", high, " (got ", value, ")"));
}

absl::Status CheckRangeOrZero(absl::string_view field, double value, double low, double high,
                              absl::string_view zero) {
  if (value == 0.0 || (value >= low && value <= high)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, " must be 0 (", zero, ") or from ", low,
                                                 " to ", high, " (got ", value, ")"));
}

absl::Status CheckSeconds(absl::string_view field, double value) {
  if (value >= 0.0 && value <= kMaxSeconds) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, " must be 0 (none) or at most ",
                                                 kMaxSeconds, " s and over 0 (got ", value, ")"));
}

absl::Status AssignIfSet(absl::string_view field, bool is_set,
                         const google::protobuf::DoubleValue& option, double low, double high,
                         double& value) {
  if (!is_set) return absl::OkStatus();
  value = option.value();
  return CheckRange(field, value, low, high);
}

absl::Status FirstError(std::initializer_list<absl::Status> statuses) {
  for (const absl::Status& status : statuses) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace voxloc::server
