// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/map_upload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/cloud/cloud_digest.h"
#include "tests/clients/cpp/fake_maps.h"
#include "tests/core/cloud/io/cloud_bytes.h"

namespace voxloc::client {
namespace {

using ::testing::HasSubstr;

constexpr size_t kTiles = 200;

// Tiles around their own origins; counts how often one was loaded.
std::vector<UploadTile> TilesWith(uint64_t seed, int* loads) {
  std::vector<UploadTile> tiles;
  for (size_t i = 0; i < kTiles; ++i) {
    const auto load = [seed, i, loads]() -> absl::StatusOr<PointCloud> {
      ++*loads;
      PointCloud cloud = RandomCloud(100 + i, seed + i, true);
      cloud.origin = {4e5 + 20.0 * static_cast<double>(i), 0.1, -0.0};
      return cloud;
    };
    tiles.push_back({"tile-" + std::to_string(i), load, std::nullopt});
  }
  return tiles;
}

UploadOptions OptionsFor(const std::string& request_id = "") {
  UploadOptions options;
  options.transaction.begin.set_map("town");
  options.transaction.begin.set_clear(true);
  options.transaction.begin.set_request_id(request_id);
  options.commit.set_comment("a note");
  options.reconnect.initial_wait_s = 0.001;
  return options;
}

// The tiles as the contract names them.
FakeMaps::Tiles ExpectedTiles(uint64_t seed) {
  FakeMaps::Tiles expected;
  int loads = 0;
  for (const UploadTile& tile : TilesWith(seed, &loads)) {
    expected[tile.id] = ToBytes(DigestOf(*tile.load()));
  }
  return expected;
}

TEST(MapUpload, SendsEachTileOnceAndNothingOfAMapThatIsThere) {
  FakeMaps maps;
  FakeServer server(maps.Behaviour());
  int loads = 0;
  const auto first = UploadTiles(ChannelTo(server.address()), TilesWith(1, &loads), OptionsFor());
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(maps.tiles(), ExpectedTiles(1));
  EXPECT_EQ(loads, static_cast<int>(kTiles));
  EXPECT_EQ(first->counts.tiles_sent, kTiles);
  EXPECT_EQ(first->transactions, 1);
  EXPECT_EQ(maps.record().commit.comment(), "a note");
  EXPECT_FALSE(first->request_id.empty());
  EXPECT_EQ(maps.record().begin.request_id(), first->request_id);

  const int chunks = maps.record().chunks;
  const auto again = UploadTiles(ChannelTo(server.address()), TilesWith(1, &loads), OptionsFor());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(maps.record().chunks, chunks);
  EXPECT_EQ(again->counts.tiles_reused, kTiles);
  EXPECT_EQ(again->bytes_sent, 0u);
  EXPECT_EQ(again->committed.map().revision(), 2u);
  EXPECT_EQ(maps.tiles(), ExpectedTiles(1));
}

TEST(MapUpload, GoesOnWhereTheConnectionBroke) {
  FakeMaps maps;
  FakeServer server(maps.Behaviour());
  maps.BreakAfterTiles(120);
  int loads = 0;
  std::vector<absl::Status> broken;
  UploadOptions options = OptionsFor();
  options.progress = [&broken](const UploadProgress& progress) {
    if (!progress.broken.ok()) broken.push_back(progress.broken);
  };
  const auto result = UploadTiles(ChannelTo(server.address()), TilesWith(1, &loads), options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(maps.tiles(), ExpectedTiles(1));
  EXPECT_EQ(maps.revisions().size(), 1u);
  EXPECT_EQ(result->transactions, 2);
  ASSERT_EQ(broken.size(), 1u);
  EXPECT_EQ(broken[0].code(), absl::StatusCode::kUnavailable);
  // What the server has is neither loaded nor sent again.
  EXPECT_GE(result->counts.tiles_reused, 120u);
  EXPECT_EQ(maps.record().tiles_sent, static_cast<int>(kTiles));
  EXPECT_LE(loads, static_cast<int>(2 * kTiles - 120));
}

TEST(MapUpload, DoesNotCommitTwiceWhereTheAnswerWasLost) {
  FakeMaps maps;
  FakeServer server(maps.Behaviour());
  maps.LoseNextAnswer();
  int loads = 0;
  const auto result = UploadTiles(ChannelTo(server.address()), TilesWith(1, &loads), OptionsFor());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->committed.repeated());
  EXPECT_EQ(result->committed.map().revision(), 1u);
  EXPECT_EQ(maps.revisions().size(), 1u);
}

TEST(MapUpload, ARequestThatWasCommittedSendsNothing) {
  FakeMaps maps;
  FakeServer server(maps.Behaviour());
  int loads = 0;
  ASSERT_TRUE(
      UploadTiles(ChannelTo(server.address()), TilesWith(1, &loads), OptionsFor("change 1")).ok());
  const int reuses = maps.record().reuses;
  const auto again =
      UploadTiles(ChannelTo(server.address()), TilesWith(9, &loads), OptionsFor("change 1"));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->committed.repeated());
  EXPECT_EQ(maps.record().reuses, reuses);
  EXPECT_EQ(loads, static_cast<int>(kTiles));
  EXPECT_EQ(maps.tiles(), ExpectedTiles(1));
}

TEST(MapUpload, LoadsOfTilesWithADigestOnlyThoseThatAreMissing) {
  FakeMaps maps;
  FakeServer server(maps.Behaviour());
  int loads = 0;
  ASSERT_TRUE(UploadTiles(ChannelTo(server.address()), TilesWith(1, &loads), OptionsFor()).ok());
  std::vector<UploadTile> tiles = TilesWith(1, &loads);
  tiles[3] = TilesWith(50, &loads)[3];
  for (UploadTile& tile : tiles) tile.digest = DigestOf(*tile.load());
  FakeMaps::Tiles expected = ExpectedTiles(1);
  expected["tile-3"] = ToBytes(*tiles[3].digest);
  loads = 0;
  const auto result = UploadTiles(ChannelTo(server.address()), std::move(tiles), OptionsFor());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(loads, 1);
  EXPECT_EQ(result->counts.tiles_sent, 1u);
  EXPECT_EQ(maps.tiles(), expected);
}

TEST(MapUpload, ATileThatCannotBeLoadedLeavesTheMapAsItWas) {
  FakeMaps maps;
  FakeServer server(maps.Behaviour());
  int loads = 0;
  std::vector<UploadTile> tiles = TilesWith(1, &loads);
  tiles[100].load = [] { return absl::UnavailableError("the disk is gone"); };
  const absl::Status status =
      UploadTiles(ChannelTo(server.address()), std::move(tiles), OptionsFor()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the disk is gone"));
  EXPECT_TRUE(maps.revisions().empty());
  EXPECT_EQ(maps.record().transactions, 1);
}

TEST(MapUpload, GivesUpAfterAsManyAttemptsAsItMay) {
  int calls = 0;
  FakeBehaviour behaviour;
  behaviour.update_map_tiles = [&calls](FakeBehaviour::UpdateStream* stream) {
    v1::UpdateMapTilesRequest request;
    stream->Read(&request);
    v1::UpdateMapTilesResponse response;
    response.mutable_begun();
    if (++calls == 1) stream->Write(response);
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "draining");
  };
  FakeServer server(behaviour);
  UploadOptions options = OptionsFor();
  options.reconnect.max_attempts = 3;
  options.reconnect.max_wait_s = 0.001;
  int loads = 0;
  const absl::Status status =
      UploadTiles(ChannelTo(server.address()), TilesWith(1, &loads), options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_EQ(calls, 4);
  // A server that cannot be reached in the first place is told at once.
  calls = 1;
  EXPECT_FALSE(UploadTiles(ChannelTo(server.address()), {}, options).ok());
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace voxloc::client
