// SPDX-License-Identifier: Apache-2.0

#include "server/config/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "server/config/settings.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<CommandLine> Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "voxlocd");
  return ParseCommandLine(static_cast<int>(arguments.size()), arguments.data());
}

std::string MessageOf(std::vector<const char*> arguments) {
  return std::string(Parse(std::move(arguments)).status().message());
}

TEST(CommandLineTest, TakesFlagsInBothForms) {
  auto parsed = Parse({"--listen=0.0.0.0:1", "--engine", "cpu", "--limits.max-sessions=5",
                       "--reflection=false", "--drain-delay-s=1.5"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->config.listen, "0.0.0.0:1");
  EXPECT_EQ(parsed->config.engine, "cpu");
  EXPECT_EQ(parsed->config.limits.max_sessions, 5);
  EXPECT_EQ(parsed->config.reflection, "false");
  EXPECT_EQ(parsed->config.drain_delay_s, 1.5);
  EXPECT_EQ(parsed->origins.at("limits.max_sessions").origin, ConfigOrigin::kFlag);
  EXPECT_EQ(parsed->origins.count("threads"), 0);
}

TEST(CommandLineTest, SwitchesOnWhatIsOffByTheFlagAlone) {
  EXPECT_FALSE(Parse({})->config.insecure);
  EXPECT_TRUE(Parse({"--insecure"})->config.insecure);
  const auto parsed = Parse({"--insecure", "--listen=0.0.0.0:1"}).value();
  EXPECT_TRUE(parsed.config.insecure);
  EXPECT_EQ(parsed.config.listen, "0.0.0.0:1");
  EXPECT_FALSE(Parse({"--insecure=false"})->config.insecure);
  EXPECT_TRUE(Parse({"--insecure=true"})->config.insecure);
}

TEST(CommandLineTest, TakesGpusAndTheirMemory) {
  auto parsed = Parse({"--engine=cuda", "--devices=2,0", "--gpu-memory-limit=8G"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_THAT(parsed->config.devices, ElementsAre(2, 0));
  EXPECT_EQ(parsed->config.gpu_memory_limit_bytes, uint64_t{8} << 30);
  EXPECT_EQ(FindSetting("devices")->get(parsed->config), "2,0");
  EXPECT_EQ(FindSetting("gpu_memory_limit")->get(parsed->config), "8589934592");
  EXPECT_EQ(Parse({"--gpu-memory-limit=512"})->config.gpu_memory_limit_bytes, 512);
  for (const char* bad : {"", "0,", "a", "-1", "0;1", "4294967296"}) {
    EXPECT_THAT(MessageOf({"--devices", bad}), HasSubstr("separated by commas")) << bad;
  }
  for (const char* bad : {"", "G", "8X", "-1", "1.5G", "99999999999T", "8GiB"}) {
    EXPECT_THAT(MessageOf({"--gpu-memory-limit", bad}), HasSubstr("such as 512M or 8G")) << bad;
  }
}

TEST(CommandLineTest, SaysWhatIsWrongWithAValue) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"--engine=gpu", "one of auto, cpu, cuda"},
      {"--limits.max-sessions=0", "from 1 to"},
      {"--drain-delay-s=nan", "drain_delay_s must be a number from 0 to 3600 (got 'nan')"},
      {"--reflection=maybe", "one of auto, true, false"},
      {"--tile-fit=maybe", "true or false"},
      {"--insecure=perhaps", "true or false"},
      {"--default-profile=fast", "one of"},
      {"--data-dir=caf\xE9", "--data-dir: data_dir must be UTF-8 text"},
      {"--devices=0,1,0", "a list without repetitions; 0 is repeated"},
      {"--lisen=x", "did you mean --listen?"},
      {"--limits.max-sesions=4", "did you mean --limits.max-sessions?"},
      {"--qqqqqqqqqq", "unknown flag --qqqqqqqqqq See"},
      {"serve", "unknown argument serve"}};
  for (const auto& [argument, says] : cases) {
    EXPECT_THAT(MessageOf({argument}), HasSubstr(says)) << argument;
  }
}

