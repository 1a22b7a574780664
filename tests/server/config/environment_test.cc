// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "server/config/config_text.h"

namespace voxloc::server {
namespace {

EnvironmentSettings Read(std::vector<const char*> variables, ConfigErrors& errors) {
  variables.push_back(nullptr);
  return ReadEnvironment(variables.data(), Settings(), errors);
}

TEST(EnvironmentTest, NoTwoKeysGiveTheSameVariable) {
  std::set<std::string> variables = {std::string(kConfigVariable)};
  for (const Setting& setting : Settings()) {
    EXPECT_TRUE(variables.insert(VariableOfKey(setting.key)).second) << setting.key;
  }
  EXPECT_GT(variables.size(), 50U);
  EXPECT_EQ(VariableOfKey("limits.max_sessions"), "VOXLOCD_LIMITS_MAX_SESSIONS");
}

TEST(EnvironmentTest, ReadsVariablesWithThePrefix) {
  ConfigErrors errors;
  const EnvironmentSettings read =
      Read({"PATH=/bin", "VOXLOCD_LIMITS_MAX_SESSIONS=5", "VOXLOC_DATA_DIR=/data",
            "VOXLOCD_CONFIG=/etc/a=b.yaml", "VOXLOCD_DATA_DIR=", "VOXLOCD_LISTEN"},
           errors);
  EXPECT_TRUE(errors.Status().ok()) << errors.Status();
  ASSERT_EQ(read.values.size(), 2U);
  EXPECT_EQ(read.values[0].key, "limits.max_sessions");
  EXPECT_EQ(read.values[0].value, "5");
  EXPECT_EQ(read.values[0].place.origin, ConfigOrigin::kEnvironment);
  EXPECT_EQ(read.values[0].place.place, "VOXLOCD_LIMITS_MAX_SESSIONS");
  EXPECT_EQ(read.values[1].key, "data_dir");
  EXPECT_EQ(read.values[1].value, "");
  EXPECT_EQ(read.config_path, "/etc/a=b.yaml");
  EXPECT_TRUE(ReadEnvironment(nullptr, Settings(), errors).values.empty());
}

TEST(EnvironmentTest, NamesTheNearestOfAnUnknownVariable) {
  ConfigErrors errors;
  static_cast<void>(Read({"VOXLOCD_LIMITS_MAX_SESSION=5", "VOXLOCD_ENGIN=cpu", "VOXLOCD_listen=x",
                          "VOXLOCD_QQQQQQQQQQ=x"},
                         errors));
  EXPECT_EQ(std::string(errors.Status().message()),
            "environment: unknown variable VOXLOCD_LIMITS_MAX_SESSION; did you mean "
            "VOXLOCD_LIMITS_MAX_SESSIONS?\n"
            "environment: unknown variable VOXLOCD_ENGIN; did you mean VOXLOCD_ENGINE?\n"
            "environment: unknown variable VOXLOCD_listen; did you mean VOXLOCD_LISTEN?\n"
            "environment: unknown variable VOXLOCD_QQQQQQQQQQ");
}

TEST(EnvironmentTest, WhatKubernetesSetsForAServiceIsNoError) {
  ConfigErrors errors;
  const EnvironmentSettings read =
      Read({"VOXLOCD_SERVICE_HOST=10.0.0.11", "VOXLOCD_SERVICE_PORT=50051",
            "VOXLOCD_SERVICE_PORT_GRPC=50051", "VOXLOCD_PORT=tcp://10.0.0.11:50051",
            "VOXLOCD_PORT_50051_TCP=tcp://10.0.0.11:50051", "VOXLOCD_PORT_50051_TCP_PROTO=tcp",
            "VOXLOCD_PORT_50051_TCP_PORT=50051", "VOXLOCD_PORT_50051_TCP_ADDR=10.0.0.11",
            "VOXLOCD_METRICS_SERVICE_HOST=10.0.0.12", "VOXLOCD_METRICS_PORT=tcp://10.0.0.12:9464"},
           errors);
  EXPECT_TRUE(errors.Status().ok()) << errors.Status();
  EXPECT_TRUE(read.values.empty());
  static_cast<void>(Read({"VOXLOCD_LISTEN_PORT=50051"}, errors));
  EXPECT_FALSE(errors.Status().ok());
}

}  // namespace
}  // namespace voxloc::server
