// SPDX-License-Identifier: Apache-2.0
//
// A town of the simulator whose map is old: houses and walls are missing in it or have moved, it
// has drifted, and other cars are parked in it and in every pass. The seed is none of those that
// constants were chosen by.

#include "core/map_update/map_proposal.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/support/aged_town.h"
#include "tests/support/engine_test.h"

namespace voxloc {
namespace {

AgedTownOptions SmallTown() {
  AgedTownOptions options;
  options.seed = 91;
  options.size_m = 100.0;
  options.rings = 32;
  options.azimuth_steps = 900;
  options.drive_s = 12.0;
  options.sample_every_s = 1.0;
  options.missing_structures = 0.3;
  options.moved_structures = 0.2;
  return options;
}

class MapProposalTest : public EngineTest {
 protected:
  void DriveThrough(const AgedTownOptions& options, size_t passes) {
    auto town = AgedTown::Make(engine(), profile_, options);
    ASSERT_TRUE(town.ok()) << town.status();
    town_ = *std::move(town);
    for (size_t i = 0; i < passes; ++i) ASSERT_TRUE(town_->Drive().ok());
    ASSERT_GT(town_->scans().size(), 8 * passes);
  }

  UpdateProposal Propose() {
    auto proposal = ProposeTiles(engine(), profile_, town_->Request());
    EXPECT_TRUE(proposal.ok()) << proposal.status();
    return proposal.ok() ? *std::move(proposal) : UpdateProposal{};
  }

  const Profile profile_ = PreciseProfile();
  std::unique_ptr<AgedTown> town_;
};

VOXLOC_INSTANTIATE_ON_ENGINES(MapProposalTest);

TEST_P(MapProposalTest, AddsWhatIsNewWhereItIsAndNothingThatParks) {
  ASSERT_NO_FATAL_FAILURE(DriveThrough(SmallTown(), 6));
  const UpdateProposal proposal = Propose();
  ASSERT_FALSE(proposal.tiles.empty());
  const auto quality = town_->Judge(proposal);
  ASSERT_TRUE(quality.ok()) << quality.status();
  EXPECT_GT(quality->new_points, 300U);
  EXPECT_LT(quality->median_m, 0.05);
  EXPECT_LT(quality->transient, 0.02);
  EXPECT_GT(quality->changed_seen, 100U);
  EXPECT_GT(quality->recalled, 0.8);
  EXPECT_EQ(proposal.dropped_passes, 0U);
  for (const TileProposal& tile : proposal.tiles) {
    EXPECT_GE(tile.held_out.after, tile.held_out.before);
    // Every second pass goes the other way.
    EXPECT_EQ(tile.directions.one & ~PassMask{0b010101}, 0U);
    EXPECT_EQ(tile.directions.other & ~PassMask{0b101010}, 0U);
    EXPECT_GE(CountPasses(tile.directions.one | tile.directions.other), 5U);
    EXPECT_EQ(tile.cloud_map.size() + tile.points_removed,
              town_->tiles()[tile.tile].cloud_map->size() + tile.points_added);
  }
}

TEST_P(MapProposalTest, ProposesNothingForATownInWhichOnlyCarsChanged) {
  AgedTownOptions options = SmallTown();
  options.missing_structures = options.moved_structures = 0.0;
  ASSERT_NO_FATAL_FAILURE(DriveThrough(options, 5));
  EXPECT_TRUE(Propose().tiles.empty());
}

TEST_P(MapProposalTest, ProposesNothingFromTooFewPassesOrTooShortATime) {
  ASSERT_NO_FATAL_FAILURE(DriveThrough(SmallTown(), 2));
  const auto tiles_with = [&](size_t min_passes, double min_span_s) {
    UpdateRequest request = town_->Request();
    request.rule.min_passes = min_passes;
    request.rule.min_span_s = min_span_s;
    const auto proposal = ProposeTiles(engine(), profile_, request);
    EXPECT_TRUE(proposal.ok()) << proposal.status();
    return proposal.ok() ? proposal->tiles.size() : 0;
  };
  EXPECT_GT(tiles_with(2, 0.0), 0U);
  EXPECT_EQ(tiles_with(3, 0.0), 0U);
  EXPECT_EQ(tiles_with(2, 3600.0 * 24.0), 0U);
}

TEST_P(MapProposalTest, LeavesOutScansWhosePosesAreFarOff) {
  ASSERT_NO_FATAL_FAILURE(DriveThrough(SmallTown(), 2));
  std::vector<UpdateScan> scans = town_->scans();
  scans[0].map_T_base.translation.x() += 1.0;
  UpdateRequest request = town_->Request();
  request.scans = scans;
  const auto proposal = ProposeTiles(engine(), profile_, request);
  ASSERT_TRUE(proposal.ok());
  EXPECT_EQ(proposal->counts.corrected + proposal->counts.not_accepted, 1U);
}

TEST_P(MapProposalTest, RefusesPassesThatAreTooManyOrNotThere) {
  const std::vector<UpdateTile> tiles = {
      {"a", std::make_shared<const PointCloud>(PointCloud{{0, 0, 0}, {1.0F}, {1.0F}, {1.0F}, {}})}};
  UpdateRequest request;
  request.tiles = tiles;
  const std::vector<int64_t> many(kMaxVotingPasses + 1, 0);
  request.pass_start_ns = many;
  EXPECT_EQ(ProposeTiles(engine(), profile_, request).status().message(),
            "there must be at most 64 passes (got 65)");
  const std::vector<UpdateScan> scans(1);
  request.pass_start_ns = {};
  request.scans = scans;
  EXPECT_EQ(ProposeTiles(engine(), profile_, request).status().message(),
            "a scan's pass must be below 0 (got 0)");
  request.scans = {};
  request.tiles = {};
  EXPECT_EQ(ProposeTiles(engine(), profile_, request).status().message(),
            "no tile that may change has a point");
}

TEST(ThinForUpdateTest, KeepsAPointOfEachVoxelWithinTheRange) {
  PointCloud scan;
  for (int i = 0; i < 1000; ++i) scan.PushBack(0.1F * static_cast<float>(i) + 0.05F, 0.05F, 0.05F);
  const PointCloud thin = ThinForUpdate(scan, Eigen::Vector3d(10.0, 0.0, 0.0));
  EXPECT_EQ(thin.size(), 250U);  // of the 50 m from 0 to 10 + 40 m, one every 0.2 m
  for (const float x : thin.x) EXPECT_LE(x, 50.0F);
}

}  // namespace
}  // namespace voxloc
