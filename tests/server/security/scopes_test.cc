// SPDX-License-Identifier: Apache-2.0
//
// Maps and vehicles of callers, and what changes of the access file do to calls that are open.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>

#include "core/checksum/sha256.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "tests/server/gated_engine.h"
#include "tests/server/map_calls.h"
#include "tests/server/plain_calls.h"
#include "tests/server/pose_search_calls.h"
#include "tests/server/security/any_rpc.h"
#include "tests/server/security/secured_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"

namespace voxloc::server {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr char kScopes[] = R"(identities:
  mapper:
    token_sha256: [MAPPER]
    roles: [map-write, track, admin]
  town-truck:
    token_sha256: [TRUCK]
    roles: [track, score, map-write, admin]
    maps: [town*]
    vehicles: [truck-*]
)";

std::string ScopesFile() {
  std::string text = kScopes;
  text.replace(text.find("MAPPER"), 6, HashOf("mapper token"));
  text.replace(text.find("TRUCK"), 5, HashOf("truck token"));
  return text;
}

std::unique_ptr<grpc::ClientContext> ContextOf(const std::string& token) {
  auto context = TestServer::NewContext();
  context->AddMetadata("authorization", Bearer(token));
  return context;
}

// A server with the maps "secret" and "town".
class Scopes : public testing::Test {
 protected:
  Scopes()
      : server_(
            [this](Config& config) {
              config.access_file =
                  folder_.Write("access.yaml", "anonymous:\n  roles: [map-write]\n");
              config.audit_log = folder_.Path("audit.log");
            },
            std::make_unique<GatedEngine>(gate_)) {
    server_.LoadTown("secret");
    server_.LoadTown("town");
    folder_.Write("access.yaml", ScopesFile());
    EXPECT_TRUE(server_.server().ReloadSecurity().ok());
  }

  Answer Call(const std::string& name, const std::string& map, const std::string& vehicle = "") {
    for (const auto* const rpc : AllRpcs()) {
      if (rpc->name() != name) continue;
      return CallByName(ChannelTo(server_.server()), PathOf(*rpc), *RequestOf(*rpc, map, vehicle),
                        Bearer("truck token"));
    }
    ADD_FAILURE() << "no RPC " << name;
    return {};
  }

  // A call of the truck that gives one message.
  template <typename Response>
  Response Ask(const std::string& name) {
    const Answer answer = Call(name, "");
    Response response;
    EXPECT_EQ(answer.messages.size(), 1U) << answer.status.error_message();
    EXPECT_TRUE(!answer.messages.empty() && response.ParseFromString(answer.messages.front()));
    return response;
  }
  void ReloadWith(const std::string& piece, const std::string& by) {
    std::string text = ScopesFile();
    text.replace(text.find(piece), piece.size(), by);
    folder_.Write("access.yaml", text);
    ASSERT_TRUE(server_.server().ReloadSecurity().ok());
  }

  TestFolder folder_;
  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();  // of alignments; open
  TestServer server_;
};

using Health = grpc::health::v1::HealthCheckResponse;

grpc::health::v1::HealthCheckRequest HealthOfMap(const std::string& map) {
  grpc::health::v1::HealthCheckRequest request;
  request.set_service("voxloc.v1.LocalizationService/" + map);
  return request;
}

