// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "server/config/config_text.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::server {
namespace {

using ::testing::HasSubstr;

std::string ErrorsOf(const std::string& yaml) {
  ConfigErrors errors;
  static_cast<void>(ParseYamlSettings(yaml, "f.yaml", Settings(), errors));
  return std::string(errors.Status().message());
}

TEST(YamlSettingsTest, NestedMapsAndDotsMakeKeysWithTheirPlace) {
  ConfigErrors errors;
  const auto values =
      ParseYamlSettings("listen: 1.2.3.4:5\nlimits:\n  max-sessions: 3\nresidency.ahead_s: \"2\"\n",
                        "f.yaml", Settings(), errors);
  EXPECT_TRUE(errors.Status().ok()) << errors.Status();
  ASSERT_EQ(values.size(), 3U);
  EXPECT_EQ(values[1].key, "limits.max_sessions");
  EXPECT_EQ(values[1].value, "3");
  EXPECT_EQ(values[1].place.origin, ConfigOrigin::kFile);
  EXPECT_EQ(values[1].place.place, "f.yaml:3");
  EXPECT_EQ(values[1].where, "f.yaml:3:17");
  EXPECT_EQ(values[2].key, "residency.ahead_s");
  EXPECT_EQ(values[2].value, "2");
  EXPECT_EQ(ErrorsOf(""), "");
  EXPECT_EQ(ErrorsOf("# only a comment\n"), "");
  EXPECT_EQ(ErrorsOf("---\nlisten: a:1\n"), "");
  EXPECT_EQ(ErrorsOf("\xEF\xBB\xBFlisten: a:1\n"), "");  // with the mark of its encoding
}

TEST(YamlSettingsTest, EachKindOfErrorNamesLineAndColumn) {
  EXPECT_EQ(ErrorsOf("listen: a\nlimits:\n  max_sesions: 3\n"),
            "f.yaml:3:3: unknown key limits.max_sesions; did you mean limits.max_sessions?");
  EXPECT_EQ(ErrorsOf("qqqqqqqqqqqq: 1\n"), "f.yaml:1:1: unknown key qqqqqqqqqqqq");
  EXPECT_EQ(ErrorsOf("qqqqqqqqqqqq: {a: [1, 2]}\n"), "f.yaml:1:1: unknown key qqqqqqqqqqqq");
  EXPECT_EQ(ErrorsOf("\nlisten: [a, b]\n"), "f.yaml:2:1: listen must be one value (got a list)");
  EXPECT_EQ(ErrorsOf("listen: {a: b}\n"), "f.yaml:1:1: listen must be one value (got a map)");
  for (const char* null : {"", "~", "null"}) {
    EXPECT_EQ(ErrorsOf(absl::StrCat("data_dir: ", null, "\n")),
              "f.yaml:1:1: data_dir must be one value (got null; an empty text is \"\")");
  }
  EXPECT_EQ(ErrorsOf("limits: 3\n"),
            "f.yaml:1:1: limits must be a map of keys to values (got '3')");
  EXPECT_EQ(ErrorsOf("limits: [3]\n"),
            "f.yaml:1:1: limits must be a map of keys to values (got a list)");
  EXPECT_EQ(ErrorsOf("limits:\n"), "f.yaml:1:1: limits must be a map of keys to values (got null)");
  EXPECT_EQ(ErrorsOf("[a, b]: 3\n"), "f.yaml:1:1: a key must be a word (got a list)");
  EXPECT_EQ(ErrorsOf("- a\n"),
            "f.yaml: the configuration must be a map of keys to values (got a list)");
  EXPECT_EQ(ErrorsOf("word\n"),
            "f.yaml: the configuration must be a map of keys to values (got one value)");
  EXPECT_EQ(ErrorsOf("listen: a\n---\nlisten: b\n"),
            "f.yaml: the configuration must be one YAML document (got more)");
  // YAML::LoadAll finds documents without end in it.
  for (const char* comma : {",", "---\n,", "listen: a\n...\n,\n"}) {
    EXPECT_EQ(ErrorsOf(comma), "f.yaml: the configuration must be one YAML document (got more)");
  }
  EXPECT_THAT(ErrorsOf("listen: a\n  b: c: d\n"), HasSubstr("f.yaml:2:"));
  EXPECT_THAT(ErrorsOf("{"), HasSubstr("not YAML"));
}

TEST(YamlSettingsTest, AKeyThatIsThereTwiceIsAnErrorInEveryForm) {
  EXPECT_EQ(ErrorsOf("listen: a\nengine: cpu\nlisten: a\n"),
            "f.yaml:3:1: listen is there twice, in line 1 too");
  EXPECT_EQ(ErrorsOf("limits: {max_maps: 1}\nlimits.max-maps: 2\n"),
            "f.yaml:2:1: limits.max_maps is there twice, in line 1 too");
  EXPECT_EQ(ErrorsOf("limits:\n  max_maps: 1\nlimits:\n  max_sessions: 2\n  max_maps: 1\n"),
            "f.yaml:5:3: limits.max_maps is there twice, in line 2 too");
}

TEST(YamlSettingsTest, AllErrorsAreToldUpToABound) {
  EXPECT_EQ(ErrorsOf("a1234567: 1\nlisten: [x]\nb1234567: 1\n"),
            "f.yaml:1:1: unknown key a1234567\nf.yaml:2:1: listen must be one value (got a list)\n"
            "f.yaml:3:1: unknown key b1234567");
  std::string many;
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&many, "unknown_key_", i, ": 1\n");
  const std::string errors = ErrorsOf(many);
  EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), ConfigErrors::kMaxErrors);
  EXPECT_THAT(errors, HasSubstr("and perhaps more"));
}