TEST(CommandLineTest, TeachesWithHelp) {
  auto parsed = Parse({"--help"});
  ASSERT_TRUE(parsed.ok());
  EXPECT_THAT(parsed->text, HasSubstr("Examples:"));
  for (const Setting& setting : Settings()) {
    EXPECT_THAT(parsed->text, HasSubstr(FlagOfKey(setting.key)));
  }
  EXPECT_THAT(Parse({"--version"})->text, HasSubstr("voxlocd "));
  EXPECT_THAT(parsed->text, HasSubstr("(0 to 4096)")) << "the range of --threads";
  EXPECT_THAT(parsed->text, HasSubstr("(0 to 3600)")) << "the range of --drain-delay-s";
}

TEST(CommandLineTest, AFlagWinsOverTheEnvironmentAndThatOverTheFile) {
  const ScratchDir scratch;
  const std::string file =
      scratch.Write("f.yaml", "limits: {max_maps: 1, max_sessions: 1, max_watchers: 1}\n");
  const std::string variable = "VOXLOCD_CONFIG=" + file;
  const char* const environment[] = {"VOXLOCD_LIMITS_MAX_MAPS=2", "VOXLOCD_LIMITS_MAX_SESSIONS=2",
                                     variable.c_str(), nullptr};
  const char* const arguments[] = {"voxlocd", "--limits.max-maps=3"};
  auto parsed = ParseCommandLine(2, arguments, environment).value();
  EXPECT_EQ(parsed.config.limits.max_maps, 3U);
  EXPECT_EQ(parsed.config.limits.max_sessions, 2U);
  EXPECT_EQ(parsed.config.limits.max_watchers, 1U);
  EXPECT_EQ(parsed.config.limits.max_searches, Limits().max_searches);
  EXPECT_EQ(parsed.origins.at("limits.max_maps").origin, ConfigOrigin::kFlag);
  EXPECT_EQ(parsed.origins.at("limits.max_maps").place, "--limits.max-maps");
  EXPECT_EQ(parsed.origins.at("limits.max_sessions").place, "VOXLOCD_LIMITS_MAX_SESSIONS");
  EXPECT_EQ(parsed.origins.at("limits.max_watchers").place, file + ":1");
  // The flag names another file.
  const std::string flag = "--config=" + scratch.Write("g.yaml", "limits: {max_watchers: 9}\n");
  const char* const with_file[] = {"voxlocd", flag.c_str()};
  EXPECT_EQ(ParseCommandLine(2, with_file, environment)->config.limits.max_watchers, 9U);
}

TEST(CommandLineTest, AllErrorsOfAllSourcesAreToldAtOnce) {
  const ScratchDir scratch;
  const std::string file = scratch.Write("f.yaml",
                                         "listen: 1.2.3.4\nlimits:\n  max_maps: 0\n  max_map: 1\n"
                                         "sensor_calibration: /no/such/file\n");
  const std::string flag = "--config=" + file;
  const char* const environment[] = {"VOXLOCD_ENGINE=gpu", nullptr};
  const char* const arguments[] = {"voxlocd", flag.c_str(), "--threads=many"};
  const auto parsed = ParseCommandLine(3, arguments, environment);
  const std::string errors(parsed.status().message());
  for (const std::string& error :
       {file + ":4:3: unknown key limits.max_map; did you mean limits.max_maps?",
        file + ":1:9: listen must be ADDR:PORT with a port from 0 to 65535, such as "
               "127.0.0.1:50051 or "
               "[::1]:50051 (got '1.2.3.4')",
        file + ":3:13: limits.max_maps must be a whole number from 1 to 10000 (got '0')",
        file + ":5:21: sensor_calibration: ",
        std::string("VOXLOCD_ENGINE: engine must be one of auto, cpu, cuda (got 'gpu')"),
        std::string("--threads: threads must be a whole number from 0 to 4096 (got 'many')")}) {
    EXPECT_THAT(errors, HasSubstr(error));
  }
  EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 5);
}

TEST(CommandLineTest, AddressesAreCheckedAtOnce) {
  for (const char* bad : {"", "localhost", ":1", "a:", "a:70000", "a:115587", "a:-1", "a:+1", "a:b",
                          "::1:1", "a/b:1", "off"}) {
    EXPECT_THAT(MessageOf({"--listen", bad}), HasSubstr("listen must be ADDR:PORT")) << bad;
    EXPECT_THAT(MessageOf({"--listen", bad}), HasSubstr("from 0 to 65535")) << bad;
  }
  for (const char* good : {"127.0.0.1:0", "[::1]:50051", "localhost:65535"}) {
    EXPECT_TRUE(Parse({"--listen", good}).ok()) << good;
  }
  EXPECT_TRUE(Parse({"--metrics-listen=off"}).ok());
}