TEST_F(Scopes, AMapOfAnotherScopeIsDeniedWhetherOrNotItExists) {
  size_t tried = 0;
  for (const auto* const rpc : AllRpcs()) {
    const bool names_map = rpc->service()->name() == "LocalizationService" ||
                           rpc->input_type()->FindFieldByName("map") != nullptr ||
                           rpc->name() == "UpdateMapTiles";
    if (!names_map) continue;
    SCOPED_TRACE(rpc->name());
    const grpc::Status there = Call(rpc->name(), "secret", "truck-1").status;
    const grpc::Status absent = Call(rpc->name(), "absent", "truck-1").status;
    EXPECT_EQ(there.error_code(), grpc::StatusCode::PERMISSION_DENIED) << there.error_message();
    EXPECT_EQ(ReasonOf(there), "MAP_NOT_ALLOWED");
    EXPECT_EQ(absent.error_code(), grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_EQ(there.error_message(), "town-truck may not use map 'secret'");
    EXPECT_EQ(absent.error_message(), "town-truck may not use map 'absent'");
    ++tried;
  }
  EXPECT_GE(tried, 16U);
}

TEST_F(Scopes, ErrorsDoNotNameMapsOfOtherScopes) {
  for (const char* rpc : {"GetMap", "AlignScan", "ListTiles", "ActivateRevision"}) {
    const grpc::Status status = Call(rpc, "town-9", "truck-1").status;
    EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND) << rpc << status.error_message();
    EXPECT_THAT(status.error_message(), testing::Not(HasSubstr("secret"))) << rpc;
  }
}

TEST_F(Scopes, ListsShowWhatTheCallerMayUse) {
  const auto maps = Ask<v1::ListMapsResponse>("ListMaps");
  ASSERT_EQ(maps.maps_size(), 1);
  EXPECT_EQ(maps.maps(0).name(), "town");

  const auto context = ContextOf("truck token");
  const auto watch = server_.maps->WatchMap(context.get(), {});
  v1::WatchMapResponse event;
  ASSERT_TRUE(watch->Read(&event));
  EXPECT_EQ(event.map().name(), "town");
  // "secret" would have come before, by its name.
  context->TryCancel();

  const auto mapper = ContextOf("mapper token");
  const auto session = server_.localization->AlignScans(mapper.get());
  v1::AlignScansRequest open;
  open.mutable_open()->mutable_setup()->set_map("secret");
  ASSERT_TRUE(session->Write(open));
  v1::AlignScansResponse opened;
  ASSERT_TRUE(session->Read(&opened));
  ASSERT_TRUE(opened.has_opened());
  auto sessions = Ask<v1::ListSessionsResponse>("ListSessions");
  EXPECT_EQ(sessions.sessions_size(), 0);
  ASSERT_TRUE(server_.admin->ListSessions(ContextOf("mapper token").get(), {}, &sessions).ok());
  EXPECT_EQ(sessions.sessions_size(), 1);
}

TEST_F(Scopes, VehicleNamesAreThoseOfTheCaller) {
  for (const char* rpc : {"AlignScans", "AlignScan", "EstimateInitialPose", "ScorePoses"}) {
    for (const char* vehicle : {"bus-1", ""}) {
      const grpc::Status status = Call(rpc, "town", vehicle).status;
      EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << rpc;
      EXPECT_EQ(ReasonOf(status), "VEHICLE_NOT_ALLOWED");
    }
    EXPECT_FALSE(IsDenial(Call(rpc, "town", "truck-1").status)) << rpc;
  }
}

TEST_F(Scopes, TellsTheCallerWhoItIs) {
  const auto info = Ask<v1::GetServerInfoResponse>("GetServerInfo");
  EXPECT_EQ(info.caller(), "town-truck");
  EXPECT_THAT(info.caller_roles(), testing::ElementsAre(v1::ROLE_TRACK, v1::ROLE_SCORE,
                                                        v1::ROLE_MAP_WRITE, v1::ROLE_ADMIN));
}

