// SPDX-License-Identifier: Apache-2.0
//
// Calls of one request and one answer, and scoring.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "clients/cpp/admin_client.h"
#include "clients/cpp/align.h"
#include "clients/cpp/backoff.h"
#include "clients/cpp/channel_impl.h"
#include "clients/cpp/error_details.h"
#include "clients/cpp/map_client.h"
#include "clients/cpp/map_upload.h"
#include "clients/cpp/messages.h"
#include "clients/cpp/score_client.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "tests/clients/cpp/fake_maps.h"
#include "tests/clients/cpp/fake_server.h"
#include "tests/core/cloud/io/cloud_bytes.h"
#include "tests/support/eventually.h"

namespace voxloc::client {
namespace {

using ::testing::HasSubstr;

TEST(RpcStatus, KeepsEveryCode) {
  const std::vector<std::pair<grpc::StatusCode, absl::StatusCode>> pairs = {
      {grpc::StatusCode::CANCELLED, absl::StatusCode::kCancelled},
      {grpc::StatusCode::UNKNOWN, absl::StatusCode::kUnknown},
      {grpc::StatusCode::INVALID_ARGUMENT, absl::StatusCode::kInvalidArgument},
      {grpc::StatusCode::DEADLINE_EXCEEDED, absl::StatusCode::kDeadlineExceeded},
      {grpc::StatusCode::NOT_FOUND, absl::StatusCode::kNotFound},
      {grpc::StatusCode::ALREADY_EXISTS, absl::StatusCode::kAlreadyExists},
      {grpc::StatusCode::PERMISSION_DENIED, absl::StatusCode::kPermissionDenied},
      {grpc::StatusCode::RESOURCE_EXHAUSTED, absl::StatusCode::kResourceExhausted},
      {grpc::StatusCode::FAILED_PRECONDITION, absl::StatusCode::kFailedPrecondition},
      {grpc::StatusCode::ABORTED, absl::StatusCode::kAborted},
      {grpc::StatusCode::OUT_OF_RANGE, absl::StatusCode::kOutOfRange},
      {grpc::StatusCode::UNIMPLEMENTED, absl::StatusCode::kUnimplemented},
      {grpc::StatusCode::INTERNAL, absl::StatusCode::kInternal},
      {grpc::StatusCode::UNAVAILABLE, absl::StatusCode::kUnavailable},
      {grpc::StatusCode::DATA_LOSS, absl::StatusCode::kDataLoss},
      {grpc::StatusCode::UNAUTHENTICATED, absl::StatusCode::kUnauthenticated}};
  for (const auto& pair : pairs) {
    const absl::Status status = ToAbslStatus(grpc::Status(pair.first, "why"), "host:1", "Call");
    EXPECT_EQ(status.code(), pair.second);
    EXPECT_EQ(status.message(), "host:1 Call: why");
  }
  EXPECT_TRUE(ToAbslStatus(grpc::Status::OK, "host:1", "Call").ok());
}

// As a server in another language would write them.
TEST(RpcStatus, KeepsWhyAndWhenToTryAgain) {
  google::rpc::ErrorInfo info;
  info.set_reason("TOO_MANY_SESSIONS");
  info.set_domain("voxloc");
  (*info.mutable_metadata())["limit"] = "64";
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(2);
  retry.mutable_retry_delay()->set_nanos(500'000'000);
  google::rpc::Status details;
  details.add_details()->PackFrom(info);
  details.add_details()->PackFrom(retry);
  const grpc::Status said(grpc::StatusCode::RESOURCE_EXHAUSTED, "full",
                          details.SerializeAsString());
  const absl::Status status = ToAbslStatus(said, "host:1", "Call");
  EXPECT_EQ(ReasonOf(status), "TOO_MANY_SESSIONS");
  EXPECT_EQ(ReasonValue(status, "limit"), "64");
  EXPECT_EQ(ReasonValue(status, "map"), "");
  EXPECT_EQ(RetryAfterS(status), 2.5);

  const absl::Status plain = ToAbslStatus(
      grpc::Status(grpc::StatusCode::UNAVAILABLE, "gone", "not a google.rpc.Status"), "h:1", "C");
  EXPECT_EQ(plain.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ReasonOf(plain), "");
  EXPECT_EQ(RetryAfterS(plain), std::nullopt);
}

TEST(Channel, RefusesAddressesWithoutAPort) {
  ChannelOptions options;
  EXPECT_EQ(Channel::Create(options).status().code(), absl::StatusCode::kInvalidArgument);
  options.server = "localhost";
  EXPECT_THAT(std::string(Channel::Create(options).status().message()), HasSubstr("HOST:PORT"));
  options.server = "unix:/tmp/socket";
  EXPECT_TRUE(Channel::Create(options).ok());
}

// gRPC takes ports modulo 65536, and would reach 50051 by the first.
TEST(Channel, RefusesPortsThatAreNone) {
  ChannelOptions options;
  for (const char* server : {"localhost:115587", "dns:localhost:115587", "dns:///localhost:115587",
                             "ipv4:127.0.0.1:115587", "ipv6:[::1]:115587"}) {
    options.server = server;
    EXPECT_THAT(std::string(Channel::Create(options).status().message()),
                ::testing::AllOf(HasSubstr("1 to 65535"), HasSubstr("115587')")))
        << server;
  }
  for (const char* server :
       {"localhost:0", "localhost:-1", "localhost:http", "::1", "http://localhost:50051"}) {
    EXPECT_EQ(Channel::CheckServer(server).code(), absl::StatusCode::kInvalidArgument) << server;
  }
  for (const char* server : {"localhost:50051", "dns:///localhost:50051", "ipv6:[::1]:50051",
                             "[::1]:1, 10.0.0.1:65535"}) {
    EXPECT_TRUE(Channel::CheckServer(server).ok()) << server;
  }
}

TEST(Backoff, GrowsUpToItsLongestWaitAndIsBounded) {
  ReconnectOptions options;
  options.max_attempts = 20;
  options.initial_wait_s = 0.1;
  options.max_wait_s = 2.0;
  options.factor = 2.0;
  options.jitter = 0.25;
  Backoff backoff(options, 1);
  double nominal = 0.1;
  int attempts = 0;
  while (backoff.CanRetry()) {
    const double wait = backoff.NextWait();
    EXPECT_GE(wait, 0.75 * nominal);
    EXPECT_LE(wait, 1.25 * nominal);
    nominal = std::min(2.0, 2.0 * nominal);
    ++attempts;
  }
  EXPECT_EQ(attempts, 20);
  backoff.Reset();
  EXPECT_TRUE(backoff.CanRetry());
  EXPECT_LE(backoff.NextWait(), 0.125);
}

TEST(MapClient, ReadsAllPages) {
  FakeBehaviour behaviour;
  behaviour.list_maps = [](const v1::ListMapsRequest& request, v1::ListMapsResponse* response) {
    response->add_maps()->set_name(request.page_token().empty() ? "a" : "b");
    if (request.page_token().empty()) response->set_next_page_token("more");
    return grpc::Status::OK;
  };
  FakeServer server(behaviour);
  const auto maps = MapClient(ChannelTo(server.address())).List(20.0);
  ASSERT_TRUE(maps.ok()) << maps.status();
  ASSERT_EQ(maps->size(), 2u);
  EXPECT_EQ((*maps)[1].name(), "b");
}

TEST(MapClient, PutsThePagesOfTilesTogether) {
  FakeBehaviour behaviour;
  behaviour.list_tiles = [](const v1::ListTilesRequest& request, v1::ListTilesResponse* response) {
    EXPECT_EQ(request.map(), "town");
    EXPECT_EQ(request.region().max().x(), 5.0);
    response->set_map_revision(3);
    response->add_tiles()->set_tile_id(request.page_token().empty() ? "a" : "b");
    if (request.page_token().empty()) response->set_next_page_token("more");
    return grpc::Status::OK;
  };
  FakeServer server(behaviour);
  v1::ListTilesRequest request;
  request.set_map("town");
  request.mutable_region()->mutable_max()->set_x(5.0);
  request.set_page_token("not used");
  const auto tiles = MapClient(ChannelTo(server.address())).ListTiles(request, 20.0);
  ASSERT_TRUE(tiles.ok()) << tiles.status();
  EXPECT_EQ(tiles->map_revision(), 3u);
  ASSERT_EQ(tiles->tiles_size(), 2);
  EXPECT_EQ(tiles->tiles(1).tile_id(), "b");
  EXPECT_EQ(tiles->next_page_token(), "");
}

// The map of FakeMaps with two tiles.
void UploadTwoTiles(const FakeServer& server) {
  std::vector<UploadTile> tiles;
  for (const uint64_t seed : {1u, 2u}) {
    const auto load = [seed]() -> absl::StatusOr<PointCloud> {
      PointCloud cloud = RandomCloud(100, seed, false);
      cloud.origin = {4e6, 0.25, static_cast<double>(seed)};
      return cloud;
    };
    tiles.push_back({"tile " + std::to_string(seed), load, std::nullopt});
  }
  UploadOptions options;
  options.transaction.begin.set_map("town");
  ASSERT_TRUE(UploadTiles(ChannelTo(server.address()), std::move(tiles), options).ok());
}

TEST(MapClient, GetsTilesAsTheyWereSent) {
  FakeMaps maps;
  FakeServer server(maps.Behaviour());
  UploadTwoTiles(server);
  v1::GetTilesRequest request;
  request.set_map("town");
  request.add_tile_ids("tile 1");
  request.add_tile_ids("tile 2");
  std::vector<std::string> ids;
  const MapClient client(ChannelTo(server.address()));
  const auto receive = [&ids](const v1::TileInfo& tile, const PointCloud& cloud) {
    ids.push_back(tile.tile_id());
    PointCloud expected = RandomCloud(100, ids.size(), false);
    expected.origin = {4e6, 0.25, static_cast<double>(ids.size())};
    EXPECT_TRUE(SameBits(cloud, expected)) << tile.tile_id();
    return absl::OkStatus();
  };
  const auto revision = client.GetTiles(request, receive, 20.0);
  ASSERT_TRUE(revision.ok()) << revision.status();
  EXPECT_EQ(*revision, 1u);
  EXPECT_EQ(ids, (std::vector<std::string>{"tile 1", "tile 2"}));

  const absl::Status stopped = client
                                   .GetTiles(
                                       request,
                                       [](const v1::TileInfo&, const PointCloud&) {
                                         return absl::ResourceExhaustedError("the disk is full");
                                       },
                                       20.0)
                                   .status();
  EXPECT_EQ(stopped, absl::ResourceExhaustedError("the disk is full"));
}

TEST(MapClient, NamesTheDamagedTile) {
  FakeMaps maps;
  FakeServer server(maps.Behaviour());
  UploadTwoTiles(server);
  maps.DamageTile("tile 2");
  v1::GetTilesRequest request;
  request.set_map("town");
  request.add_tile_ids("tile 1");
  request.add_tile_ids("tile 2");
  int received = 0;
  const absl::Status status = MapClient(ChannelTo(server.address()))
                                  .GetTiles(
                                      request,
                                      [&received](const v1::TileInfo&, const PointCloud&) {
                                        ++received;
                                        return absl::OkStatus();
                                      },
                                      20.0)
                                  .status();
  EXPECT_EQ(received, 1);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("tile 2"));
}

TEST(MapClient, TilesThatEndEarlyOrHaveNoBeginningAreDamage) {
  for (const bool with_begin : {true, false}) {
    FakeBehaviour behaviour;
    behaviour.get_tiles = [with_begin](const v1::GetTilesRequest&,
                                       FakeBehaviour::TileStream* stream) {
      v1::GetTilesResponse part;
      if (with_begin) part.mutable_tile()->set_tile_id("a");
      stream->Write(part);
      return grpc::Status::OK;
    };
    FakeServer server(behaviour);
    const absl::Status status =
        MapClient(ChannelTo(server.address()))
            .GetTiles(
                {}, [](const v1::TileInfo&, const PointCloud&) { return absl::OkStatus(); }, 20.0)
            .status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  }
}

TEST(MapClient, ChangesTheStateOfRevisions) {
  FakeBehaviour behaviour;
  behaviour.list_revisions = [](const v1::ListRevisionsRequest& request,
                                v1::ListRevisionsResponse* response) {
    EXPECT_EQ(request.map(), "town");
    response->add_revisions()->set_revision(3);
    response->add_revisions()->set_revision(4);
    return grpc::Status::OK;
  };
  behaviour.activate_revision = [](const v1::ActivateRevisionRequest& request,
                                   v1::ActivateRevisionResponse* response) {
    if (request.revision() != 4) return grpc::Status(grpc::StatusCode::ABORTED, "not the newest");
    response->mutable_map()->set_revision(request.revision());
    return grpc::Status::OK;
  };
  behaviour.withdraw_revision = [](const v1::WithdrawRevisionRequest& request,
                                   v1::WithdrawRevisionResponse* response) {
    response->mutable_revision()->set_revision(request.revision());
    response->mutable_revision()->set_state(v1::REVISION_STATE_WITHDRAWN);
    return grpc::Status::OK;
  };
  behaviour.set_canary = [](const v1::SetCanaryRequest& request, v1::SetCanaryResponse* response) {
    *response->mutable_revision()->mutable_canary_vehicles() = request.vehicles();
    return grpc::Status::OK;
  };
  FakeServer server(behaviour);
  const MapClient client(ChannelTo(server.address()));
  const auto revisions = client.ListRevisions("town", 20.0);
  ASSERT_TRUE(revisions.ok()) << revisions.status();
  ASSERT_EQ(revisions->size(), 2u);
  EXPECT_EQ((*revisions)[1].revision(), 4u);
  EXPECT_EQ(client.Activate("town", 4, 20.0)->revision(), 4u);
  const absl::Status refused = client.Activate("town", 3, 20.0).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("ActivateRevision: not the newest"));
  EXPECT_EQ(client.Withdraw("town", 5, 20.0)->state(), v1::REVISION_STATE_WITHDRAWN);
  const auto canary = client.SetCanary("town", 5, {"bus-7", "bus-9"}, 20.0);
  ASSERT_TRUE(canary.ok()) << canary.status();
  EXPECT_EQ(canary->canary_vehicles(1), "bus-9");
}

