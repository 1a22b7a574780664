// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/maps/residency/residency.h"

namespace voxloc::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Tiles of 10 m in a row, so that tile i lies from 10 i m to 10 i + 10 m.
TileLayout Row(int tiles) {
  TileCatalogue::Change change;
  for (int i = 0; i < tiles; ++i) {
    MapTile tile;
    tile.bounds.min = {10.0 * i, 0.0, 0.0};
    tile.bounds.max = {10.0 * i + 10.0, 10.0, 5.0};
    tile.bounds.finite_points = 1;
    change.emplace(absl::StrCat("tile", 1000 + i), tile);
  }
  return TileLayout(TileCatalogue().With(change));
}

PlaceInUse At(double x, double vx = 0.0) {
  PlaceInUse place;
  place.position = {x, 5.0};
  place.velocity = {vx, 0.0};
  return place;
}

ResidencyOptions Options(double map_radius_m, double ahead_s) {
  ResidencyOptions options;
  options.map_radius_m = map_radius_m;
  options.ahead_s = ahead_s;
  return options;
}

TEST(ResidencyPlanTest, WantsWhatIsAroundAVehicleTheNearestFirst) {
  EXPECT_THAT(PlanResidency(Row(100), {At(52.0)}, Options(15.0, 5.0)), ElementsAre(5, 4, 6, 3));
  EXPECT_THAT(PlanResidency(Row(100), {}, Options(15.0, 5.0)), IsEmpty());
  EXPECT_THAT(PlanResidency(Row(100), {At(-500.0)}, Options(15.0, 5.0)), IsEmpty());
}

TEST(ResidencyPlanTest, WantsWhatLiesAheadAfterWhatIsAround) {
  const std::vector<PlaceInUse> vehicles = {At(52.0, 10.0), At(152.0)};
  // Around both vehicles, then around 102 m.
  EXPECT_THAT(PlanResidency(Row(100), vehicles, Options(9.0, 5.0)),
              ElementsAre(5, 15, 4, 14, 6, 16, 10, 9, 11));
}

TEST(ResidencyPlanTest, WantsEachTileOnceForAWholeFleet) {
  std::vector<PlaceInUse> vehicles;
  for (int i = 0; i < 200; ++i) vehicles.push_back(At(3.0 * i, 15.0));
  const auto wanted = PlanResidency(Row(100), vehicles, Options(150.0, 5.0));
  EXPECT_EQ(std::set<uint32_t>(wanted.begin(), wanted.end()).size(), wanted.size());
  // To 597 m and 150 m more; 75 m more ahead.
  EXPECT_EQ(wanted.size(), 83u);
}

}  // namespace
}  // namespace voxloc::server
