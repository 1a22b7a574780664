// SPDX-License-Identifier: Apache-2.0
//
// TestServer: the real server in this process, on ports of its own, and stubs to talk to it.
// Streams give up after a minute, so that a fault fails a test in place of hanging it.

#ifndef VOXLOC_TESTS_SERVER_TEST_SERVER_H_
#define VOXLOC_TESTS_SERVER_TEST_SERVER_H_

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <string>

#include "core/cloud/point_cloud.h"
#include "core/engine/engine.h"
#include "server/config/config.h"
#include "server/server.h"
#include "voxloc/v1/admin_service.grpc.pb.h"
#include "voxloc/v1/localization_service.grpc.pb.h"
#include "voxloc/v1/map_service.grpc.pb.h"

namespace voxloc::server {

class TestServer {
 public:
  using Adjust = std::function<void(Config&)>;

  // Two threads, no metrics endpoint, quick to stop; `adjust` may change that. A CPU engine where
  // `engine` is null.
  explicit TestServer(const Adjust& adjust = {}, std::unique_ptr<Engine> engine = nullptr);
  // `end`: as of Server::Start.
  TestServer(
      const Adjust& adjust, EngineChoice choice, std::function<void()> end = [] {});

  [[nodiscard]] Server& server() { return *server_; }
  [[nodiscard]] std::shared_ptr<grpc::Channel> NewChannel() const;

  // A context with a deadline of a minute.
  [[nodiscard]] static std::unique_ptr<grpc::ClientContext> NewContext();

  // Loads the small town, or another cloud, in one tile named "town".
  void LoadTown(const std::string& map = "town");
  void LoadMap(const std::string& map, const PointCloud& cloud);

  std::unique_ptr<v1::LocalizationService::Stub> localization;
  std::unique_ptr<v1::MapService::Stub> maps;
  std::unique_ptr<v1::AdminService::Stub> admin;

 private:
  std::unique_ptr<Server> server_;
};

// With the town in it from the beginning.
class TownServer : public TestServer {
 public:
  using TestServer::TestServer;

 private:
  [[maybe_unused]] const bool loaded_ = (LoadTown(), true);
};

// A session's client. Expectations inside fail the test.
class TestSession {
 public:
  explicit TestSession(TestServer& server);
  // Opened.
  TestSession(TestServer& server, const v1::OpenSession& open) : TestSession(server) { Open(open); }
  TestSession(TestServer& server, const std::string& map) : TestSession(server) { Open(map); }

  void Open(const v1::OpenSession& open);
  void Open(const std::string& map = "town");
  void Send(const v1::Scan& scan);
  void Send(const v1::AlignScansRequest& request);
  // The next message; one of no kind when the stream has ended.
  [[nodiscard]] v1::AlignScansResponse Read();
  // The next message, which must be a result.
  [[nodiscard]] v1::AlignmentResult ReadResult();
  // Of a scan that is sent now.
  [[nodiscard]] v1::AlignmentResult Align(const v1::Scan& scan);
  void HalfClose();
  void Cancel() { context_->TryCancel(); }
  [[nodiscard]] grpc::Status Finish();
  // Half-closes, and finishes.
  [[nodiscard]] grpc::Status Close();

  [[nodiscard]] const v1::SessionOpened& opened() const { return opened_; }

 private:
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::AlignScansRequest, v1::AlignScansResponse>> stream_;
  v1::SessionOpened opened_;
  bool finished_ = false;
};

// What opens a session in the town, with more in protobuf's text format.
[[nodiscard]] v1::OpenSession TownSession(const std::string& text = "");
// Why the server opens no such session.
[[nodiscard]] grpc::Status OpenError(TestServer& server,
                                     const v1::OpenSession& open = TownSession());

// Calls without a stream; the first one must succeed.
[[nodiscard]] v1::GetServerInfoResponse ServerInfoOf(TestServer& server);
grpc::Status AlignInTown(TestServer& server, const v1::Scan& scan, v1::AlignmentResult& result);
grpc::Status DeleteMap(TestServer& server, const std::string& map);

// A transaction's client.
class TestUpdate {
 public:
  explicit TestUpdate(TestServer& server);

  void Write(const v1::UpdateMapTilesRequest& request);
  [[nodiscard]] v1::UpdateMapTilesResponse Read();
  void HalfClose();
  void Cancel() { context_->TryCancel(); }
  [[nodiscard]] grpc::Status Finish();

 private:
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::UpdateMapTilesRequest, v1::UpdateMapTilesResponse>>
      stream_;
};

// Messages of a transaction.
[[nodiscard]] v1::UpdateMapTilesRequest BeginRequest(const std::string& map, bool create = true);
// A whole tile, correct in every respect.
[[nodiscard]] v1::UpdateMapTilesRequest TileRequest(const std::string& tile_id,
                                                    const PointCloud& cloud);
[[nodiscard]] v1::UpdateMapTilesRequest RemoveRequest(const std::string& tile_id);
[[nodiscard]] v1::UpdateMapTilesRequest CommitRequest();

}  // namespace voxloc::server

#endif  // VOXLOC_TESTS_SERVER_TEST_SERVER_H_
