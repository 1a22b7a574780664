// SPDX-License-Identifier: Apache-2.0
//
// The parameter files of the ROS 2 package say what the bridge's table says.

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/ros/core/parameter_table.h"

namespace voxloc::ros {
namespace {

const char kConfigDir[] = VOXLOC_SOURCE_DIR "/clients/ros/ros2/config/";
const char kOwnPrefix[] = "voxloc.";

// The parameters of a file of ROS 2, by their names with dots.
void Flatten(const YAML::Node& node, const std::string& name,
             std::map<std::string, YAML::Node>& parameters) {
  if (!node.IsMap()) {
    parameters.emplace(name, node);
    return;
  }
  for (const auto& entry : node) {
    const auto key = entry.first.as<std::string>();
    Flatten(entry.second, name.empty() ? key : absl::StrCat(name, ".", key), parameters);
  }
}

std::map<std::string, YAML::Node> ParametersOf(const std::string& file) {
  const YAML::Node root = YAML::LoadFile(kConfigDir + file);
  std::map<std::string, YAML::Node> parameters;
  Flatten(root["/**"]["ros__parameters"], "", parameters);
  return parameters;
}

// A value as ROS reads it: its type is that of the default, or it is no such value.
ParameterValue As(const ParameterValue& like, const YAML::Node& node) {
  return std::visit(
      [&](const auto& held) -> ParameterValue { return node.as<std::decay_t<decltype(held)>>(); },
      like);
}

bool IsEmptyList(const ParameterValue& value) {
  const auto* numbers = std::get_if<std::vector<double>>(&value);
  const auto* texts = std::get_if<std::vector<std::string>>(&value);
  return (numbers != nullptr && numbers->empty()) || (texts != nullptr && texts->empty());
}

TEST(Ros2ParameterFiles, AutowaresHasExactlyTheParametersOfItsNodeWithTheDefaults) {
  const std::map<std::string, YAML::Node> file = ParametersOf("ndt_scan_matcher.param.yaml");
  size_t compared = 0;
  for (const ParameterInfo& info : ParameterTable()) {
    if (absl::StartsWith(info.name, kOwnPrefix)) {
      EXPECT_EQ(file.count(info.name), 0U) << info.name;
      continue;
    }
    ASSERT_EQ(file.count(info.name), 1U) << info.name;
    EXPECT_EQ(As(info.default_value, file.at(info.name)), info.default_value) << info.name;
    ++compared;
  }
  EXPECT_EQ(compared, file.size());
  EXPECT_GE(compared, 34U);  // those of section "parameters" of Autoware's node
}

TEST(Ros2ParameterFiles, TheBridgesHasEveryOneOfItsParametersWithTheDefault) {
  const std::map<std::string, YAML::Node> file = ParametersOf("voxloc.param.yaml");
  // What the launch file gives.
  const std::map<std::string, std::string> arguments = {{"voxloc.server", "$(var server)"},
                                                        {"voxloc.map", "$(var map)"},
                                                        {"voxloc.vehicle", "$(var vehicle)"}};
  size_t compared = 0;
  for (const ParameterInfo& info : ParameterTable()) {
    if (!absl::StartsWith(info.name, kOwnPrefix)) {
      EXPECT_EQ(file.count(info.name), 0U) << info.name;
    } else if (IsEmptyList(info.default_value)) {
      EXPECT_EQ(file.count(info.name), 0U) << info.name << ": ROS 2 reads no empty list";
    } else {
      ASSERT_EQ(file.count(info.name), 1U) << info.name;
      const YAML::Node& node = file.at(info.name);
      if (const auto argument = arguments.find(info.name); argument != arguments.end()) {
        EXPECT_EQ(node.as<std::string>(), argument->second);
      } else {
        EXPECT_EQ(As(info.default_value, node), info.default_value) << info.name;
      }
      ++compared;
    }
  }
  EXPECT_EQ(compared, file.size());
  EXPECT_GT(compared, arguments.size());
}

TEST(Ros2ParameterFiles, NavigationsIsTakenByTheNode) {
  std::map<std::string, YAML::Node> file = ParametersOf("nav2.param.yaml");
  ASSERT_FALSE(file.empty());
  const std::map<std::string, std::string> arguments = {{"voxloc.server", "127.0.0.1:50051"},
                                                        {"voxloc.map", "hall"},
                                                        {"voxloc.vehicle", ""},
                                                        {"voxloc.odom_frame", "odom"}};
  std::map<std::string, ParameterValue> given;
  for (const ParameterInfo& info : ParameterTable()) {
    if (const auto entry = file.find(info.name); entry != file.end()) {
      const auto argument = arguments.find(info.name);
      given[info.name] = argument != arguments.end() ? ParameterValue(argument->second)
                                                     : As(info.default_value, entry->second);
      file.erase(entry);
    }
  }
  EXPECT_TRUE(file.empty()) << file.begin()->first << " is no parameter";
  const auto loaded = LoadParameters(given);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->parameters.voxloc.tf_output, "odom");
  EXPECT_TRUE(loaded->parameters.voxloc.activate_at_start);
}

}  // namespace
}  // namespace voxloc::ros