TEST(CommandLineTest, ThePortOfTheDatabaseIsChecked) {
  EXPECT_TRUE(Parse({"--store.url=postgresql://u@a,[::1]:5433,:5434/maps?a=b:c"}).ok());
  EXPECT_THAT(MessageOf({"--store.url=postgresql://u@a:1,b:70968/maps"}),
              HasSubstr("store.url must have a port from 1 to 65535 (got '70968')"));
}

TEST(SettingsTest, TheSensorCalibrationIsReadWithTheConfiguration) {
  const ScratchDir scratch;
  const std::string path =
      scratch.Write("sensors.json", R"({"sensors": [{"name": "roof"}, {"name": "front"}]})");
  const Setting* setting = FindSetting("sensor_calibration");
  ASSERT_NE(setting, nullptr);
  Config config;
  ASSERT_TRUE(setting->set(path, config).ok()) << setting->set(path, config);
  EXPECT_EQ(setting->get(config), path);
  EXPECT_THAT(config.sensors.Names(), ::testing::ElementsAre("default", "roof", "front"));

  const std::string bad = scratch.Write("bad.json", R"({"sensors": [{"nam": "roof"}]})");
  const absl::Status status = setting->set(bad, config);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              ::testing::AllOf(::testing::HasSubstr("sensor_calibration: " + bad),
                               ::testing::HasSubstr("did you mean name?")));
  EXPECT_EQ(setting->set(scratch.Path("none.json"), config).code(), absl::StatusCode::kNotFound);
  // What could not be read changes nothing.
  EXPECT_EQ(config.sensor_calibration, path);
}

TEST(SettingsTest, ProfilesAreReadWithTheConfiguration) {
  const ScratchDir scratch;
  const std::string own = scratch.Write("own.yaml", "name: own\nstages: [{step_size_m: 0.2}]");
  const std::string other = scratch.Write("other.yaml", "name: other\nstages: [{}]");
  const std::string files = "--profile-files=" + own + "," + other;
  // Also where the name comes before the files.
  auto parsed = Parse({"--default-profile=other", files.c_str()});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_THAT(parsed->config.profiles.Names(), ElementsAre("autoware", "precise", "own", "other"));
  EXPECT_EQ(parsed->config.profiles.Find("own")->stages[0].max_step, 0.2);
  EXPECT_EQ(FindSetting("profile_files")->get(parsed->config), own + "," + other);
  EXPECT_EQ(MessageOf({"--default-profile=fast", files.c_str()}),
            "--default-profile: default_profile must be one of autoware, precise, own, other (got "
            "'fast')");

  const auto refused = [&scratch](const std::string& text) {
    const std::string path = scratch.Write("bad.yaml", text);
    const std::string flag = "--profile-files=" + path;
    const std::string message = MessageOf({flag.c_str()});
    EXPECT_THAT(message, HasSubstr("--profile-files: profile_files: " + path + ":"));
    return message;
  };
  EXPECT_THAT(refused("name: bad\nstages: [{step_size_m: 0}]"),
              HasSubstr(":2: stages[0].step_size_m must be over 0 and at most 100 (got 0)"));
  EXPECT_THAT(refused("name: precise\nstages: [{}]"), HasSubstr("(got 'precise')"));
  EXPECT_EQ(Parse({"--profile-files=/no/such/file"}).status().code(), absl::StatusCode::kNotFound);
}

TEST(SettingsTest, WhatTheTransportMayHoldFollowsFromTheOtherLimits) {
  auto parsed = Parse({"--limits.max-queued-bytes=1048576", "--limits.max-reply-bytes=2097152",
                       "--limits.max-message-bytes=65536", "--limits.max-searches=1",
                       "--limits.max-scoring-streams=2", "--limits.max-map-transactions=3"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(TransportBytes(parsed->config.limits), 1'048'576 + 2'097'152 + 6 * 65'536);
  parsed = Parse({"--limits.max-transport-bytes=4G", "--limits.max-transport-threads=3"});
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(TransportBytes(parsed->config.limits), uint64_t{4} << 30);
  EXPECT_EQ(parsed->config.limits.max_transport_threads, 3);
}

}  // namespace
}  // namespace voxloc::server
