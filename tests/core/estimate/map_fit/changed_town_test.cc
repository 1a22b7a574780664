// SPDX-License-Identifier: Apache-2.0
//
// Towns of the simulator in which one house changes while parked cars come and go. They are none of
// those that constants were chosen by (seeds 1 to 8).

#include "tests/support/changed_town.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/engine_test.h"

namespace voxloc {
namespace {

// Vehicles that have driven through the town before, and after.
constexpr int kPassesBefore = 4;
constexpr int kPassesAfter = 4;
// Of about 40 tiles.
constexpr size_t kWorst = 3;

class ChangedTownTest : public EngineTest {
 protected:
  void DriveThrough(TownChange change) {
    ChangedTownOptions options;
    options.seed = 91;
    options.change = change;
    options.size_m = 110.0;
    options.azimuth_steps = 450;
    options.drive_s = 24.0;
    auto town = ChangedTown::Make(engine(), profile_, options);
    ASSERT_TRUE(town.ok()) << town.status();
    town_ = *std::move(town);
    for (int i = 0; i < kPassesBefore; ++i) Drive(ChangedTown::When::kBefore);
    for (int i = 0; i < kPassesAfter; ++i) Drive(ChangedTown::When::kAfter);
    ASSERT_GT(town_->Ranked().size(), 5 * kWorst);
  }

  void Drive(ChangedTown::When when) {
    const auto report = town_->Drive(when);
    ASSERT_TRUE(report.ok()) << report.status();
    ASSERT_GE(2 * report->accepted, report->scans);
  }

  const Profile profile_ = PreciseProfile();
  std::unique_ptr<ChangedTown> town_;
};

VOXLOC_INSTANTIATE_ON_ENGINES(ChangedTownTest);

TEST_P(ChangedTownTest, AHouseThatIsGoneOrNewAndAWallThatHasMovedAreAmongTheWorstTiles) {
  for (const TownChange change : {TownChange::kRemoved, TownChange::kBuilt, TownChange::kBack}) {
    SCOPED_TRACE(static_cast<int>(change));
    ASSERT_NO_FATAL_FAILURE(DriveThrough(change));
    const auto ranked = town_->Ranked();
    std::string worst;
    bool found = false;
    for (size_t i = 0; i < kWorst; ++i) {
      found |= ranked[i]->changed;
      worst += ranked[i]->id + " " + std::to_string(ranked[i]->fit.change()) + ", ";
    }
    EXPECT_TRUE(found) << worst;
  }
}

TEST_P(ChangedTownTest, ParkedCarsThatComeAndGoMakeNoTileAChangedOne) {
  ASSERT_NO_FATAL_FAILURE(DriveThrough(TownChange::kNone));
  size_t with_parking = 0;
  size_t with_cars = 0;
  for (const ChangedTown::Tile* tile : town_->Ranked()) {
    EXPECT_LT(tile->fit.change(), 0.1) << tile->id;
    if (!tile->parking || tile->fit.points.all < 1000.0) continue;
    ++with_parking;
    // The cars are seen for what they are: points that nothing explains.
    if (tile->fit.points.ratio() > 0.05) ++with_cars;
  }
  EXPECT_GT(with_parking, 3U);
  EXPECT_GT(with_cars, 0U);
}

}  // namespace
}  // namespace voxloc
