// SPDX-License-Identifier: Apache-2.0
//
// A server in the test's process that answers as the test tells it to, over a real connection. It
// can be stopped and started again on the same port.

#ifndef VOXLOC_TESTS_CLIENTS_CPP_FAKE_SERVER_H_
#define VOXLOC_TESTS_CLIENTS_CPP_FAKE_SERVER_H_

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <functional>
#include <memory>
#include <string>

#include "clients/cpp/channel.h"
#include "voxloc/v1/admin_service.grpc.pb.h"
#include "voxloc/v1/localization_service.grpc.pb.h"
#include "voxloc/v1/map_service.grpc.pb.h"

namespace voxloc::client {

// What a test replaces; anything left empty answers UNIMPLEMENTED.
struct FakeBehaviour {
  using AlignStream = grpc::ServerReaderWriter<v1::AlignScansResponse, v1::AlignScansRequest>;
  using ScoreStream = grpc::ServerReaderWriter<v1::ScorePosesResponse, v1::ScorePosesRequest>;
  using SearchStream = grpc::ServerWriter<v1::EstimateInitialPoseResponse>;
  using UpdateStream =
      grpc::ServerReaderWriter<v1::UpdateMapTilesResponse, v1::UpdateMapTilesRequest>;
  using TileStream = grpc::ServerWriter<v1::GetTilesResponse>;
  using CellStream = grpc::ServerWriter<v1::GetCellsResponse>;
  using WatchStream = grpc::ServerWriter<v1::WatchMapResponse>;

  std::function<grpc::Status(grpc::ServerContext*, AlignStream*)> align_scans;
  std::function<grpc::Status(const v1::AlignScanRequest&, v1::AlignScanResponse*)> align_scan;
  std::function<grpc::Status(ScoreStream*)> score_poses;
  std::function<grpc::Status(grpc::ServerContext*, const v1::EstimateInitialPoseRequest&,
                             SearchStream*)>
      estimate_initial_pose;
  std::function<grpc::Status(UpdateStream*)> update_map_tiles;
  std::function<grpc::Status(const v1::ListMapsRequest&, v1::ListMapsResponse*)> list_maps;
  std::function<grpc::Status(const v1::GetMapRequest&, v1::GetMapResponse*)> get_map;
  std::function<grpc::Status(const v1::DeleteMapRequest&, v1::DeleteMapResponse*)> delete_map;
  std::function<grpc::Status(const v1::ListTilesRequest&, v1::ListTilesResponse*)> list_tiles;
  std::function<grpc::Status(const v1::GetTilesRequest&, TileStream*)> get_tiles;
  std::function<grpc::Status(const v1::GetCellsRequest&, CellStream*)> get_cells;
  std::function<grpc::Status(grpc::ServerContext*, const v1::WatchMapRequest&, WatchStream*)>
      watch_map;
  std::function<grpc::Status(const v1::ListRevisionsRequest&, v1::ListRevisionsResponse*)>
      list_revisions;
  std::function<grpc::Status(const v1::ActivateRevisionRequest&, v1::ActivateRevisionResponse*)>
      activate_revision;
  std::function<grpc::Status(const v1::WithdrawRevisionRequest&, v1::WithdrawRevisionResponse*)>
      withdraw_revision;
  std::function<grpc::Status(const v1::SetCanaryRequest&, v1::SetCanaryResponse*)> set_canary;
  std::function<grpc::Status(const v1::ListSessionsRequest&, v1::ListSessionsResponse*)>
      list_sessions;
  std::function<grpc::Status(const v1::GetConfigRequest&, v1::GetConfigResponse*)> get_config;
  std::function<grpc::Status(const v1::SetLogLevelRequest&, v1::SetLogLevelResponse*)>
      set_log_level;
  std::function<grpc::Status(grpc::ServerContext*, v1::GetServerInfoResponse*)> get_server_info;
};

class FakeServer {
 public:
  explicit FakeServer(
      FakeBehaviour behaviour,
      std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials());
  ~FakeServer();

  // HOST:PORT, the same after a restart.
  [[nodiscard]] std::string address() const;

  // Ends all streams at once: clients see UNAVAILABLE or CANCELLED as the connection breaks.
  void Stop();
  void Start();

 private:
  class Localization;
  class Maps;
  class Admin;

  FakeBehaviour behaviour_;
  std::shared_ptr<grpc::ServerCredentials> credentials_;
  std::unique_ptr<Localization> localization_;
  std::unique_ptr<Maps> maps_;
  std::unique_ptr<Admin> admin_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

// A channel without credentials.
[[nodiscard]] Channel ChannelTo(const std::string& address);

}  // namespace voxloc::client

#endif  // VOXLOC_TESTS_CLIENTS_CPP_FAKE_SERVER_H_