TEST_F(Scopes, AStreamEndsWithTheFirstMessageAfterItsTokenWasRevoked) {
  const auto context = ContextOf("truck token");
  const auto session = server_.localization->AlignScans(context.get());
  v1::AlignScansRequest open;
  open.mutable_open()->mutable_setup()->set_map("town");
  open.mutable_open()->mutable_setup()->set_vehicle("truck-1");
  ASSERT_TRUE(session->Write(open));
  v1::AlignScansResponse response;
  ASSERT_TRUE(session->Read(&response));
  v1::AlignScansRequest activate;
  activate.mutable_activate()->set_active(true);
  ASSERT_TRUE(session->Write(activate));
  ASSERT_TRUE(session->Read(&response));
  EXPECT_TRUE(response.has_activated());

  ReloadWith(HashOf("truck token"), HashOf("another token"));
  static_cast<void>(session->Write(activate));
  EXPECT_FALSE(session->Read(&response));
  const grpc::Status status = session->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(ReasonOf(status), "CREDENTIALS_UNKNOWN");
}

TEST_F(Scopes, AStreamEndsWhenItsMapIsTakenFromItsCaller) {
  const auto context = ContextOf("truck token");
  const auto update = server_.maps->UpdateMapTiles(context.get());
  ASSERT_TRUE(update->Write(BeginRequest("town-2")));
  v1::UpdateMapTilesResponse response;
  ASSERT_TRUE(update->Read(&response));
  ReloadWith("[town*]", "[town]");
  static_cast<void>(update->Write(CommitRequest()));
  EXPECT_FALSE(update->Read(&response));
  EXPECT_EQ(ReasonOf(update->Finish()), "MAP_NOT_ALLOWED");
}

// The answer to this message of a transaction, which is then committed or dropped.
v1::UpdateMapTilesResponse AnswerToUpdate(TestServer& server, const std::string& map,
                                          const std::string& token,
                                          const v1::UpdateMapTilesRequest& message, bool commit) {
  const auto context = ContextOf(token);
  const auto update = server.maps->UpdateMapTiles(context.get());
  v1::UpdateMapTilesRequest abort;
  abort.mutable_abort();
  v1::UpdateMapTilesResponse response;
  v1::UpdateMapTilesResponse other;
  EXPECT_TRUE(update->Write(BeginRequest(map)) && update->Read(&other));
  EXPECT_TRUE(update->Write(message) && update->Read(&response));
  EXPECT_TRUE(update->Write(commit ? CommitRequest() : abort) && update->Read(&other));
  EXPECT_TRUE(update->Finish().ok());
  return response;
}

TEST_F(Scopes, AWatcherHearsNothingMoreOfAMapThatWasTakenFromIt) {
  const auto context = ContextOf("truck token");
  const auto watch = server_.maps->WatchMap(context.get(), {});
  v1::WatchMapResponse event;
  ASSERT_TRUE(watch->Read(&event));
  EXPECT_EQ(event.map().name(), "town");
  EXPECT_TRUE(
      AnswerToUpdate(server_, "town-2", "mapper token", TileRequest("a", TownStrip(-3, 0)), true)
          .has_tile_added());
  ASSERT_TRUE(watch->Read(&event));
  EXPECT_EQ(event.map().name(), "town-2");

  ReloadWith("[town*]", "[town]");
  for (const char* map : {"town-2", "town"}) {
    EXPECT_TRUE(
        AnswerToUpdate(server_, map, "mapper token", TileRequest("b", TownStrip(0, 3)), true)
            .has_tile_added());
  }
  ASSERT_TRUE(watch->Read(&event));
  EXPECT_EQ(event.map().name(), "town");
  context->TryCancel();
}

TEST_F(Scopes, AWatcherWhoseMapOrTokenWasTakenIsTold) {
  for (const auto& [piece, by, reason] :
       {std::tuple("[town*]", "[port]", "MAP_NOT_ALLOWED"),
        std::tuple("roles: [track, score, map-write, admin]", "roles: [score]", "ROLE_MISSING")}) {
    folder_.Write("access.yaml", ScopesFile());
    ASSERT_TRUE(server_.server().ReloadSecurity().ok());
    v1::WatchMapRequest request;
    request.set_map("town");
    const auto context = ContextOf("truck token");
    const auto watch = server_.maps->WatchMap(context.get(), request);
    v1::WatchMapResponse event;
    ASSERT_TRUE(watch->Read(&event));
    ReloadWith(piece, by);
    EXPECT_TRUE(
        AnswerToUpdate(server_, "town", "mapper token", TileRequest("b", TownStrip(0, 3)), true)
            .has_tile_added());
    EXPECT_FALSE(watch->Read(&event));
    EXPECT_EQ(ReasonOf(watch->Finish()), reason);
  }
}