TEST(AdminClient, ListsTheSessionsOfAMapPageAfterPage) {
  FakeBehaviour behaviour;
  behaviour.list_sessions = [](const v1::ListSessionsRequest& request,
                               v1::ListSessionsResponse* response) {
    EXPECT_EQ(request.map(), "town");
    response->add_sessions()->set_session(request.page_token().empty() ? "a" : "b");
    if (request.page_token().empty()) response->set_next_page_token("more");
    return grpc::Status::OK;
  };
  FakeServer server(behaviour);
  const auto sessions = ListSessions(ChannelTo(server.address()), "town", 20.0);
  ASSERT_TRUE(sessions.ok()) << sessions.status();
  ASSERT_EQ(sessions->size(), 2u);
  EXPECT_EQ((*sessions)[1].session(), "b");
}

TEST(AdminClient, SetsTheLogLevelAndReturnsThePrevious) {
  FakeBehaviour behaviour;
  behaviour.set_log_level = [](const v1::SetLogLevelRequest& request,
                               v1::SetLogLevelResponse* response) {
    EXPECT_EQ(request.level(), v1::LOG_LEVEL_WARN);
    response->set_previous_level(v1::LOG_LEVEL_DEBUG);
    return grpc::Status::OK;
  };
  FakeServer server(behaviour);
  const auto previous = SetLogLevel(ChannelTo(server.address()), v1::LOG_LEVEL_WARN, 20.0);
  ASSERT_TRUE(previous.ok()) << previous.status();
  EXPECT_EQ(*previous, v1::LOG_LEVEL_DEBUG);
  const absl::Status config = GetConfig(ChannelTo(server.address()), 20.0).status();
  EXPECT_EQ(config.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(config.message()), HasSubstr("GetConfig"));
}

