// SPDX-License-Identifier: Apache-2.0

#include "tests/server/test_server.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <utility>

#include "core/checksum/crc32c.h"
#include "core/engine/cpu/cpu_engine.h"
#include "tests/server/small_town.h"

namespace voxloc::server {

TestServer::TestServer(const Adjust& adjust, std::unique_ptr<Engine> engine)
    : TestServer(adjust, EngineChoice{std::move(engine), {}, ""}) {}

TestServer::TestServer(const Adjust& adjust, EngineChoice choice, std::function<void()> end) {
  CommandLine command_line;
  command_line.config.listen = "127.0.0.1:0";
  command_line.config.metrics_listen = "off";
  command_line.config.log_level = "error";
  command_line.config.drain_delay_s = 0.0;
  command_line.config.drain_spread_s = 0.0;
  command_line.config.drain_timeout_s = 0.0;
  if (adjust) adjust(command_line.config);
  if (choice.engine == nullptr) choice.engine = MakeCpuEngine({2});
  auto server = Server::Start(command_line, std::move(choice), std::move(end));
  if (!server.ok()) {
    std::cerr << "the test's server does not start: " << server.status() << std::endl;
    std::abort();
  }
  server_ = *std::move(server);
  const std::shared_ptr<grpc::Channel> channel = NewChannel();
  localization = v1::LocalizationService::NewStub(channel);
  maps = v1::MapService::NewStub(channel);
  admin = v1::AdminService::NewStub(channel);
}

std::shared_ptr<grpc::Channel> TestServer::NewChannel() const {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(64 << 20);
  return grpc::CreateCustomChannel(server_->address(), grpc::InsecureChannelCredentials(),
                                   arguments);
}

std::unique_ptr<grpc::ClientContext> TestServer::NewContext() {
  auto context = std::make_unique<grpc::ClientContext>();
  // Real time: ends a call that hangs.
  context->set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(3));
  return context;
}

void TestServer::LoadTown(const std::string& map) { LoadMap(map, SmallTown()); }

void TestServer::LoadMap(const std::string& map, const PointCloud& cloud) {
  TestUpdate update(*this);
  update.Write(BeginRequest(map));
  if (!update.Read().has_begun()) {
    FAIL() << "no transaction of map " << map << ": " << update.Finish().error_message();
  }
  update.Write(TileRequest("town", cloud));
  ASSERT_TRUE(update.Read().has_tile_added());
  update.Write(CommitRequest());
  ASSERT_TRUE(update.Read().has_committed());
  const grpc::Status status = update.Finish();
  ASSERT_TRUE(status.ok()) << status.error_message();
}

TestSession::TestSession(TestServer& server)
    : context_(TestServer::NewContext()),
      stream_(server.localization->AlignScans(context_.get())) {}

void TestSession::Open(const v1::OpenSession& open) {
  v1::AlignScansRequest request;
  *request.mutable_open() = open;
  Send(request);
  const v1::AlignScansResponse response = Read();
  ASSERT_TRUE(response.has_opened()) << Finish().error_message();
  opened_ = response.opened();
}

void TestSession::Open(const std::string& map) {
  v1::OpenSession open;
  open.mutable_setup()->set_map(map);
  open.mutable_setup()->set_vehicle("test");
  Open(open);
}

void TestSession::Send(const v1::Scan& scan) {
  v1::AlignScansRequest request;
  *request.mutable_scan() = scan;
  Send(request);
}

void TestSession::Send(const v1::AlignScansRequest& request) {
  // False when the server has ended the stream: Finish says why.
  if (!finished_) static_cast<void>(stream_->Write(request));
}

v1::AlignScansResponse TestSession::Read() {
  v1::AlignScansResponse response;
  if (finished_ || !stream_->Read(&response)) response.Clear();
  return response;
}

v1::AlignmentResult TestSession::ReadResult() {
  const v1::AlignScansResponse response = Read();
  EXPECT_TRUE(response.has_result()) << response.ShortDebugString();
  return response.result();
}

v1::AlignmentResult TestSession::Align(const v1::Scan& scan) {
  Send(scan);
  return ReadResult();
}

void TestSession::HalfClose() { stream_->WritesDone(); }

grpc::Status TestSession::Finish() {
  finished_ = true;
  return stream_->Finish();
}

grpc::Status TestSession::Close() {
  HalfClose();
  return Finish();
}

v1::OpenSession TownSession(const std::string& text) {
  v1::OpenSession open;
  open.mutable_setup()->set_map("town");
  EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(text, &open)) << text;
  return open;
}

grpc::Status OpenError(TestServer& server, const v1::OpenSession& open) {
  TestSession session(server);
  v1::AlignScansRequest request;
  *request.mutable_open() = open;
  session.Send(request);
  EXPECT_FALSE(session.Read().has_opened());
  return session.Finish();
}

v1::GetServerInfoResponse ServerInfoOf(TestServer& server) {
  v1::GetServerInfoResponse info;
  const grpc::Status status =
      server.admin->GetServerInfo(TestServer::NewContext().get(), {}, &info);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return info;
}

grpc::Status AlignInTown(TestServer& server, const v1::Scan& scan, v1::AlignmentResult& result) {
  v1::AlignScanRequest request;
  request.mutable_setup()->set_map("town");
  *request.mutable_scan() = scan;
  v1::AlignScanResponse response;
  const grpc::Status status =
      server.localization->AlignScan(TestServer::NewContext().get(), request, &response);
  result = response.result();
  return status;
}

grpc::Status DeleteMap(TestServer& server, const std::string& map) {
  v1::DeleteMapRequest request;
  request.set_map(map);
  v1::DeleteMapResponse response;
  return server.maps->DeleteMap(TestServer::NewContext().get(), request, &response);
}

TestUpdate::TestUpdate(TestServer& server)
    : context_(TestServer::NewContext()), stream_(server.maps->UpdateMapTiles(context_.get())) {}

void TestUpdate::Write(const v1::UpdateMapTilesRequest& request) {
  static_cast<void>(stream_->Write(request));
}

v1::UpdateMapTilesResponse TestUpdate::Read() {
  v1::UpdateMapTilesResponse response;
  if (!stream_->Read(&response)) response.Clear();
  return response;
}

void TestUpdate::HalfClose() { stream_->WritesDone(); }

grpc::Status TestUpdate::Finish() { return stream_->Finish(); }

v1::UpdateMapTilesRequest BeginRequest(const std::string& map, bool create) {
  v1::UpdateMapTilesRequest request;
  request.mutable_begin()->set_map(map);
  request.mutable_begin()->set_create(create);
  return request;
}

v1::UpdateMapTilesRequest TileRequest(const std::string& tile_id, const PointCloud& cloud) {
  v1::UpdateMapTilesRequest request;
  v1::TileChunk& chunk = *request.mutable_chunk();
  chunk.set_tile_id(tile_id);
  *chunk.mutable_cloud() = CloudOf(cloud);
  chunk.set_crc32c(Crc32c(chunk.cloud().data()));
  chunk.set_last(true);
  chunk.set_total_points(cloud.size());
  return request;
}

v1::UpdateMapTilesRequest RemoveRequest(const std::string& tile_id) {
  v1::UpdateMapTilesRequest request;
  request.mutable_remove()->set_tile_id(tile_id);
  return request;
}

v1::UpdateMapTilesRequest CommitRequest() {
  v1::UpdateMapTilesRequest request;
  request.mutable_commit();
  return request;
}

}  // namespace voxloc::server
