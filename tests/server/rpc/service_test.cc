// SPDX-License-Identifier: Apache-2.0
//
// What the server says about itself: info, configuration, health, reflection, metrics, addresses.

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "core/engine/cpu/cpu_engine.h"
#include "tests/server/plain_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"

namespace voxloc::server {
namespace {

using ::testing::HasSubstr;

TEST(Service, TellsWhatItIs) {
  TestServer server([](Config& config) { config.limits.max_sessions = 77; });
  server.LoadTown();
  TestSession session(server);
  session.Open();
  v1::GetServerInfoResponse info;
  ASSERT_TRUE(
      server.admin->GetServerInfo(TestServer::NewContext().get(), v1::GetServerInfoRequest(), &info)
          .ok());
  EXPECT_EQ(info.state(), v1::SERVER_STATE_SERVING);
  EXPECT_EQ(info.engine(), "cpu");
  ASSERT_EQ(info.devices_size(), 1);
  EXPECT_EQ(info.devices(0).kind(), v1::DEVICE_KIND_CPU);
  EXPECT_EQ(info.devices(0).threads(), 2);
  EXPECT_EQ(info.limits().max_sessions(), 77);
  EXPECT_EQ(info.profiles_size(), 2);
  EXPECT_EQ(info.default_profile(), Config().default_profile);
  EXPECT_EQ(info.open_sessions(), 1);
  EXPECT_EQ(info.maps(), 1);
  EXPECT_GE(info.now_ns(), info.started_at_ns());
}

TEST(Service, TellsItsConfiguration) {
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

TEST(Service, SetsTheLogLevel) {
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

TEST(Service, ListsMapsPageByPage) {
  TestServer server;
  for (const char* map : {"c", "a", "b"}) server.LoadTown(map);
  v1::ListMapsRequest request;
  request.set_page_size(2);
  v1::ListMapsResponse page;
  ASSERT_TRUE(server.maps->ListMaps(TestServer::NewContext().get(), request, &page).ok());
  ASSERT_EQ(page.maps_size(), 2);
  EXPECT_EQ(page.maps(0).name(), "a");
  EXPECT_EQ(page.maps(1).name(), "b");
  request.set_page_token(page.next_page_token());
  ASSERT_TRUE(server.maps->ListMaps(TestServer::NewContext().get(), request, &page).ok());
  ASSERT_EQ(page.maps_size(), 1);
  EXPECT_EQ(page.maps(0).name(), "c");
  EXPECT_EQ(page.next_page_token(), "");
}

TEST(Service, DeletesAMapOnlyAtTheRevisionAskedFor) {
  TestServer server;
  server.LoadTown();
  v1::DeleteMapRequest request;
  request.set_map("town");
  request.set_revision(9);
  v1::DeleteMapResponse response;
  EXPECT_EQ(server.maps->DeleteMap(TestServer::NewContext().get(), request, &response).error_code(),
            grpc::StatusCode::ABORTED);
  request.set_revision(1);
  EXPECT_TRUE(server.maps->DeleteMap(TestServer::NewContext().get(), request, &response).ok());
  EXPECT_EQ(server.maps->DeleteMap(TestServer::NewContext().get(), request, &response).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST(Service, SaysWhatItDoesNotOfferYet) {
  TestServer server;
  v1::DrainResponse drained;
  EXPECT_EQ(server.admin->Drain(TestServer::NewContext().get(), v1::DrainRequest(), &drained)
                .error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
  const auto expect = [](const auto& reader) {
    const grpc::Status status = reader->Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
    EXPECT_THAT(status.error_message(), HasSubstr("not yet available"));
  };
  const auto cells = TestServer::NewContext();
  expect(server.maps->GetCells(cells.get(), v1::GetCellsRequest()));
  const auto watch = TestServer::NewContext();
  expect(server.maps->WatchMap(watch.get(), v1::WatchMapRequest()));
}

TEST(Service, TellsTheHealthOfEachServiceByName) {
  TestServer server;
  std::string response;
  for (const char* service :
       {"", "voxloc.v1.LocalizationService", "voxloc.v1.MapService", "voxloc.v1.AdminService"}) {
    ASSERT_TRUE(
        CallRaw(server, "/grpc.health.v1.Health/Check", HealthRequest(service), &response).ok())
        << service;
    EXPECT_EQ(response, kServing) << service;
  }
  EXPECT_EQ(CallRaw(server, "/grpc.health.v1.Health/Check", HealthRequest("other"), &response)
                .error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST(Service, OffersReflection) {
  TestServer server;
  std::string response;
  const std::string list_services("\x3a\x00", 2);
  ASSERT_TRUE(CallRaw(server, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                      list_services, &response)
                  .ok());
  for (const char* service : {"voxloc.v1.LocalizationService", "voxloc.v1.MapService",
                              "voxloc.v1.AdminService", "grpc.health.v1.Health"}) {
    EXPECT_THAT(response, HasSubstr(service));
  }
}

TEST(Service, CountsWhatItDoes) {
  TestServer server([](Config& config) { config.metrics_listen = "127.0.0.1:0"; });
  server.LoadTown();
  const std::string address = server.server().metrics_address();
  auto before = ParseMetrics(HttpGet(address, "/metrics"));
  EXPECT_EQ(before["voxloc_maps"], 1.0);
  EXPECT_GT(before["voxloc_map_points"], 1000.0);
  EXPECT_GT(before["voxloc_map_voxels"], 100.0);
  EXPECT_GT(before["process_resident_memory_bytes"], 1e6);
  EXPECT_EQ(before.count("process_cpu_seconds_total"), 1);
  EXPECT_EQ(before["voxloc_align_result_total{status=\"OK\"}"], 0.0);
  {
    TestSession session(server);
    session.Open();
    session.Send(GoodScan());
    EXPECT_EQ(session.ReadResult().status(), v1::ALIGNMENT_STATUS_OK);
    v1::Scan bad = GoodScan();
    bad.mutable_cloud()->set_stride(5);
    session.Send(bad);
    EXPECT_EQ(session.ReadResult().status(), v1::ALIGNMENT_STATUS_INVALID_INPUT);
    auto meanwhile = ParseMetrics(HttpGet(address, "/metrics"));
    EXPECT_EQ(meanwhile["voxloc_sessions_active"], 1.0);
    EXPECT_EQ(meanwhile["voxloc_rpc_in_flight{method=\"AlignScans\"}"], 1.0);
    session.HalfClose();
    EXPECT_TRUE(session.Finish().ok());
  }
  auto after = ParseMetrics(HttpGet(address, "/metrics"));
  EXPECT_EQ(after["voxloc_align_result_total{status=\"OK\"}"], 1.0);
  EXPECT_EQ(after["voxloc_align_result_total{status=\"INVALID_INPUT\"}"], 1.0);
  EXPECT_EQ(after["voxloc_scans_received_total"], 2.0);
  EXPECT_EQ(after["voxloc_scans_dropped_total{reason=\"invalid\"}"], 1.0);
  EXPECT_EQ(after["voxloc_scan_duration_seconds_count"], 2.0);
  EXPECT_EQ(after["voxloc_align_iterations_count"], 1.0);
  EXPECT_EQ(after["voxloc_rpc_started_total{method=\"AlignScans\"}"], 1.0);
}

TEST(Service, WritesTheReadyFileAndRemovesIt) {
  const std::string path = ::testing::TempDir() + "/voxloc_ready_test.json";
  {
    TestServer server([&path](Config& config) {
      config.ready_file = path;
      config.metrics_listen = "127.0.0.1:0";
    });
    std::ifstream file(path);
    const nlohmann::json json = nlohmann::json::parse(file);
    EXPECT_EQ(json.at("listen"), server.server().address());
    EXPECT_EQ(json.at("metrics"), server.server().metrics_address());
    EXPECT_EQ(json.at("engine"), "cpu");
  }
  EXPECT_FALSE(std::ifstream(path).good());
}

TEST(Service, RefusesAnAddressThatIsTaken) {
  TestServer server([](Config& config) { config.metrics_listen = "127.0.0.1:0"; });
  CommandLine second;
  second.config.log_level = "error";
  second.config.listen = server.server().address();
  second.config.metrics_listen = "off";
  EXPECT_EQ(Server::Start(second, {MakeCpuEngine({1}), {}, ""}).status().code(),
            absl::StatusCode::kAlreadyExists);
  second.config.listen = "127.0.0.1:0";
  second.config.metrics_listen = server.server().metrics_address();
  EXPECT_EQ(Server::Start(second, {MakeCpuEngine({1}), {}, ""}).status().code(),
            absl::StatusCode::kAlreadyExists);
  second.config.metrics_listen = "nonsense";
  EXPECT_EQ(Server::Start(second, {MakeCpuEngine({1}), {}, ""}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(Service, DrainsItsSessions) {
  TestServer server([](Config& config) { config.drain_timeout_s = 60.0; });
  server.LoadTown();
  TestSession session(server);
  session.Open();
  std::thread drain([&server] { server.server().Drain(); });
  const v1::AlignScansResponse notice = session.Read();
  EXPECT_TRUE(notice.has_draining()) << notice.ShortDebugString();
  EXPECT_NE(notice.draining().reason(), "");
  session.Send(GoodScan(2));  // still answered
  EXPECT_EQ(session.ReadResult().status(), v1::ALIGNMENT_STATUS_OK);
  session.HalfClose();
  EXPECT_TRUE(session.Finish().ok());
  drain.join();  // long before its minute is over
}

TEST(Service, EndsSessionsThatDoNotLeave) {
  TestServer server;
  server.LoadTown();
  TestSession session(server);
  session.Open();
  server.server().Drain();
  EXPECT_TRUE(session.Read().has_draining());
  EXPECT_FALSE(session.Read().has_result());
  EXPECT_EQ(session.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST(Service, RefusesMoreSessionsThanAllowed) {
  TestServer server([](Config& config) { config.limits.max_sessions = 1; });
  server.LoadTown();
  TestSession first(server);
  first.Open();
  v1::AlignScansRequest open;
  open.mutable_open()->set_map("town");
  {
    TestSession second(server);
    second.Send(open);
    EXPECT_FALSE(second.Read().has_opened());
    EXPECT_EQ(second.Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  }
  first.Send(GoodScan());
  EXPECT_EQ(first.ReadResult().status(), v1::ALIGNMENT_STATUS_OK);
}

}  // namespace
}  // namespace voxloc::server
