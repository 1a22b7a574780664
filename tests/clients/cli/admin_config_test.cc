// SPDX-License-Identifier: Apache-2.0
//
// `voxloc admin config` against a server in the test's process, and what it prints.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "clients/cli/commands/commands.h"
#include "tests/clients/cpp/fake_server.h"

namespace voxloc::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

const std::string& LongPath() {
  static const auto& path = *new std::string("/var/lib/" + std::string(200, 'd') + "/end");
  return path;
}

class AdminConfig : public ::testing::Test {
 protected:
  // What the command prints, a line each; standard output is no terminal.
  std::vector<std::string> Lines(const std::vector<std::string>& flags) {
    std::vector<std::string> arguments = {"admin", "config", "--server", server_.address()};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const ParsedCommandLine parsed = ParseCommandLine(arguments);
    if (!parsed.work) {
      ADD_FAILURE() << parsed.error;
      return {};
    }
    ::testing::internal::CaptureStdout();
    const absl::StatusOr<ExitCode> code = parsed.work();
    const std::string text = ::testing::internal::GetCapturedStdout();
    EXPECT_TRUE(code.ok()) << code.status();
    return absl::StrSplit(text, '\n', absl::SkipEmpty());
  }

 private:
  static client::FakeBehaviour Behaviour() {
    client::FakeBehaviour behaviour;
    behaviour.get_config = [](const v1::GetConfigRequest&, v1::GetConfigResponse* response) {
      v1::ConfigEntry* entry = response->add_entries();
      entry->set_key("data_dir");
      entry->set_value(LongPath());
      entry->set_source(v1::CONFIG_SOURCE_FILE);
      entry->set_place("voxlocd.yaml:3");
      entry = response->add_entries();
      entry->set_key("log_level");
      entry->set_value("info");
      entry->set_source(v1::CONFIG_SOURCE_DEFAULT);
      entry->set_reloadable(true);
      return grpc::Status::OK;
    };
    return behaviour;
  }

  client::FakeServer server_{Behaviour()};
};

TEST_F(AdminConfig, HasAColumnForEachPartOfAnEntryAndCutsNothingWithoutATerminal) {
  const std::vector<std::string> lines = Lines({});
  ASSERT_THAT(lines, SizeIs(3));
  for (const char* title : {"value", "source", "place", "change"}) {
    EXPECT_THAT(lines[0], HasSubstr(title));
  }
  EXPECT_THAT(lines[0], StartsWith("key        value"));
  EXPECT_EQ(lines[1], "data_dir   " + LongPath() + "  file     voxlocd.yaml:3  restart");
  EXPECT_THAT(lines[2], StartsWith("log_level  info  "));
  EXPECT_THAT(lines[2], HasSubstr("  default  "));
  EXPECT_THAT(lines[2], HasSubstr("SIGHUP"));
}

TEST_F(AdminConfig, WidthCutsTheLongestValuesAndKeepsTheOtherColumns) {
  const std::vector<std::string> lines = Lines({"--width", "80"});
  ASSERT_THAT(lines, SizeIs(3));
  for (const std::string& line : lines) EXPECT_LE(line.size(), 80U) << line;
  EXPECT_THAT(lines[1], Not(HasSubstr(LongPath())));
  EXPECT_THAT(lines[1], StartsWith("data_dir   /var/lib/"));
  EXPECT_THAT(lines[1], HasSubstr("end  file     voxlocd.yaml:3  restart"));
  EXPECT_THAT(lines[2], StartsWith("log_level  info  "));
}

}  // namespace
}  // namespace voxloc::cli
