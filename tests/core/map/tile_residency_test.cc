// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/map/tile_catalogue.h"
#include "tests/core/map/stub_tile.h"

namespace voxloc {
namespace {

MapTile TileAt(double x, TileState state) {
  MapTile tile;
  tile.bounds.min = {x, 0.0, 0.0};
  tile.bounds.max = {x + 10.0, 10.0, 5.0};
  tile.bounds.finite_points = 1;
  if (state == TileState::kResident) tile.resident = std::make_shared<StubTile>();
  tile.damaged = state == TileState::kDamaged;
  return tile;
}

// Ten tiles of 10 m in a row; which are missing and damaged.
TileCatalogue Row() {
  TileCatalogue::Change change;
  for (int i = 0; i < 10; ++i) {
    TileState state = TileState::kResident;
    if (i == 3 || i == 4) state = TileState::kMissing;
    if (i == 8) state = TileState::kDamaged;
    change.emplace(absl::StrCat("tile", i), TileAt(10.0 * i, state));
  }
  return TileCatalogue().With(change);
}

TEST(TileResidencyTest, IsNothingForAMapThatIsInMemoryWhole) {
  EXPECT_EQ(TileResidency::Create(TileCatalogue()), nullptr);
  TileCatalogue::Change change;
  change.emplace("a", TileAt(0.0, TileState::kResident));
  EXPECT_EQ(TileResidency::Create(TileCatalogue().With(change)), nullptr);
}

TEST(TileResidencyTest, CountsWhatIsNearAPlace) {
  const auto residency = TileResidency::Create(Row());
  ASSERT_NE(residency, nullptr);
  EXPECT_EQ(residency->all().resident, 7u);
  EXPECT_EQ(residency->all().missing, 2u);
  EXPECT_EQ(residency->all().damaged, 1u);
  const auto near = residency->Within({25.0, 5.0}, 4.0);
  EXPECT_EQ(near.resident, 1u);
  EXPECT_EQ(near.absent(), 0u);
  const auto wider = residency->Within({25.0, 5.0}, 6.0);
  EXPECT_EQ(wider.resident, 2u);
  EXPECT_EQ(wider.missing, 1u);
  const auto box = residency->Touching({35.0, 20.0}, {100.0, 30.0});
  EXPECT_EQ(box.resident + box.absent(), 0u);
  const auto damaged = residency->Touching({81.0, 1.0}, {82.0, 2.0});
  EXPECT_EQ(damaged.damaged, 1u);
  EXPECT_EQ(damaged.resident, 0u);
}

TEST(TileResidencyTest, NumbersTilesInTheOrderOfTheirIds) {
  const auto residency = TileResidency::Create(Row());
  ASSERT_EQ(residency->layout()->size(), 10u);
  for (uint32_t i = 0; i < 10; ++i) {
    EXPECT_EQ(residency->layout()->id(i), absl::StrCat("tile", i));
  }
  EXPECT_EQ(residency->state(3), TileState::kMissing);
  EXPECT_EQ(residency->state(8), TileState::kDamaged);
  EXPECT_EQ(residency->state(9), TileState::kResident);
}

}  // namespace
}  // namespace voxloc