TEST_F(Scopes, ASearchWhoseMapWasTakenFromItsCallerTellsNothing) {
  const auto context = ContextOf("truck token");
  v1::EstimateInitialPoseRequest request = PriorRequest();
  request.mutable_setup()->set_vehicle("truck-1");
  gate_->Close();
  const size_t before = gate_->batches().size();
  const auto search = server_.localization->EstimateInitialPose(context.get(), request);
  gate_->AwaitBatches(before + 1);
  ReloadWith("[town*]", "[port]");
  gate_->Open();
  const PoseSearchReply reply = Listen(*search);
  EXPECT_EQ(ReasonOf(reply.status), "MAP_NOT_ALLOWED") << reply.status.error_message();
  EXPECT_FALSE(reply.has_result);
}

TEST_F(Scopes, HealthKnowsTheMapsThatTheCallerMayUse) {
  const auto stub = grpc::health::v1::Health::NewStub(ChannelTo(server_.server()));
  const auto check = [&](const std::string& map, const std::string& token) {
    const auto context = token.empty() ? TestServer::NewContext() : ContextOf(token);
    Health response;
    return stub->Check(context.get(), HealthOfMap(map), &response);
  };
  EXPECT_TRUE(check("secret", "mapper token").ok());
  EXPECT_TRUE(check("town", "truck token").ok());
  const grpc::Status absent = check("absent", "truck token");
  EXPECT_EQ(absent.error_code(), grpc::StatusCode::NOT_FOUND);
  for (const char* token : {"truck token", "a token of nobody", ""}) {
    const grpc::Status there = check("secret", token);
    EXPECT_EQ(there.error_code(), absent.error_code()) << token;
    EXPECT_EQ(there.error_message(), absent.error_message()) << token;
  }

  const auto secret_context = ContextOf("truck token");
  const auto secret = stub->Watch(secret_context.get(), HealthOfMap("secret"));
  const auto town_context = ContextOf("truck token");
  const auto town = stub->Watch(town_context.get(), HealthOfMap("town"));
  Health health;
  ASSERT_TRUE(secret->Read(&health));
  EXPECT_EQ(health.status(), Health::SERVICE_UNKNOWN);
  ASSERT_TRUE(town->Read(&health));
  EXPECT_EQ(health.status(), Health::SERVING);
  ReloadWith("[town*]", "[secret]");
  ASSERT_TRUE(secret->Read(&health));
  EXPECT_EQ(health.status(), Health::SERVING);
  ASSERT_TRUE(town->Read(&health));
  EXPECT_EQ(health.status(), Health::SERVICE_UNKNOWN);
  secret_context->TryCancel();
  town_context->TryCancel();
}

// What the truck, who may use the maps town*, is told when it offers this content for town-2.
v1::UpdateMapTilesResponse ReuseInTown2(TestServer& server, const Sha256Digest& digest,
                                        const std::string& token = "truck token") {
  return AnswerToUpdate(server, "town-2", token, ReuseRequest("taken", ToBytes(digest)), false);
}

// Uploads a tile to a map by that token, and commits or drops it. Returns the digest.
Sha256Digest UploadTile(TestServer& server, const std::string& map, const std::string& token,
                        const PointCloud& tile, bool commit) {
  const auto answer = AnswerToUpdate(server, map, token, TileRequest("uploaded", tile), commit);
  const auto digest = Sha256FromBytes(answer.tile_added().sha256());
  EXPECT_TRUE(digest.ok()) << digest.status();
  return digest.ok() ? *digest : Sha256Digest{};
}

