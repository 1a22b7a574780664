// SPDX-License-Identifier: Apache-2.0
//
// One row of the parameter table: a name, and how its value is read from and written to Parameters.
// Included by the table's sources only.

#ifndef VOXLOC_CLIENTS_ROS_CORE_PARAMETER_ROW_H_
#define VOXLOC_CLIENTS_ROS_CORE_PARAMETER_ROW_H_

#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "clients/ros/core/parameter_table.h"

namespace voxloc::ros {

struct ParameterRow {
  ParameterInfo info;
  // False: the value is of another type.
  std::function<bool(const ParameterValue&, Parameters&)> set;
};

inline bool Assign(const ParameterValue& value, double& target) {
  if (const auto* whole = std::get_if<int64_t>(&value)) {
    target = static_cast<double>(*whole);
    return true;
  }
  const auto* real = std::get_if<double>(&value);
  if (real != nullptr) target = *real;
  return real != nullptr;
}

// YAML cannot say of what an empty list is.
template <typename Value, typename Other>
bool AssignList(const ParameterValue& value, std::vector<Value>& target) {
  const auto* other = std::get_if<std::vector<Other>>(&value);
  if (other != nullptr && other->empty()) {
    target.clear();
    return true;
  }
  const auto* list = std::get_if<std::vector<Value>>(&value);
  if (list != nullptr) target = *list;
  return list != nullptr;
}

inline bool Assign(const ParameterValue& value, std::vector<double>& target) {
  return AssignList<double, std::string>(value, target);
}

inline bool Assign(const ParameterValue& value, std::vector<std::string>& target) {
  return AssignList<std::string, double>(value, target);
}

template <typename Value>
bool Assign(const ParameterValue& value, Value& target) {
  const auto* same = std::get_if<Value>(&value);
  if (same != nullptr) target = *same;
  return same != nullptr;
}

template <typename Group, typename Value>
ParameterRow Row(const char* name, Group Parameters::*group, Value Group::*member, ActsOn acts_on,
                 const char* meaning) {
  ParameterRow row;
  const Parameters defaults;
  row.info = {name, ParameterValue((defaults.*group).*member), acts_on, meaning};
  row.set = [group, member](const ParameterValue& value, Parameters& parameters) {
    return Assign(value, (parameters.*group).*member);
  };
  return row;
}

// The parameters of Autoware's node, and those of the bridge.
[[nodiscard]] std::vector<ParameterRow> AutowareParameterRows();
[[nodiscard]] std::vector<ParameterRow> BridgeParameterRows();

}  // namespace voxloc::ros

#endif  // VOXLOC_CLIENTS_ROS_CORE_PARAMETER_ROW_H_
