// SPDX-License-Identifier: Apache-2.0

#include "tests/clients/cpp/fake_server.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"

namespace voxloc::client {
namespace {

grpc::Status Unimplemented() {
  return grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "the test does not answer this");
}

}  // namespace

class FakeServer::Localization final : public v1::LocalizationService::Service {
 public:
  explicit Localization(const FakeBehaviour& behaviour) : behaviour_(behaviour) {}

  grpc::Status AlignScans(grpc::ServerContext* context,
                          FakeBehaviour::AlignStream* stream) override {
    return behaviour_.align_scans ? behaviour_.align_scans(context, stream) : Unimplemented();
  }
  grpc::Status AlignScan(grpc::ServerContext*, const v1::AlignScanRequest* request,
                         v1::AlignScanResponse* response) override {
    return behaviour_.align_scan ? behaviour_.align_scan(*request, response) : Unimplemented();
  }
  grpc::Status EstimateInitialPose(grpc::ServerContext* context,
                                   const v1::EstimateInitialPoseRequest* request,
                                   FakeBehaviour::SearchStream* stream) override {
    return behaviour_.estimate_initial_pose
               ? behaviour_.estimate_initial_pose(context, *request, stream)
               : Unimplemented();
  }
  grpc::Status ScorePoses(grpc::ServerContext*, FakeBehaviour::ScoreStream* stream) override {
    return behaviour_.score_poses ? behaviour_.score_poses(stream) : Unimplemented();
  }

 private:
  const FakeBehaviour& behaviour_;
};

class FakeServer::Maps final : public v1::MapService::Service {
 public:
  explicit Maps(const FakeBehaviour& behaviour) : behaviour_(behaviour) {}

  grpc::Status UpdateMapTiles(grpc::ServerContext*, FakeBehaviour::UpdateStream* stream) override {
    return behaviour_.update_map_tiles ? behaviour_.update_map_tiles(stream) : Unimplemented();
  }
  grpc::Status ListMaps(grpc::ServerContext*, const v1::ListMapsRequest* request,
                        v1::ListMapsResponse* response) override {
    return behaviour_.list_maps ? behaviour_.list_maps(*request, response) : Unimplemented();
  }
  grpc::Status GetMap(grpc::ServerContext*, const v1::GetMapRequest* request,
                      v1::GetMapResponse* response) override {
    return behaviour_.get_map ? behaviour_.get_map(*request, response) : Unimplemented();
  }
  grpc::Status DeleteMap(grpc::ServerContext*, const v1::DeleteMapRequest* request,
                         v1::DeleteMapResponse* response) override {
    return behaviour_.delete_map ? behaviour_.delete_map(*request, response) : Unimplemented();
  }
  grpc::Status ListTiles(grpc::ServerContext*, const v1::ListTilesRequest* request,
                         v1::ListTilesResponse* response) override {
    return behaviour_.list_tiles ? behaviour_.list_tiles(*request, response) : Unimplemented();
  }
  grpc::Status GetTiles(grpc::ServerContext*, const v1::GetTilesRequest* request,
                        FakeBehaviour::TileStream* stream) override {
    return behaviour_.get_tiles ? behaviour_.get_tiles(*request, stream) : Unimplemented();
  }
  grpc::Status GetCells(grpc::ServerContext*, const v1::GetCellsRequest* request,
                        FakeBehaviour::CellStream* stream) override {
    return behaviour_.get_cells ? behaviour_.get_cells(*request, stream) : Unimplemented();
  }
  grpc::Status WatchMap(grpc::ServerContext* context, const v1::WatchMapRequest* request,
                        FakeBehaviour::WatchStream* stream) override {
    return behaviour_.watch_map ? behaviour_.watch_map(context, *request, stream) : Unimplemented();
  }
  grpc::Status ListRevisions(grpc::ServerContext*, const v1::ListRevisionsRequest* request,
                             v1::ListRevisionsResponse* response) override {
    return behaviour_.list_revisions ? behaviour_.list_revisions(*request, response)
                                     : Unimplemented();
  }
  grpc::Status ActivateRevision(grpc::ServerContext*, const v1::ActivateRevisionRequest* request,
                                v1::ActivateRevisionResponse* response) override {
    return behaviour_.activate_revision ? behaviour_.activate_revision(*request, response)
                                        : Unimplemented();
  }
  grpc::Status WithdrawRevision(grpc::ServerContext*, const v1::WithdrawRevisionRequest* request,
                                v1::WithdrawRevisionResponse* response) override {
    return behaviour_.withdraw_revision ? behaviour_.withdraw_revision(*request, response)
                                        : Unimplemented();
  }
  grpc::Status SetCanary(grpc::ServerContext*, const v1::SetCanaryRequest* request,
                         v1::SetCanaryResponse* response) override {
    return behaviour_.set_canary ? behaviour_.set_canary(*request, response) : Unimplemented();
  }

 private:
  const FakeBehaviour& behaviour_;
};

class FakeServer::Admin final : public v1::AdminService::Service {
 public:
  explicit Admin(const FakeBehaviour& behaviour) : behaviour_(behaviour) {}

  grpc::Status ListSessions(grpc::ServerContext*, const v1::ListSessionsRequest* request,
                            v1::ListSessionsResponse* response) override {
    return behaviour_.list_sessions ? behaviour_.list_sessions(*request, response)
                                    : Unimplemented();
  }
  grpc::Status GetServerInfo(grpc::ServerContext* context, const v1::GetServerInfoRequest*,
                             v1::GetServerInfoResponse* response) override {
    return behaviour_.get_server_info ? behaviour_.get_server_info(context, response)
                                      : Unimplemented();
  }
  grpc::Status GetConfig(grpc::ServerContext*, const v1::GetConfigRequest* request,
                         v1::GetConfigResponse* response) override {
    return behaviour_.get_config ? behaviour_.get_config(*request, response) : Unimplemented();
  }
  grpc::Status SetLogLevel(grpc::ServerContext*, const v1::SetLogLevelRequest* request,
                           v1::SetLogLevelResponse* response) override {
    return behaviour_.set_log_level ? behaviour_.set_log_level(*request, response)
                                    : Unimplemented();
  }

 private:
  const FakeBehaviour& behaviour_;
};

FakeServer::FakeServer(FakeBehaviour behaviour,
                       std::shared_ptr<grpc::ServerCredentials> credentials)
    : behaviour_(std::move(behaviour)),
      credentials_(std::move(credentials)),
      localization_(std::make_unique<Localization>(behaviour_)),
      maps_(std::make_unique<Maps>(behaviour_)),
      admin_(std::make_unique<Admin>(behaviour_)) {
  Start();
}

FakeServer::~FakeServer() { Stop(); }

std::string FakeServer::address() const { return absl::StrCat("127.0.0.1:", port_); }

void FakeServer::Start() {
  grpc::ServerBuilder builder;
  builder.AddListeningPort(absl::StrCat("127.0.0.1:", port_), credentials_, &port_);
  builder.RegisterService(localization_.get());
  builder.RegisterService(maps_.get());
  builder.RegisterService(admin_.get());
  server_ = builder.BuildAndStart();
}

void FakeServer::Stop() {
  if (server_ == nullptr) return;
  // Real time: gRPC takes a time; whatever runs is cancelled at once.
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  server_.reset();
}

Channel ChannelTo(const std::string& address) {
  ChannelOptions options;
  options.server = address;
  return *Channel::Create(options);
}

}  // namespace voxloc::client
