// SPDX-License-Identifier: Apache-2.0
//
// One row of the parameter table: a name, the value in Parameters that it stands for, and what the
// value must be. Included by the table's sources only.

#ifndef VOXLOC_CLIENTS_ROS_CORE_PARAMETER_ROW_H_
#define VOXLOC_CLIENTS_ROS_CORE_PARAMETER_ROW_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "clients/ros/core/parameter_table.h"

namespace voxloc::ros {

// Of a number, which must be finite.
struct Range {
  double min;
  double max;
  bool open;  // the minimum itself is not allowed
};

struct Limits {
  std::optional<Range> range;
  const char* choices = nullptr;  // of a text, separated by ", "
};

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline Limits Any() { return {}; }
inline Limits AtLeast(double min, double max = kInfinity) { return {Range{min, max, false}}; }
inline Limits Over(double min, double max = kInfinity) { return {Range{min, max, true}}; }
inline Limits Finite() { return AtLeast(-kInfinity); }
inline Limits OneOf(const char* choices) { return {std::nullopt, choices}; }

struct ParameterRow {
  const char* name;
  std::variant<bool*, int64_t*, double*, std::string*, std::vector<double>*,
               std::vector<std::string>*>
      target;
  ActsOn acts_on;
  Limits limits;
  const char* meaning;
};

// The rows of these parameters, which outlive them.
[[nodiscard]] std::vector<ParameterRow> ParameterRows(Parameters& parameters);

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_ROS_CORE_PARAMETER_ROW_H_
