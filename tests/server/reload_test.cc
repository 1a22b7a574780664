// SPDX-License-Identifier: Apache-2.0
//
// Server::Reload: what changes without a restart, seen by clients.

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "server/config/settings.h"
#include "server/observe/logging.h"
#include "tests/server/map_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"

namespace voxloc::server {
namespace {

// As a file would set it, beside what TestServer sets.
CommandLine Given(const std::map<std::string, std::string>& values) {
  CommandLine next;
  next.config.listen = "127.0.0.1:0";
  next.config.metrics_listen = "off";
  next.config.log_level = "error";
  next.config.drain_delay_s = 0.0;
  next.config.drain_timeout_s = 0.0;
  for (const auto& [key, value] : values) {
    EXPECT_TRUE(FindSetting(key)->set(value, next.config).ok()) << key;
    next.origins[key] = {ConfigOrigin::kFile, "f.yaml:1"};
  }
  return next;
}

v1::Limits LimitsOf(TestServer& server) { return ServerInfoOf(server).limits(); }

double ValueIn(const v1::Limits& limits, const std::string& name) {
  const google::protobuf::FieldDescriptor* field = v1::Limits::descriptor()->FindFieldByName(name);
  if (field == nullptr) {
    ADD_FAILURE() << "GetServerInfo has no limit " << name;
    return -1.0;
  }
  const google::protobuf::Reflection& values = *limits.GetReflection();
  switch (field->cpp_type()) {
    case google::protobuf::FieldDescriptor::CPPTYPE_UINT32:
      return values.GetUInt32(limits, field);
    case google::protobuf::FieldDescriptor::CPPTYPE_UINT64:
      return static_cast<double>(values.GetUInt64(limits, field));
    default:
      return values.GetDouble(limits, field);
  }
}

// A value that the setting takes, other than its default and 0.
std::string OtherLimit(const Setting& setting) {
  for (const char* value : {"3", "77", "70000", "3000000"}) {
    Config config;
    if (setting.set(value, config).ok() && setting.get(config) != setting.get(Config())) {
      return value;
    }
  }
  return "";
}

TEST(ReloadTest, EveryLimitIsInGetServerInfoAndTheReloadableOnesChange) {
  TestServer server;
  std::map<std::string, std::string> values;
  for (const Setting& setting : Settings()) {
    if (!absl::StartsWith(setting.key, "limits.")) continue;
    values[setting.key] = OtherLimit(setting);
    ASSERT_NE(values[setting.key], "") << setting.key;
  }
  ASSERT_GT(values.size(), 35U);
  const v1::Limits before = LimitsOf(server);
  server.server().Reload(Given(values));
  const v1::Limits after = LimitsOf(server);
  for (const auto& [key, text] : values) {
    const std::string name(absl::StripPrefix(key, "limits."));
    double value = 0.0;
    ASSERT_TRUE(absl::SimpleAtod(text, &value));
    ASSERT_NE(ValueIn(before, name), value) << key;
    EXPECT_EQ(ValueIn(after, name), FindSetting(key)->reloadable ? value : ValueIn(before, name))
        << key;
  }
}

TEST(ReloadTest, TheConfigurationInEffectSaysWhereItsValuesComeFrom) {
  TestServer server;
  server.server().Reload(Given({{"limits.max_sessions", "5"}, {"kept_revisions", "99"}}));
  v1::GetConfigResponse config;
  ASSERT_TRUE(
      server.admin->GetConfig(TestServer::NewContext().get(), v1::GetConfigRequest(), &config)
          .ok());
  std::map<std::string, v1::ConfigEntry> entries;
  for (const v1::ConfigEntry& entry : config.entries()) entries[entry.key()] = entry;
  EXPECT_EQ(entries.size(), Settings().size());
  const v1::ConfigEntry& changed = entries["limits.max_sessions"];
  EXPECT_EQ(changed.value(), "5");
  EXPECT_EQ(changed.source(), v1::CONFIG_SOURCE_FILE);
  EXPECT_EQ(changed.place(), "f.yaml:1");
  EXPECT_TRUE(changed.reloadable());
  EXPECT_EQ(entries["kept_revisions"].value(), "10");
  EXPECT_EQ(entries["kept_revisions"].source(), v1::CONFIG_SOURCE_DEFAULT);
  EXPECT_FALSE(entries["kept_revisions"].reloadable());
  EXPECT_EQ(entries["threads"].source(), v1::CONFIG_SOURCE_DETECTED);
  EXPECT_NE(entries["threads"].value(), "0");
  EXPECT_NE(entries["threads"].place(), "");
  EXPECT_EQ(entries["limits.max_queued_bytes"].source(), v1::CONFIG_SOURCE_DETECTED);
}

TEST(ReloadTest, OpenSessionsStayAndNewOnesFindTheNewLimit) {
  TownServer server;
  TestSession first(server, "town");
  server.server().Reload(Given({{"limits.max_sessions", "1"}, {"limits.max_waiting_scans", "3"}}));
  v1::OpenSession open = TownSession();
  open.mutable_limits()->set_max_waiting_scans(60);
  EXPECT_EQ(OpenError(server, open).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);

  server.server().Reload(Given({{"limits.max_sessions", "2"}, {"limits.max_waiting_scans", "3"}}));
  TestSession third(server, open);
  EXPECT_EQ(third.opened().limits().max_waiting_scans(), 3U);
  // The first one goes on.
  v1::AlignScansRequest configure;
  configure.mutable_configure();
  first.Send(configure);
  EXPECT_TRUE(first.Read().has_configured());
}

TEST(ReloadTest, StreamsAndMapsFindTheNewLimits) {
  TownServer server;
  server.server().Reload(Given({{"limits.max_scoring_streams", "1"},
                                {"limits.max_map_transactions", "1"},
                                {"limits.max_chunk_bytes", "2048"}}));
  {
    TestUpdate open(server);
    open.Write(BeginRequest("town"));
    const v1::UpdateMapTilesResponse begun = open.Read();
    ASSERT_TRUE(begun.has_begun());
    EXPECT_EQ(begun.begun().max_chunk_bytes(), 2048U);
    TestUpdate one_too_many(server);
    one_too_many.Write(BeginRequest("town"));
    EXPECT_FALSE(one_too_many.Read().has_begun());
    EXPECT_EQ(one_too_many.Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    open.Write(TileRequest("large", SmallTown()));
    EXPECT_FALSE(open.Read().has_tile_added());
    EXPECT_EQ(open.Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  }
  server.server().Reload(Given({{"limits.max_maps", "1"}}));
  const auto load_yard = [&server] {
    const UpdateOutcome outcome = RunUpdate(
        server, {BeginRequest("yard"), TileRequest("town", SmallTown()), CommitRequest()});
    EXPECT_EQ(outcome.added.size(), 1U);
    return outcome.status.error_code();
  };
  EXPECT_EQ(load_yard(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  server.server().Reload(Given({}));
  EXPECT_EQ(load_yard(), grpc::StatusCode::OK);
}

TEST(ReloadTest, AConfigurationWithErrorsChangesNothing) {
  TestServer server;
  int asked = 0;
  server.server().OnReload("part", [&asked] {
    ++asked;
    return absl::OkStatus();
  });
  const v1::Limits before = LimitsOf(server);
  server.server().Reload(absl::InvalidArgumentError("one\ntwo"));
  EXPECT_EQ(LimitsOf(server).SerializeAsString(), before.SerializeAsString());
  EXPECT_EQ(asked, 0);
}

TEST(ReloadTest, PartsAreAskedInTheirOrderAlsoAfterOneFails) {
  TestServer server;
  std::string asked;
  server.server().OnReload("first", [&asked] {
    asked += "1";
    return absl::InvalidArgumentError("wrong file");
  });
  server.server().OnReload("second", [&asked] {
    asked += "2";
    return absl::OkStatus();
  });
  server.server().Reload(Given({}));
  EXPECT_EQ(asked, "12");
  server.server().Drain();
  server.server().Reload(Given({}));
  EXPECT_EQ(asked, "12");
}

TEST(ReloadTest, TheLogLevelIsThatOfTheConfigurationAgain) {
  TestServer server;
  v1::SetLogLevelRequest request;
  request.set_level(v1::LOG_LEVEL_WARN);
  v1::SetLogLevelResponse response;
  ASSERT_TRUE(server.admin->SetLogLevel(TestServer::NewContext().get(), request, &response).ok());
  server.server().Reload(Given({}));
  EXPECT_EQ(SetLogLevel(LogLevel::kError), LogLevel::kError);
}

TEST(ReloadTest, SessionsAreServedWhileLimitsChange) {
  TownServer server;
  std::atomic<bool> done{false};
  std::vector<std::thread> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back([&server, &done] {
      while (!done) {
        TestSession session(server, "town");
        EXPECT_TRUE(session.Close().ok());
        static_cast<void>(LimitsOf(server));
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    server.server().Reload(Given({{"limits.max_sessions", i % 2 == 0 ? "100" : "200"},
                                  {"limits.idle_timeout_s", i % 2 == 0 ? "100" : "200"},
                                  {"limits.max_queued_scans", i % 2 == 0 ? "100" : "200"}}));
  }
  done = true;
  for (std::thread& client : clients) client.join();
}

}  // namespace
}  // namespace voxloc::server
