// SPDX-License-Identifier: Apache-2.0

#include <google/protobuf/descriptor.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "core/host/process_limits.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/eventually.h"

namespace voxloc::server {
namespace {

TEST(AdminService, TellsWhatItIs) {
  TestServer server([](Config& config) { config.limits.max_sessions = 77; });
  server.LoadTown();
  TestSession session(server);
  session.Open();
  const v1::GetServerInfoResponse info = ServerInfoOf(server);
  EXPECT_EQ(info.state(), v1::SERVER_STATE_SERVING);
  EXPECT_EQ(info.engine(), "cpu");
  ASSERT_EQ(info.devices_size(), 1);
  EXPECT_EQ(info.devices(0).kind(), v1::DEVICE_KIND_CPU);
  EXPECT_EQ(info.devices(0).threads(), 2);
  EXPECT_EQ(info.devices(0).memory_total_bytes(), UsableMemoryBytes());
  EXPECT_GT(info.devices(0).memory_free_bytes(), 0U);
  EXPECT_EQ(info.limits().max_map_memory_bytes(), UsableMemoryBytes() / 4 * 3);
  EXPECT_EQ(info.limits().max_sessions(), 77);
  const Limits limits;
  EXPECT_EQ(info.limits().max_recoveries(), limits.max_recoveries);
  EXPECT_EQ(info.limits().max_unopened_streams(), limits.max_unopened_streams);
  EXPECT_EQ(info.limits().max_map_readers(), limits.max_map_readers);
  EXPECT_EQ(info.limits().open_timeout_s(), limits.open_timeout_s);
  EXPECT_EQ(info.limits().idle_timeout_s(), limits.idle_timeout_s);
  EXPECT_EQ(info.profiles_size(), 2);
  EXPECT_EQ(info.default_profile(), Config().default_profile);
  EXPECT_EQ(info.open_sessions(), 1);
  EXPECT_EQ(info.maps(), 1);
  EXPECT_GE(info.now_ns(), info.started_at_ns());
}

TEST(AdminService, TellsEveryLimitOfTheContract) {
  TestServer server([](Config& config) {
    config.connections.idle_timeout_s = 12.5;
    config.connections.stream_window_bytes = 1 << 17;
  });
  const v1::Limits limits = ServerInfoOf(server).limits();
  EXPECT_EQ(limits.connection_idle_timeout_s(), 12.5);
  EXPECT_EQ(limits.stream_window_bytes(), 1U << 17U);
  std::vector<const google::protobuf::FieldDescriptor*> told;
  limits.GetReflection()->ListFields(limits, &told);
  // All but max_capture_bytes, which is 0 where nothing is captured.
  EXPECT_EQ(limits.max_capture_bytes(), 0U);
  EXPECT_EQ(told.size() + 1, static_cast<size_t>(v1::Limits::descriptor()->field_count()))
      << limits.ShortDebugString();
}

TEST(AdminService, ListsTheOpenSessions) {
  TestServer server;
  server.LoadTown();
  const auto list = [&server](const v1::ListSessionsRequest& request) {
    v1::ListSessionsResponse response;
    EXPECT_TRUE(
        server.admin->ListSessions(TestServer::NewContext().get(), request, &response).ok());
    return response;
  };
  EXPECT_EQ(list({}).sessions_size(), 0);

  v1::OpenSession open = TownSession();
  open.mutable_setup()->set_vehicle("bus 7");
  open.mutable_setup()->mutable_options()->set_profile("autoware");
  TestSession session(server);
  session.Open(open);
  const v1::AlignmentResult result = session.Align(GoodScan());
  EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_OK);
  open.set_start_inactive(true);
  open.mutable_setup()->set_vehicle("bus 8");
  TestSession sleeping(server);
  sleeping.Open(open);
  // The answer is no longer waited for after it has been sent.
  ASSERT_TRUE(Eventually([&] { return list({}).sessions(0).unanswered() == 0; }));
  const v1::ListSessionsResponse all = list({});
  ASSERT_EQ(all.sessions_size(), 2);
  const v1::SessionInfo& first = all.sessions(0);
  EXPECT_EQ(first.session(), session.opened().session());
  EXPECT_EQ(first.vehicle(), "bus 7");
  EXPECT_EQ(first.map(), "town");
  EXPECT_EQ(first.map_revision(), 1);
  EXPECT_EQ(first.profile(), "autoware");
  EXPECT_TRUE(first.active());
  EXPECT_EQ(first.accepted(), 1);
  EXPECT_EQ(first.unanswered(), 0);
  EXPECT_EQ(first.status(), v1::ALIGNMENT_STATUS_OK);
  EXPECT_GE(first.answered_at_ns(), first.opened_at_ns());
  EXPECT_FALSE(first.peer().empty());
  EXPECT_EQ(first.last_pose().map_revision(), 1);
  EXPECT_GE(first.last_pose().age_s(), 0.0);
  EXPECT_EQ(first.last_pose().map_t_base().position().x(),
            result.map_t_base().pose().position().x());
  const v1::LastAnswer& answer = first.last_answer();
  EXPECT_EQ(answer.map_t_base().ShortDebugString(), result.map_t_base().pose().ShortDebugString());
  ASSERT_EQ(answer.position_covariance_size(), 6);
  // xx, xy, xz, yy, yz, zz of six columns.
  const int places[] = {0, 1, 2, 6 + 1, 6 + 2, 12 + 2};
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(answer.position_covariance(i), result.map_t_base().covariance(places[i]));
  }
  EXPECT_EQ(answer.nvtl(), result.scores().nvtl());
  EXPECT_EQ(answer.confidence().value(), result.confidence().value());
  EXPECT_EQ(answer.server_s(), result.timings().server_s());
  ASSERT_EQ(first.by_revision_size(), 1);
  EXPECT_EQ(first.by_revision(0).revision(), 1);
  EXPECT_EQ(first.by_revision(0).mean_nvtl(), result.scores().nvtl());
  EXPECT_FALSE(all.sessions(1).has_last_answer());
  EXPECT_FALSE(all.sessions(1).active());
  EXPECT_EQ(all.sessions(1).answered_at_ns(), 0);
  EXPECT_FALSE(all.sessions(1).has_last_pose());

