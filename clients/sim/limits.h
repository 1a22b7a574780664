// SPDX-License-Identifier: Apache-2.0
//
// The simulator's way to refuse an option: its name, its value, and what is allowed.

#ifndef VOXLOC_CLIENTS_SIM_LIMITS_H_
#define VOXLOC_CLIENTS_SIM_LIMITS_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace voxloc::sim {

// InvalidArgument unless low <= value <= high (which no NaN fulfils).
[[nodiscard]] inline absl::Status CheckRange(absl::string_view option, double value, double low,
                                             double high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(option, " must be from ", low, " to ", high, " (got ", value, ")"));
}

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_LIMITS_H_