TEST(MapClient, NamesTheMapToDropAndTheCallThatFailed) {
  FakeBehaviour behaviour;
  behaviour.delete_map = [](const v1::DeleteMapRequest& request, v1::DeleteMapResponse* response) {
    if (request.map() != "town") return grpc::Status(grpc::StatusCode::NOT_FOUND, "no such map");
    response->set_revision(request.revision());
    return grpc::Status::OK;
  };
  FakeServer server(behaviour);
  const MapClient client(ChannelTo(server.address()));
  EXPECT_EQ(*client.Drop("town", 7, 20.0), 7u);
  const absl::Status status = client.Drop("moon", 0, 20.0).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("DeleteMap: no such map"));
  EXPECT_EQ(client.Get("town", 20.0).status().code(), absl::StatusCode::kUnimplemented);
}

TEST(AlignScan, KeepsItsDeadline) {
  absl::Notification given_up;
  FakeBehaviour behaviour;
  behaviour.align_scan = [&given_up](const v1::AlignScanRequest&, v1::AlignScanResponse*) {
    EXPECT_TRUE(given_up.WaitForNotificationWithTimeout(kTestTimeout));
    return grpc::Status::OK;
  };
  FakeServer server(behaviour);
  const auto result = AlignScan(ChannelTo(server.address()), v1::AlignScanRequest(), 0.1);
  given_up.Notify();
  EXPECT_EQ(result.status().code(), absl::StatusCode::kDeadlineExceeded) << result.status();
}

