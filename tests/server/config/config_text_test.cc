// SPDX-License-Identifier: Apache-2.0

#include "server/config/config_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/config/command_line.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

absl::StatusOr<CommandLine> ReadBack(const ScratchDir& scratch, const std::string& yaml,
                                     const SettingTable& table = Settings()) {
  const std::string flag = "--config=" + scratch.Write("printed.yaml", yaml);
  const char* const arguments[] = {"voxlocd", flag.c_str()};
  return ParseCommandLine(2, arguments, nullptr, table);
}

TEST(YamlScalarTest, EveryTextReadsBack) {
  std::vector<std::string> texts = {"", "\n", "\t ", " a ", "- a", "a: b", "a #b", "? a"};
  for (const absl::string_view text :
       absl::StrSplit("a null ~ Null NULL true 0x10 1e6 - # \" ' \\ 0.0.0.0:1 {} [a] &a *a !a | > "
                      "% @ --- ... ? "
                      "\x01\x7F \xC3\xA9 \xC2\x85 \xE2\x80\xA8 \xEF\xBB\xBF \xF0\x9F\x9A\x97",
                      ' ')) {
    texts.emplace_back(text);
  }
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (size_t n = random() % 8; n > 0; --n) text.push_back(static_cast<char>(1 + random() % 127));
    texts.push_back(text);
  }
  for (const std::string& text : texts) {
    const std::string yaml = absl::StrCat("key: ", YamlScalar(text), "  # comment\n");
    const YAML::Node node = YAML::Load(yaml)["key"];
    ASSERT_TRUE(node.IsScalar()) << yaml;
    EXPECT_EQ(node.Scalar(), text) << yaml;
  }
}

// A value of the setting that differs from its default, by trying.
std::string OtherValue(const Setting& setting, const ScratchDir& scratch) {
  const Config defaults;
  std::vector<std::string> values = absl::StrSplit(setting.value_name, '|');  // of a choice
  for (const absl::string_view value :
       absl::StrSplit("1.2.3.4:99 7 77 777777 1048577 0.12345678901234567 LOW_SCORE,DEADLINE "
                      "postgresql://voxloc@db:5432/maps?sslmode=require",
                      ' ')) {
    values.emplace_back(value);
  }
  values.push_back(scratch.Write("sensors.json", R"({"sensors": [{"name": "roof"}]})"));
  values.push_back(scratch.Write("own.yaml", "name: own\nstages: [{}]"));
  for (const std::string& value : values) {
    Config config;
    if (setting.set(value, config).ok() && setting.get(config) != setting.get(defaults)) {
      return value;
    }
  }
  return "";
}

TEST(ConfigTextTest, ThePrintedConfigurationReadsBackTheSame) {
  const ScratchDir scratch;
  std::mt19937 random(2);
  for (int round = 0; round < 20; ++round) {
    Config config;
    ConfigOrigins origins;
    for (const Setting& setting : Settings()) {
      if (round > 0 && random() % 2 == 0) continue;
      const std::string value = OtherValue(setting, scratch);
      ASSERT_NE(value, "") << "no other value of " << setting.key << " is known to this test";
      ASSERT_TRUE(setting.set(value, config).ok());
      origins[setting.key] = {ConfigOrigin::kFlag, "--a\nb"};
    }
    const auto read = ReadBack(scratch, ConfigYaml(config, origins, Settings())).value();
    for (const Setting& setting : Settings()) {
      EXPECT_EQ(setting.get(read.config), setting.get(config)) << setting.key;
    }
  }
}

TEST(ConfigTextTest, NumbersKeepAllTheirDigits) {
  const Setting* setting = FindSetting("drain_delay_s");
  for (const double value : {0.1, 1.0 / 3.0, 0.12345678901234567, 3600.0, 1e-300}) {
    Config config;
    config.drain_delay_s = value;
    Config read;
    ASSERT_TRUE(setting->set(setting->get(config), read).ok());
    EXPECT_EQ(read.drain_delay_s, value);
  }
}

TEST(ConfigTextTest, EachLineSaysWhereItsValueComesFrom) {
  const ScratchDir scratch;
  const std::string path = scratch.Write("f.yaml", "engine: cpu\nlimits:\n  max_maps: 3\n");
  const std::string flag = "--config=" + path;
  const char* const arguments[] = {"voxlocd", flag.c_str(), "--threads=2", "--print-config"};
  const char* const environment[] = {"VOXLOCD_LOG_LEVEL=warn", nullptr};
  const auto printed = ParseCommandLine(4, arguments, environment).value();
  EXPECT_THAT(printed.text, HasSubstr(absl::StrCat("\nengine: cpu  # ", path, ":1\n")));
  EXPECT_THAT(printed.text, HasSubstr(absl::StrCat("\n  max_maps: 3  # ", path, ":3\n")));
  EXPECT_THAT(printed.text, HasSubstr("\nthreads: 2  # flag --threads\n"));
  EXPECT_THAT(printed.text,
              HasSubstr("\nlog_level: warn  # environment variable VOXLOCD_LOG_LEVEL\n"));
  EXPECT_THAT(printed.text, HasSubstr("\n  max_sessions: 1024  # default\n"));
  EXPECT_THAT(printed.text, ::testing::ContainsRegex(
                                "\n  max_queued_bytes: 0  # default: [1-9][0-9]*, 1/32 of "));
}

TEST(ConfigTextTest, TheCheckListsWhatDiffersFromTheDefaults) {
  const char* const defaults[] = {"voxlocd", "--check-config", "--threads=0"};
  EXPECT_EQ(ParseCommandLine(3, defaults)->text, "OK\nall settings have their defaults\n");
  const char* const other[] = {"voxlocd", "--check-config", "--threads=3"};
  EXPECT_EQ(ParseCommandLine(3, other)->text,
            "OK\nnot as by default:\nthreads: 3  # flag --threads\n");
}

TEST(ConfigTextTest, ASecretComesFromTheEnvironmentAndIsNeverShown) {
  SettingTable table = Settings();
  Setting secret = *FindSetting("data_dir");
  secret.key = "store.password";
  secret.secret = true;
  table.push_back(secret);

  const char* const arguments[] = {"voxlocd", "--print-config"};
  const char* const environment[] = {"VOXLOCD_STORE_PASSWORD=sesame", nullptr};
  auto parsed = ParseCommandLine(2, arguments, environment, table).value();
  EXPECT_EQ(parsed.config.data_dir, "sesame");
  EXPECT_THAT(parsed.text, Not(HasSubstr("password:")));
  EXPECT_THAT(ConfigReference(table), Not(HasSubstr("password:")));
  SettingTable only_secret = {secret};
  EXPECT_EQ(ConfigDifferences(parsed.config, parsed.origins, only_secret),
            "store.password: (secret)  # environment variable VOXLOCD_STORE_PASSWORD\n");

  const ScratchDir scratch;
  EXPECT_THAT(std::string(ReadBack(scratch, "store: {password: sesame}", table).status().message()),
              HasSubstr(":1:19: store.password is a secret; set it with VOXLOCD_STORE_PASSWORD"));
  const char* const flag[] = {"voxlocd", "--store.password=sesame"};
  EXPECT_EQ(ParseCommandLine(2, flag, nullptr, table).status().message(),
            "--store.password: store.password is a secret; set it with VOXLOCD_STORE_PASSWORD");
}

}  // namespace
}  // namespace voxloc::server
