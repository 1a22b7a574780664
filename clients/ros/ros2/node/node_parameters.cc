// SPDX-License-Identifier: Apache-2.0
#include "clients/ros/ros2/node/node_parameters.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace voxloc::ros2 {
namespace {

using rclcpp::ParameterType;

rclcpp::ParameterValue ToRos(const ros::ParameterValue& value) {
  return std::visit([](const auto& held) { return rclcpp::ParameterValue(held); }, value);
}

// nullopt: a type that no parameter of the table has.
std::optional<ros::ParameterValue> FromRos(const rclcpp::ParameterValue& value) {
  switch (value.get_type()) {
    case ParameterType::PARAMETER_BOOL:
      return value.get<bool>();
    case ParameterType::PARAMETER_INTEGER:
      return value.get<int64_t>();
    case ParameterType::PARAMETER_DOUBLE:
      return value.get<double>();
    case ParameterType::PARAMETER_STRING:
      return value.get<std::string>();
    case ParameterType::PARAMETER_DOUBLE_ARRAY:
      return value.get<std::vector<double>>();
    case ParameterType::PARAMETER_STRING_ARRAY:
      return value.get<std::vector<std::string>>();
    case ParameterType::PARAMETER_INTEGER_ARRAY: {
      // YAML's [0, 1] where [0.0, 1.0] is meant.
      std::vector<double> numbers;
      for (const int64_t number : value.get<std::vector<int64_t>>()) {
        numbers.push_back(static_cast<double>(number));
      }
      return numbers;
    }
    default:
      return std::nullopt;
  }
}

// Names that every node of ROS 2 has.
bool IsBuiltInParameter(const std::string& name) {
  return name == "use_sim_time" || name == "start_type_description_service" ||
         absl::StartsWith(name, "qos_overrides.");
}

}  // namespace

absl::StatusOr<ros::LoadedParameters> DeclareParameters(rclcpp::Node& node) {
  std::set<std::string> known;
  std::map<std::string, ros::ParameterValue> given;
  for (const ros::ParameterInfo& info : ros::ParameterTable()) {
    known.insert(info.name);
    if (!node.has_parameter(info.name)) {
      rcl_interfaces::msg::ParameterDescriptor descriptor;
      descriptor.description = info.meaning;
      descriptor.read_only = true;
      // The bridge checks the types itself: an integer is accepted for a double.
      descriptor.dynamic_typing = true;
      node.declare_parameter(info.name, ToRos(info.default_value), descriptor);
    }
    const rclcpp::ParameterValue value = node.get_parameter(info.name).get_parameter_value();
    if (value.get_type() == ParameterType::PARAMETER_NOT_SET) {
      continue;  // YAML's empty value or list: the default
    }
    const std::optional<ros::ParameterValue> converted = FromRos(value);
    if (!converted) {
      return absl::InvalidArgumentError(absl::StrCat("the parameter ", info.name,
                                                     " cannot be of the type ",
                                                     rclcpp::to_string(value.get_type())));
    }
    given[info.name] = *converted;
  }
  // What else was given has no effect; only its name counts, for the warning.
  for (const auto& [name, value] :
       node.get_node_parameters_interface()->get_parameter_overrides()) {
    if (known.count(name) == 0 && !IsBuiltInParameter(name)) {
      given[name] = FromRos(value).value_or(false);
    }
  }
  return ros::LoadParameters(given);
}

}  // namespace voxloc::ros2