// Answers each set in two messages, the score of a pose being its x.
grpc::Status ScoreByX(FakeBehaviour::ScoreStream* stream) {
  v1::ScorePosesRequest request;
  while (stream->Read(&request)) {
    v1::ScorePosesResponse response;
    if (request.has_setup()) {
      response.mutable_ready()->set_map_revision(3);
      stream->Write(response);
      continue;
    }
    const int poses = request.poses().map_t_base_size() / 7;
    const bool refused = poses > 0 && request.poses().map_t_base(0) < 0.0;
    for (int part = refused ? 1 : 0; part < 2; ++part) {
      response.Clear();
      v1::PoseScores* scores = response.mutable_scores();
      scores->set_sequence(request.poses().sequence());
      scores->set_last(part == 1);
      if (refused) scores->set_detail("pose 0 is bad");
      const int first = part == 0 ? 0 : poses / 2;
      const int end = part == 0 ? poses / 2 : poses;
      for (int i = first; i < end && !refused; ++i) {
        scores->add_nvtl(request.poses().map_t_base(7 * i));
        scores->add_score(request.poses().map_t_base(7 * i + 6));
      }
      stream->Write(response);
    }
  }
  return grpc::Status::OK;
}

TEST(ScoreClient, PutsTheAnswersOfManySetsTogether) {
  FakeBehaviour behaviour;
  behaviour.score_poses = ScoreByX;
  FakeServer server(behaviour);
  const auto client = ScoreClient::Open(ChannelTo(server.address()), v1::ScoreSetup(), 20.0);
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_EQ((*client)->ready().map_revision(), 3u);
  std::vector<Pose> poses(2500);
  for (size_t i = 0; i < poses.size(); ++i) poses[i].translation.x() = static_cast<double>(i);
  const auto scores = (*client)->Score(poses);
  ASSERT_TRUE(scores.ok()) << scores.status();
  ASSERT_EQ(scores->nvtl_size(), 2500);
  for (int i = 0; i < 2500; ++i) ASSERT_EQ(scores->nvtl(i), i);
  EXPECT_EQ(scores->score(7), 1.0);  // w of the quaternion
}