TEST(YamlSettingsTest, DeepAndAliasedDocumentsEnd) {
  EXPECT_NE(ErrorsOf(std::string(100'000, '[')), "");
  std::string nested;
  for (int i = 0; i < 5000; ++i) absl::StrAppend(&nested, "{limits: ");
  EXPECT_NE(ErrorsOf(nested), "");
  // Each level doubles what it names.
  std::string doubled = "a0: &a0 {listen: x}\n";
  for (int i = 1; i < 64; ++i) {
    absl::StrAppend(&doubled, "a", i, ": &a", i, " {x: *a", i - 1, ", y: *a", i - 1, "}\n");
  }
  EXPECT_NE(ErrorsOf(doubled), "");
  std::string aliases = "limits: &l {";
  for (int i = 0; i < 500; ++i) absl::StrAppend(&aliases, "max_maps: 1, ");
  aliases += "}\n";
  for (int i = 0; i < 5000; ++i) aliases += "limits: *l\n";
  EXPECT_THAT(ErrorsOf(aliases), HasSubstr("twice"));
}

TEST(ConfigFileTest, WhatIsNoTextFileIsRefusedWithTheReason) {
  const ScratchDir scratch;
  const auto error = [](const std::string& path) {
    return std::string(ReadConfigFile(path).status().message());
  };
  EXPECT_EQ(*ReadConfigFile(scratch.Write("good.yaml", "listen: \xC3\xA9\n")),
            "listen: \xC3\xA9\n");
  EXPECT_EQ(*ReadConfigFile(scratch.Write("empty.yaml", "")), "");
  EXPECT_EQ(ReadConfigFile(scratch.Path("none.yaml")).status().code(), absl::StatusCode::kNotFound);
  std::filesystem::create_directory(scratch.Path("folder"));
  EXPECT_THAT(error(scratch.Path("folder")), HasSubstr("must be a file (got a directory)"));
  EXPECT_THAT(error(scratch.Write("latin1.yaml", "listen: x\ndata_dir: caf\xE9\n")),
              HasSubstr("must be UTF-8 text (line 2 is not)"));
  EXPECT_TRUE(
      ReadConfigFile(scratch.Write("most.yaml", std::string(kMaxConfigFileBytes, '#'))).ok());
  EXPECT_THAT(error(scratch.Write("huge.yaml", std::string(kMaxConfigFileBytes + 1, '#'))),
              HasSubstr("at most 1048576 bytes"));
  EXPECT_THAT(error("/dev/zero"), HasSubstr("at most"));
}

}  // namespace
}  // namespace voxloc::server