  v1::ListSessionsRequest page;
  page.set_page_size(1);
  v1::ListSessionsResponse response = list(page);
  ASSERT_EQ(response.sessions_size(), 1);
  EXPECT_EQ(response.sessions(0).session(), session.opened().session());
  page.set_page_token(response.next_page_token());
  response = list(page);
  ASSERT_EQ(response.sessions_size(), 1);
  EXPECT_EQ(response.sessions(0).session(), sleeping.opened().session());
  EXPECT_TRUE(response.next_page_token().empty());
  page.Clear();
  page.set_map("yard");
  EXPECT_EQ(list(page).sessions_size(), 0);
  page.set_page_token("nonsense");
  EXPECT_EQ(
      server.admin->ListSessions(TestServer::NewContext().get(), page, &response).error_code(),
      grpc::StatusCode::INVALID_ARGUMENT);
}

TEST(AdminService, TellsItsConfiguration) {
  TestServer server;
  v1::GetConfigResponse config;
  ASSERT_TRUE(
      server.admin->GetConfig(TestServer::NewContext().get(), v1::GetConfigRequest(), &config)
          .ok());
  std::map<std::string, std::string> values;
  for (const v1::ConfigEntry& entry : config.entries()) values[entry.key()] = entry.value();
  EXPECT_EQ(values["listen"], "127.0.0.1:0");
  EXPECT_EQ(values["limits.max_sessions"], "1024");
}

TEST(AdminService, SetsTheLogLevel) {
  TestServer server;
  v1::SetLogLevelRequest request;
  v1::SetLogLevelResponse response;
  EXPECT_EQ(
      server.admin->SetLogLevel(TestServer::NewContext().get(), request, &response).error_code(),
      grpc::StatusCode::INVALID_ARGUMENT);
  request.set_level(v1::LOG_LEVEL_WARN);
  ASSERT_TRUE(server.admin->SetLogLevel(TestServer::NewContext().get(), request, &response).ok());
  EXPECT_EQ(response.previous_level(), v1::LOG_LEVEL_ERROR);
}

}  // namespace
}  // namespace voxloc::server
