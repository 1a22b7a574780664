// SPDX-License-Identifier: Apache-2.0
//
// The options of a part of the simulator as rows: from them simulation.json is written and ranges
// are checked. Each part has an overload of ListOptions, in the order of simulation.json.

#ifndef VOXLOC_CLIENTS_SIM_OPTIONS_H_
#define VOXLOC_CLIENTS_SIM_OPTIONS_H_

#include <cstdint>
#include <type_traits>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace voxloc::sim {

struct OptionRow {
  const char* key;  // in simulation.json; null: not written
  std::variant<bool, int, uint64_t, double, std::vector<double>> value;
  const char* name = nullptr;  // in messages; null: any value is allowed
  double low = 0.0;
  double high = 0.0;
};
using OptionRows = std::vector<OptionRow>;

// InvalidArgument unless low <= value <= high (which no NaN fulfils).
[[nodiscard]] inline absl::Status CheckRange(absl::string_view name, double value, double low,
                                             double high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " must be from ", low, " to ", high, " (got ", value, ")"));
}

// The first row out of its range; of a list each value is checked.
[[nodiscard]] inline absl::Status CheckRanges(const OptionRows& rows) {
  absl::Status status;
  for (const OptionRow& row : rows) {
    if (row.name == nullptr) continue;
    std::visit(
        [&](const auto& value) {
          if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::vector<double>>) {
            for (const double element : value) {
              status.Update(CheckRange(row.name, element, row.low, row.high));
            }
          } else {
            status.Update(CheckRange(row.name, static_cast<double>(value), row.low, row.high));
          }
        },
        row.value);
  }
  return status;
}

template <typename Options>
[[nodiscard]] absl::Status Validate(const Options& options) {
  return CheckRanges(ListOptions(options));
}

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_OPTIONS_H_
