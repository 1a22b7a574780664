// SPDX-License-Identifier: Apache-2.0
//
// Calls of the map service, for tests of it.

#ifndef VOXLOC_TESTS_SERVER_MAP_CALLS_H_
#define VOXLOC_TESTS_SERVER_MAP_CALLS_H_

#include <grpcpp/grpcpp.h>

#include <string>
#include <vector>

#include "core/cloud/point_cloud.h"
#include "tests/server/test_server.h"

namespace voxloc::server {

// The small town's points with x in [min, max).
[[nodiscard]] PointCloud TownStrip(double min, double max);

struct UpdateOutcome {
  grpc::Status status;
  v1::UpdateBegun begun;
  std::vector<v1::TileAdded> added;
  std::vector<std::string> missing;
  v1::UpdateCommitted committed;
};

// Sends all messages and reads until the stream ends.
[[nodiscard]] UpdateOutcome RunUpdate(TestServer& server,
                                      const std::vector<v1::UpdateMapTilesRequest>& requests);

// A map with two tiles, "west" and "east", as its revision 1.
void LoadTwoTiles(TestServer& server, const std::string& map = "town");

[[nodiscard]] v1::UpdateMapTilesRequest ReuseRequest(const std::string& tile_id,
                                                     const std::string& sha256);
[[nodiscard]] v1::UpdateMapTilesRequest StageRequest(const std::vector<std::string>& vehicles = {});

// Expect the call to succeed.
[[nodiscard]] v1::MapInfo GetMap(TestServer& server, const std::string& map = "town");
[[nodiscard]] std::vector<v1::MapRevision> Revisions(TestServer& server,
                                                     const std::string& map = "town");
[[nodiscard]] std::vector<v1::TileInfo> Tiles(TestServer& server, uint64_t revision = 0,
                                              const std::string& map = "town");

struct Downloaded {
  grpc::Status status;
  uint64_t revision = 0;
  std::vector<v1::TileInfo> tiles;
  std::vector<std::string> content;  // of each: what its digest is of
};
[[nodiscard]] Downloaded Download(TestServer& server, const v1::GetTilesRequest& request);

// The revision that a scan of this vehicle is aligned with.
[[nodiscard]] uint64_t RevisionOf(TestServer& server, const std::string& vehicle,
                                  const std::string& map = "town");

}  // namespace voxloc::server

#endif  // VOXLOC_TESTS_SERVER_MAP_CALLS_H_