TEST_F(Scopes, ContentOfAMapOfAnotherScopeIsNotThereToReuse) {
  const Sha256Digest secret = UploadTile(server_, "secret", "mapper token", TownStrip(-3, 0), true);
  EXPECT_TRUE(ReuseInTown2(server_, secret).has_tile_missing());
  // As what no map has any more, or never had.
  const Sha256Digest dropped =
      UploadTile(server_, "secret", "mapper token", TownStrip(0, 3), false);
  EXPECT_TRUE(ReuseInTown2(server_, dropped).has_tile_missing());
  EXPECT_TRUE(ReuseInTown2(server_, Sha256Digest{}).has_tile_missing());
  // Whoever may use every map is not asked where it comes from.
  EXPECT_TRUE(ReuseInTown2(server_, secret, "mapper token").has_tile_added());
  EXPECT_TRUE(ReuseInTown2(server_, dropped, "mapper token").has_tile_added());
}

TEST_F(Scopes, ContentOfOnesOwnMapsAndUploadsIsThereToReuse) {
  const Sha256Digest town = UploadTile(server_, "town", "truck token", TownStrip(-3, 0), true);
  EXPECT_TRUE(ReuseInTown2(server_, town).has_tile_added());
  const Sha256Digest own = UploadTile(server_, "town-2", "truck token", TownStrip(0, 3), false);
  EXPECT_TRUE(ReuseInTown2(server_, own).has_tile_added());
  // The same content, which another map had first.
  const Sha256Digest secret = UploadTile(server_, "secret", "mapper token", TownStrip(3, 6), true);
  EXPECT_TRUE(ReuseInTown2(server_, secret).has_tile_missing());
  EXPECT_EQ(UploadTile(server_, "town-2", "truck token", TownStrip(3, 6), false), secret);
  EXPECT_TRUE(ReuseInTown2(server_, secret).has_tile_added());
}

TEST_F(Scopes, ABadFileLeavesThePolicyInForce) {
  folder_.Write("access.yaml", "identities: {truck: {role: [track]}}\n");
  const absl::Status status = server_.server().ReloadSecurity();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("access.yaml:1: "), HasSubstr("did you mean roles?")));
  EXPECT_TRUE(Call("GetMap", "town").status.ok());
  folder_.Write("access.yaml", "identities: {}\n");
  ASSERT_TRUE(server_.server().ReloadSecurity().ok());
  EXPECT_EQ(Call("GetMap", "town").status.error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

TEST_F(Scopes, TheAuditLogTellsWhatWasChanged) {
  const size_t before = folder_.AwaitLines("audit.log", 2).size();  // both maps
  EXPECT_THAT(folder_.Lines("audit.log").front(),
              AllOf(HasSubstr(" caller=anonymous "), HasSubstr(" map=secret revision=1 "),
                    HasSubstr("detail=\"committed, tiles added 1, replaced 0, removed 0\"")));
  const auto context = ContextOf("truck token");
  v1::SetLogLevelRequest level;
  level.set_level(v1::LOG_LEVEL_ERROR);
  v1::SetLogLevelResponse previous;
  ASSERT_TRUE(server_.admin->SetLogLevel(context.get(), level, &previous).ok());
  ASSERT_TRUE(Call("DeleteMap", "town").status.ok());
  const auto lines = folder_.AwaitLines("audit.log", before + 2);
  ASSERT_EQ(lines.size(), before + 2);
  EXPECT_THAT(lines[before],
              AllOf(HasSubstr(" caller=town-truck "), HasSubstr(" method=SetLogLevel "),
                    HasSubstr(" detail=\"log level: 5\" code=OK")));
  EXPECT_THAT(lines[before + 1], AllOf(HasSubstr(" method=DeleteMap map=town revision=1 "),
                                       HasSubstr(" detail=deleted code=OK")));
}

}  // namespace
}  // namespace voxloc::server
