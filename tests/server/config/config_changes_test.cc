// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "server/config/settings.h"

namespace voxloc::server {
namespace {

TEST(ConfigChangesTest, OnlyReloadableValuesAreTakenOver) {
  EffectiveConfig config;
  config.origins["threads"] = {ConfigOrigin::kFile, "f.yaml:1"};
  config.origins["limits.max_maps"] = {ConfigOrigin::kFile, "f.yaml:2"};
  EffectiveConfig next = config;
  next.config.threads = 5;
  next.config.limits.max_sessions = 9;
  next.origins["threads"] = {ConfigOrigin::kFile, "f.yaml:3"};
  next.origins["limits.max_sessions"] = {ConfigOrigin::kFile, "f.yaml:4"};
  next.origins.erase("limits.max_maps");
  next.origins["engine"] = {ConfigOrigin::kFlag, "--engine"};

  const std::vector<ConfigChange> changes = ApplyReloadable(next, Settings(), config);
  ASSERT_EQ(changes.size(), 2U);
  const auto text_of = [](const ConfigChange& change) {
    return change.key + ": " + change.before + " to " + change.after +
           (change.applied ? ", applied" : "");
  };
  EXPECT_EQ(text_of(changes[0]), "threads: 0 to 5");
  EXPECT_EQ(text_of(changes[1]), "limits.max_sessions: 1024 to 9, applied");
  EXPECT_EQ(config.config.threads, 0U);
  EXPECT_EQ(config.config.limits.max_sessions, 9U);
  EXPECT_EQ(config.origins.at("threads").place, "f.yaml:1");  // of the value in effect
  EXPECT_EQ(config.origins.at("limits.max_sessions").place, "f.yaml:4");
  EXPECT_EQ(config.origins.at("engine").origin, ConfigOrigin::kFlag);  // the same value
  EXPECT_EQ(config.origins.count("limits.max_maps"), 0U);
  // What needs a restart is told each time; the rest is in effect.
  EXPECT_EQ(ApplyReloadable(next, Settings(), config).size(), 1U);
}

TEST(ConfigChangesTest, ASecretIsNotTold) {
  SettingTable table = {*FindSetting("data_dir")};
  table.front().secret = true;
  EffectiveConfig config;
  EffectiveConfig next;
  next.config.data_dir = "sesame";
  const std::vector<ConfigChange> changes = ApplyReloadable(next, table, config);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].before, "(secret)");
  EXPECT_EQ(changes[0].after, "(secret)");
}

}  // namespace
}  // namespace voxloc::server
