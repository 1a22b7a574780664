// SPDX-License-Identifier: Apache-2.0
//
// The configuration files in deploy/.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "server/config/command_line.h"
#include "server/config/config_text.h"

namespace voxloc::server {
namespace {

std::string PathOf(const std::string& name) { return std::string(VOXLOC_DEPLOY_DIR) + "/" + name; }

absl::StatusOr<CommandLine> Load(const std::string& name) {
  const std::string flag = "--config=" + PathOf(name);
  const char* const arguments[] = {"voxlocd", flag.c_str()};
  return ParseCommandLine(2, arguments);
}

// With VOXLOC_RECORD_CONFIG=1 the file is written anew, after a change of the settings.
TEST(ConfigExamples, TheFullOneIsWhatTheSettingsSay) {
  const std::string expected = ConfigReference(Settings());
  if (const char* record = std::getenv("VOXLOC_RECORD_CONFIG"); record != nullptr && *record) {
    std::ofstream out(PathOf("voxlocd.full.yaml"));
    ASSERT_TRUE(out << expected << std::flush);
  }
  std::ostringstream recorded;
  recorded << std::ifstream(PathOf("voxlocd.full.yaml")).rdbuf();
  EXPECT_EQ(recorded.str(), expected)
      << "run this test with VOXLOC_RECORD_CONFIG=1 to write deploy/voxlocd.full.yaml anew";
}

TEST(ConfigExamples, TheFullOneHasEveryDefault) {
  const auto full = Load("voxlocd.full.yaml").value();
  const Config defaults;
  for (const Setting& setting : Settings()) {
    EXPECT_EQ(setting.get(full.config), setting.get(defaults)) << setting.key;
    EXPECT_EQ(full.origins.count(setting.key), 1U) << setting.key;
  }
}

TEST(ConfigExamples, TheOthersServeTheNetworkAndKeepMaps) {
  const auto basic = Load("voxlocd.basic.yaml").value();
  EXPECT_EQ(basic.config.listen, "0.0.0.0:50051");
  EXPECT_EQ(basic.config.data_dir, "/var/lib/voxloc");
  // In a database, and without its password.
  EXPECT_EQ(
      Load("voxlocd.replicas.yaml")->config.store.url.find("postgresql://voxloc@db.example.com"),
      0U);
}

TEST(ConfigExamples, TheIndoorProfileIsReadAndNamed) {
  const std::string flag = "--profile-files=" + PathOf("profiles/indoor.yaml");
  const char* const arguments[] = {"voxlocd", flag.c_str(), "--default-profile=indoor"};
  const auto parsed = ParseCommandLine(3, arguments);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const auto indoor = parsed->config.profiles.Find("indoor");
  ASSERT_TRUE(indoor.ok()) << indoor.status();
  // What a wrong pose needs to be refused.
  EXPECT_EQ(indoor->acceptance_rule, AcceptanceRule::kStrict);
  EXPECT_EQ(indoor->required_distance_m, 0.0);
}

TEST(ConfigExamples, AUrlWithAPasswordIsRefusedAndNotShown) {
  for (const char* const url :
       {"postgresql://voxloc:hunter2@db/voxloc", "postgresql://db/voxloc?password=hunter2",
        "mysql://hunter2@db/voxloc", "postgresql://voxloc:hunter2@a@db:5432/voxloc"}) {
    const std::string flag = std::string("--store.url=") + url;
    const char* const arguments[] = {"voxlocd", flag.c_str(), "--print-config"};
    const auto refused = ParseCommandLine(3, arguments);
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument) << url;
    EXPECT_THAT(refused.status().message(), ::testing::HasSubstr("store.url must"));
    EXPECT_THAT(refused.status().message(), ::testing::Not(::testing::HasSubstr("hunter2")));
  }
  for (const char* const url :
       {"postgresql://", "postgres://voxloc@%2Frun%2Fpostgresql:5432/voxloc",
        "postgresql://db1,db2:5432/voxloc?sslmode=require"}) {
    const std::string flag = std::string("--store.url=") + url;
    const char* const arguments[] = {"voxlocd", flag.c_str()};
    EXPECT_TRUE(ParseCommandLine(2, arguments).ok()) << url;
  }
}

}  // namespace
}  // namespace voxloc::server