TEST(ScoreClient, StaysUsableAfterARefusedSet) {
  FakeBehaviour behaviour;
  behaviour.score_poses = ScoreByX;
  FakeServer server(behaviour);
  const auto client = ScoreClient::Open(ChannelTo(server.address()), v1::ScoreSetup(), 20.0);
  ASSERT_TRUE(client.ok()) << client.status();
  std::vector<Pose> poses(2);
  poses[0].translation.x() = -1.0;
  const absl::Status refused = (*client)->Score(poses).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("pose 0 is bad"));
  poses[0].translation.x() = 4.0;
  EXPECT_EQ((*client)->Score(poses)->nvtl(0), 4.0);
}

TEST(Messages, PointsSurviveTheWire) {
  PointCloud cloud = RandomCloud(50, 3, false);
  for (const double x : {0.0, -0.0, 4e6}) {
    cloud.origin = {x, 0.0, 0.0};
    v1::Cloud message;
    EncodePoints(cloud, 0, 20, &message);
    v1::Cloud rest;
    EncodePoints(cloud, 20, 30, &rest);
    PointCloud decoded;
    ASSERT_TRUE(DecodePoints(message, &decoded).ok());
    ASSERT_TRUE(DecodePoints(rest, &decoded).ok());
    EXPECT_TRUE(SameBits(decoded, cloud));
    // The digest has the bits of the origin.
    EXPECT_EQ(std::signbit(decoded.origin.x()), std::signbit(x));
    message.set_stride(8);
    EXPECT_EQ(DecodePoints(message, &decoded).code(), absl::StatusCode::kInvalidArgument);
    message.set_stride(0);
    message.set_layout(v1::CLOUD_LAYOUT_INT16_XYZ);
    EXPECT_EQ(DecodePoints(message, &decoded).code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(Messages, PosesSurviveTheWire) {
  const Pose pose{Eigen::Vector3d(4e5, 4e6, -100.25), Eigen::Quaterniond(0.5, -0.5, 0.5, 0.5)};
  v1::Pose message;
  EncodePose(pose, &message);
  const auto decoded = DecodePose(message);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->translation, pose.translation);
  EXPECT_LT(RotationDistance(*decoded, pose), 1e-12);
  EXPECT_FALSE(DecodePose(v1::Pose()).ok());
  EXPECT_EQ(StatusName(v1::ALIGNMENT_STATUS_LOW_SCORE), "LOW_SCORE");
}

}  // namespace
}  // namespace voxloc::client
