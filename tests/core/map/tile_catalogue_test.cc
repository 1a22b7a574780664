// SPDX-License-Identifier: Apache-2.0

#include "core/map/tile_catalogue.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/core/map/stub_tile.h"

namespace voxloc {
namespace {

MapTile TileAt(double x, size_t points = 10) {
  MapTile tile;
  tile.points = points;
  tile.bounds.finite_points = points;
  tile.bounds.min = {x, 0.0, 0.0};
  tile.bounds.max = {x + 1.0, 2.0, 3.0};
  tile.resident = std::make_shared<StubTile>();
  return tile;
}

// So many that they fill several pages.
TileCatalogue Many(int count) {
  TileCatalogue::Change change;
  for (int i = 0; i < count; ++i) change[absl::StrFormat("t%06d", i)] = TileAt(i);
  return TileCatalogue().With(change);
}

TEST(TileCatalogue, SumsWhatItsTilesHave) {
  TileCatalogue::Change change = {{"b", TileAt(5.0, 7)}, {"a", TileAt(-3.0, 5)}};
  change["damaged"] = TileAt(1.0, 2);
  change["damaged"]->resident = nullptr;
  const TileCatalogue catalogue = TileCatalogue().With(change);
  EXPECT_EQ(catalogue.size(), 3u);
  EXPECT_EQ(catalogue.points(), 14u);
  EXPECT_EQ(catalogue.MemoryBytes(), 200u);
  EXPECT_EQ(catalogue.bounds().min, Eigen::Vector3d(-3, 0, 0));
  EXPECT_EQ(catalogue.bounds().max, Eigen::Vector3d(6, 2, 3));
  EXPECT_EQ(catalogue.bounds().finite_points, 14u);
}

TEST(TileCatalogue, BoundsLeaveOutATileWithoutPoints) {
  TileCatalogue::Change change = {{"a", TileAt(5.0)}, {"none", MapTile()}};
  EXPECT_EQ(TileCatalogue().With(change).bounds().min, Eigen::Vector3d(5, 0, 0));
}

TEST(TileCatalogue, ListsWhatComesAfterAnId) {
  const TileCatalogue catalogue = Many(1000);
  std::vector<std::string> ids;
  const auto take = [&](const TileCatalogue::Tile& tile) {
    ids.push_back(tile.first);
    return ids.size() < 3;
  };
  catalogue.ForEachAfter("t000499", take);
  EXPECT_EQ(ids, (std::vector<std::string>{"t000500", "t000501", "t000502"}));
  ids.clear();
  catalogue.ForEachAfter("t0004990", take);  // not there
  EXPECT_EQ(ids.front(), "t000500");
  ids.clear();
  catalogue.ForEachAfter("", take);
  EXPECT_EQ(ids.front(), "t000000");
  ids.clear();
  catalogue.ForEachAfter("t000999", take);
  EXPECT_TRUE(ids.empty());
}

TEST(TileCatalogue, AChangeSharesWhatItDoesNotTouch) {
  const TileCatalogue before = Many(10'000);
  const TileCatalogue after = before.With({{"t005000", TileAt(0.0, 99)}});
  EXPECT_EQ(after.Find("t005000")->points, 99u);
  EXPECT_EQ(before.Find("t005000")->points, 10u);
  size_t shared = 0;
  before.ForEach([&](const TileCatalogue::Tile& tile) {
    shared += after.Find(tile.first) == &tile.second ? 1 : 0;
  });
  EXPECT_GT(shared, 9000u);
  EXPECT_EQ(after.size(), before.size());
}

// Random changes, beside a plain map.
TEST(TileCatalogue, IsWhatAPlainMapWouldBe) {
  std::mt19937 random(7);
  const auto below = [&](uint32_t end) { return static_cast<uint32_t>(random()) % end; };
  TileCatalogue catalogue;
  std::map<std::string, MapTile> plain;
  for (int round = 0; round < 200; ++round) {
    TileCatalogue::Change change;
    const uint32_t changes = below(round % 20 == 0 ? 3000 : 20);
    for (uint32_t i = 0; i < changes; ++i) {
      const std::string id = absl::StrCat(below(5000));
      if (below(3) == 0) {
        change[id] = std::nullopt;
        plain.erase(id);
      } else {
        change[id] = TileAt(below(100), 1 + below(50));
        plain[id] = *change[id];
      }
    }
    if (round == 120) {  // all of them go
      for (const auto& [id, tile] : plain) change[id] = std::nullopt;
      plain.clear();
    }
    catalogue = catalogue.With(change);
    ASSERT_EQ(catalogue.size(), plain.size());
    size_t points = 0;
    auto expected = plain.begin();
    catalogue.ForEach([&](const TileCatalogue::Tile& tile) {
      ASSERT_NE(expected, plain.end());
      EXPECT_EQ(tile.first, expected->first);
      EXPECT_EQ(tile.second.resident, expected->second.resident);
      EXPECT_EQ(catalogue.Find(tile.first), &tile.second);
      points += tile.second.points;
      ++expected;
    });
    EXPECT_EQ(catalogue.points(), points);
    EXPECT_EQ(catalogue.Find(absl::StrCat("x", below(5000))), nullptr);
  }
}

}  // namespace
}  // namespace voxloc
