// SPDX-License-Identifier: Apache-2.0
//
// A town of the simulator, of which an edge is not in the map: vehicles drive out of the map and
// return to it. The seed is none of those that constants were chosen by.

#include "core/map_update/map_extension.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "tests/support/aged_town.h"
#include "tests/support/engine_test.h"
#include "tests/support/scene_distance.h"

namespace voxloc {
namespace {

class MapExtensionTest : public EngineTest {
 protected:
  void SetUp() override {
    EngineTest::SetUp();
    AgedTownOptions options;
    options.seed = 93;
    options.azimuth_steps = 900;
    options.missing_structures = options.moved_structures = 0.0;
    options.removed_edge_m = 50.0;
    auto town = AgedTown::Make(engine(), profile_, options);
    ASSERT_TRUE(town.ok()) << town.status();
    town_ = *std::move(town);
    for (size_t i = 0; i < 5; ++i) ASSERT_TRUE(town_->Drive().ok());
  }

  const Profile profile_ = PreciseProfile();
  std::unique_ptr<AgedTown> town_;
};

VOXLOC_INSTANTIATE_ON_ENGINES(MapExtensionTest);

TEST_P(MapExtensionTest, AddsWhatSeveralPassesSawBeyondTheMapWhereItIs) {
  const auto proposal = ExtendMap(engine(), profile_, town_->Request(), ExtensionOptions{});
  ASSERT_TRUE(proposal.ok()) << proposal.status();
  ASSERT_FALSE(proposal->tiles.empty());
  const auto quality = town_->JudgeExtension(*proposal);
  ASSERT_TRUE(quality.ok()) << quality.status();
  EXPECT_GT(quality->new_points, 5000U);
  EXPECT_LT(quality->median_m, 0.05);
  EXPECT_LT(quality->p95_m, 0.15);
  EXPECT_LT(quality->transient, 0.02);
  EXPECT_GT(quality->recalled, 0.6);
  EXPECT_LT(Quantile(quality->seams_m, 0.5), 0.04);
  ASSERT_GT(quality->placed.size(), 10U);
  for (const AgedTown::WayError& scan : quality->placed) EXPECT_LT(scan.error_m, 0.3);
  const NewArea area({}, ExtensionOptions{}.tile_size_m);
  for (const NewTile& tile : proposal->tiles) {
    for (size_t i = 0; i < tile.cloud_map.size(); ++i) {
      // Points are moved onto the plane of those around them.
      EXPECT_LT(area.DistanceTo(tile.square, tile.cloud_map.Point(i)), 0.1);
    }
    EXPECT_GE(2 * tile.held_out_agreeing, tile.held_out);
    EXPECT_GE(CountPasses(tile.passes), 5U);
    EXPECT_LE(tile.way_m, ExtensionOptions{}.max_way_m);
  }
}

}  // namespace
}  // namespace voxloc
