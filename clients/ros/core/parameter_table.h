// SPDX-License-Identifier: Apache-2.0
//
// The parameters by name: what an adapter declares, what docs/ros.md lists, and how values are read
// into Parameters. Thread-safe: constants and pure functions.

#ifndef VOXLOC_CLIENTS_ROS_CORE_PARAMETER_TABLE_H_
#define VOXLOC_CLIENTS_ROS_CORE_PARAMETER_TABLE_H_

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/ros/core/parameters.h"

namespace voxloc::ros {

// The types of ROS parameters that are used here.
using ParameterValue =
    std::variant<bool, int64_t, double, std::string, std::vector<double>, std::vector<std::string>>;

// Where a parameter acts.
enum class ActsOn {
  kVehicle,   // the bridge does it
  kServer,    // the bridge asks the server for it
  kNotNeeded  // accepted, and without effect: the server has its own setting, or needs none
};

struct ParameterInfo {
  std::string name;  // "ndt.trans_epsilon"
  ParameterValue default_value;
  ActsOn acts_on = ActsOn::kVehicle;
  std::string meaning;  // one sentence, with the unit, the range, and where it acts in the contract
};

// In the order of Autoware's file, then those of the bridge.
[[nodiscard]] const std::vector<ParameterInfo>& ParameterTable();

// "vehicle", "server", "not needed".
[[nodiscard]] const char* ToString(ActsOn acts_on);

// The value as YAML writes it.
[[nodiscard]] std::string ToYaml(const ParameterValue& value);

// Sets one parameter. An integer is accepted for a double, and an empty list for a list of any
// type. NotFound: no such name. InvalidArgument: another type.
[[nodiscard]] absl::Status SetParameter(const std::string& name, const ParameterValue& value,
                                        Parameters& parameters);

// Checks ranges and combinations. InvalidArgument names the parameter, the condition and the value.
[[nodiscard]] absl::Status ValidateParameters(const Parameters& parameters);

struct LoadedParameters {
  Parameters parameters;
  // One per unknown name, with a similar known name if there is one. Not errors, since Autoware
  // passes its global parameters to every node.
  std::vector<std::string> warnings;
};

// The defaults with these values in their place, checked.
[[nodiscard]] absl::StatusOr<LoadedParameters> LoadParameters(
    const std::map<std::string, ParameterValue>& given);

// One row of the parameter table: a name, the value in Parameters that it stands for, and what the
// value must be. Included by the table's sources only.

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

#endif  // VOXLOC_CLIENTS_ROS_CORE_PARAMETER_TABLE_H_
