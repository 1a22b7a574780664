// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "clients/cli/output/message_text.h"

namespace voxloc::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

void AddTile(const std::string& id, double change, v1::ListTilesResponse& tiles) {
  v1::TileInfo& tile = *tiles.add_tiles();
  tile.set_tile_id(id);
  tile.mutable_fit()->set_change(change);
  tile.mutable_fit()->set_seen_through_ratio(0.25);
  tile.mutable_fit()->set_unexplained_ratio(0.5);
  tile.mutable_fit()->set_residual_m(0.0415);
  tile.mutable_fit()->set_scans(12.25);
  tile.mutable_fit()->set_last_used_at_ns(1'767'225'600'000'000'000);
}

v1::ListTilesResponse FourTiles() {
  v1::ListTilesResponse tiles;
  AddTile("a", 0.1, tiles);
  AddTile("b", 0.7, tiles);
  tiles.add_tiles()->set_tile_id("never seen");
  AddTile("c", 0.3, tiles);
  return tiles;
}

std::vector<std::string> IdsOf(const std::vector<v1::TileInfo>& tiles) {
  std::vector<std::string> ids;
  for (const v1::TileInfo& tile : tiles) ids.push_back(tile.tile_id());
  return ids;
}

TEST(WorstTiles, AreThoseThatChangedTheMostFirst) {
  EXPECT_THAT(IdsOf(WorstTiles(FourTiles(), 2)), ElementsAre("b", "c"));
}

TEST(WorstTiles, LeaveOutThoseThatNoScanWasComparedWith) {
  EXPECT_THAT(IdsOf(WorstTiles(FourTiles(), 20)), ElementsAre("b", "c", "a"));
  EXPECT_THAT(WorstTiles(v1::ListTilesResponse(), 20), IsEmpty());
}

TEST(WorstTilesText, ShowsWhatIsKnownOfEach) {
  const std::string text = WorstTilesText(WorstTiles(FourTiles(), 1));
  EXPECT_THAT(text, HasSubstr("seen through"));
  EXPECT_THAT(text, HasSubstr("0.70"));
  EXPECT_THAT(text, HasSubstr("25 %"));
  EXPECT_THAT(text, HasSubstr("50 %"));
  EXPECT_THAT(text, HasSubstr("12.2"));
  EXPECT_THAT(text, HasSubstr("2026-01-01 00:00:00 UTC"));
  EXPECT_THAT(text, Not(HasSubstr("never seen")));
}

TEST(WorstTilesText, SaysWhereNothingIsKnown) {
  EXPECT_THAT(WorstTilesText({}), HasSubstr("no scan has been compared"));
}

}  // namespace
}  // namespace voxloc::cli
