// SPDX-License-Identifier: Apache-2.0

#include "tests/server/map_calls.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "tests/server/small_town.h"

namespace voxloc::server {

PointCloud TownStrip(double min, double max) {
  const PointCloud town = SmallTown();
  PointCloud strip;
  for (size_t i = 0; i < town.size(); ++i) {
    if (town.x[i] >= min && town.x[i] < max) strip.PushBack(town.x[i], town.y[i], town.z[i]);
  }
  return strip;
}

UpdateOutcome RunUpdate(TestServer& server,
                        const std::vector<v1::UpdateMapTilesRequest>& requests) {
  TestUpdate update(server);
  for (const v1::UpdateMapTilesRequest& request : requests) update.Write(request);
  UpdateOutcome outcome;
  for (;;) {
    const v1::UpdateMapTilesResponse response = update.Read();
    using Kind = v1::UpdateMapTilesResponse;
    if (response.response_case() == Kind::RESPONSE_NOT_SET) break;
    if (response.has_begun()) outcome.begun = response.begun();
    if (response.has_tile_added()) outcome.added.push_back(response.tile_added());
    if (response.has_tile_missing()) outcome.missing.push_back(response.tile_missing().tile_id());
    if (response.has_committed()) outcome.committed = response.committed();
  }
  outcome.status = update.Finish();
  return outcome;
}

void LoadTwoTiles(TestServer& server, const std::string& map) {
  const UpdateOutcome loaded =
      RunUpdate(server, {BeginRequest(map), TileRequest("west", TownStrip(-40.0, 0.0)),
                         TileRequest("east", TownStrip(0.0, 40.0)), CommitRequest()});
  ASSERT_TRUE(loaded.status.ok()) << loaded.status.error_message();
}

v1::UpdateMapTilesRequest ReuseRequest(const std::string& tile_id, const std::string& sha256) {
  v1::UpdateMapTilesRequest request;
  request.mutable_reuse()->set_tile_id(tile_id);
  request.mutable_reuse()->set_sha256(sha256);
  return request;
}

v1::UpdateMapTilesRequest StageRequest(const std::vector<std::string>& vehicles) {
  v1::UpdateMapTilesRequest request = CommitRequest();
  request.mutable_commit()->set_stage(true);
  for (const std::string& vehicle : vehicles) {
    request.mutable_commit()->add_canary_vehicles(vehicle);
  }
  return request;
}

v1::MapInfo GetMap(TestServer& server, const std::string& map) {
  v1::GetMapRequest request;
  request.set_map(map);
  v1::GetMapResponse response;
  const grpc::Status status =
      server.maps->GetMap(TestServer::NewContext().get(), request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.map();
}

std::vector<v1::MapRevision> Revisions(TestServer& server, const std::string& map) {
  v1::ListRevisionsRequest request;
  request.set_map(map);
  v1::ListRevisionsResponse response;
  const grpc::Status status =
      server.maps->ListRevisions(TestServer::NewContext().get(), request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return {response.revisions().begin(), response.revisions().end()};
}

std::vector<v1::TileInfo> Tiles(TestServer& server, uint64_t revision, const std::string& map) {
  v1::ListTilesRequest request;
  request.set_map(map);
  request.set_revision(revision);
  v1::ListTilesResponse response;
  const grpc::Status status =
      server.maps->ListTiles(TestServer::NewContext().get(), request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return {response.tiles().begin(), response.tiles().end()};
}

Downloaded Download(TestServer& server, const v1::GetTilesRequest& request) {
  const auto context = TestServer::NewContext();
  const auto reader = server.maps->GetTiles(context.get(), request);
  Downloaded downloaded;
  v1::GetTilesResponse part;
  bool last = true;
  while (reader->Read(&part)) {
    EXPECT_EQ(part.has_tile(), last);  // in the first part of each
    if (part.has_tile()) {
      downloaded.tiles.push_back(part.tile());
      const std::array<double, 3> origin = {part.cloud().origin().x(), part.cloud().origin().y(),
                                            part.cloud().origin().z()};
      std::string bytes(sizeof(origin), '\0');
      std::memcpy(bytes.data(), origin.data(), sizeof(origin));
      downloaded.content.push_back(bytes);
    }
    downloaded.revision = part.map_revision();
    downloaded.content.back() += part.cloud().data();
    last = part.last();
  }
  downloaded.status = reader->Finish();
  EXPECT_TRUE(last || !downloaded.status.ok());
  return downloaded;
}

uint64_t RevisionOf(TestServer& server, const std::string& vehicle, const std::string& map) {
  TestSession session(server);
  v1::OpenSession open;
  open.mutable_setup()->set_map(map);
  open.mutable_setup()->set_vehicle(vehicle);
  session.Open(open);
  const v1::AlignmentResult result = session.Align(GoodScan());
  EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_OK) << result.ShortDebugString();
  return result.map_revision();
}

}  // namespace voxloc::server
