// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "server/maps/fit/tile_fits.h"
#include "server/observe/metrics/metrics.h"
#include "tests/server/maps/fake_map.h"
#include "tests/support/eventually.h"

namespace voxloc::server {
namespace {

// A wall of a few cells across the x axis, 5 m away. The look-up can be made to wait.
class WallMap : public FakeMap {
 public:
  explicit WallMap(absl::Notification* proceed) : FakeMap(HalfMetreCells()), proceed_(proceed) {}

  size_t cells(size_t /*statistics_index*/) const override { return 16; }
  absl::StatusOr<std::vector<MapCell>> CellsInBox(size_t /*statistics_index*/,
                                                  const Eigen::Vector3d& /*min*/,
                                                  const Eigen::Vector3d& /*max*/,
                                                  size_t /*max_cells*/) const override {
    if (proceed_ != nullptr) proceed_->WaitForNotification();
    std::vector<MapCell> cells;
    for (int32_t z = -2; z < 2; ++z) {
      for (int32_t y = -2; y < 2; ++y) {
        MapCell cell;
        cell.key = {10, y, z};
        cell.mean = {5.25, 0.5 * y + 0.25, 0.5 * z + 0.25};
        cell.covariance = {1e-4, 0.0, 0.0, 0.02, 0.0, 0.02};
        cells.push_back(cell);
      }
    }
    return cells;
  }

 private:
  static std::vector<CellStatistics> HalfMetreCells() {
    std::vector<CellStatistics> statistics(1);
    statistics[0].cell_size_m = 0.5;
    return statistics;
  }

  absl::Notification* const proceed_;
};

MapTile TileFrom(double x0, double x1, uint8_t digest) {
  MapTile tile;
  tile.resident = std::make_shared<FakeTile>();
  tile.bounds.min = {x0, -10.0, -10.0};
  tile.bounds.max = {x1, 10.0, 10.0};
  tile.bounds.finite_points = tile.points = 1;
  tile.digest.fill(digest);
  return tile;
}

// Three tiles, one behind another.
std::shared_ptr<const MapSnapshot> Town(absl::Notification* proceed = nullptr) {
  auto snapshot = std::make_shared<MapSnapshot>();
  snapshot->name = "town";
  snapshot->resident = std::make_shared<WallMap>(proceed);
  snapshot->tiles = TileCatalogue().With({{"near", TileFrom(-10.0, 5.0, 1)},
                                          {"wall", TileFrom(5.0, 6.0, 2)},
                                          {"behind", TileFrom(6.0, 12.0, 3)}});
  return snapshot;
}

// Ends at this distance, behind the wall or in it.
FitSample ScanTo(const std::shared_ptr<const MapSnapshot>& map, float x) {
  auto points = std::make_shared<PointCloud>();
  for (int i = 0; i < 10; ++i) {
    points->PushBack(x, 0.2F + 0.01F * static_cast<float>(i), 0.25F);
  }
  FitSample sample;
  sample.map = map;
  sample.cells = map->resident->statistics()[0];
  sample.points_base = points;
  return sample;
}

class FitSamplerTest : public ::testing::Test {
 protected:
  std::optional<TileFitRecord> Find(const std::string& tile_id, uint8_t digest) {
    Sha256Digest wanted;
    wanted.fill(digest);
    return fits_.Find("town", tile_id, wanted);
  }

  const Metrics metrics_;
  TileFits fits_{100, Gauge()};
};

TEST_F(FitSamplerTest, AnAcceptedScanIsComparedWithItsTiles) {
  FitSampler sampler(fits_, {}, metrics_);
  const auto town = Town();
  sampler.Offer("s-1", 0.01, [&] { return ScanTo(town, 9.0F); });
  ASSERT_TRUE(Eventually([&] { return Find("wall", 2).has_value(); }));
  EXPECT_EQ(Find("wall", 2)->fit.solid.mismatched, 1.0);
  EXPECT_EQ(Find("wall", 2)->fit.points.all, 0.0);
  EXPECT_EQ(Find("behind", 3)->fit.points.mismatched, 10.0);
  EXPECT_FALSE(Find("near", 1).has_value());
  EXPECT_GT(Find("wall", 2)->last_used_unix_ns, 0);
  EXPECT_TRUE(Eventually([&] { return metrics_.fit_samples_taken.Value() == 1.0; }));
  EXPECT_GT(metrics_.fit_s.Value(), 0.0);
}

TEST_F(FitSamplerTest, TheNextRevisionOfAMapIsLookedUpAnew) {
  FitSampler sampler(fits_, {true, 1.0}, metrics_);
  for (uint8_t digest = 2; digest < 10; ++digest) {
    auto town = std::make_shared<MapSnapshot>(*Town());
    town->tiles = town->tiles.With({{"wall", TileFrom(5.0, 6.0, digest)}});
    sampler.Offer("s-1", 10.0, [&] { return ScanTo(town, 5.25F); });
    town.reset();
    ASSERT_TRUE(Eventually([&] { return Find("wall", digest).has_value(); }))
        << static_cast<int>(digest);
    EXPECT_EQ(Find("wall", digest)->fit.solid.all, 1.0);
    EXPECT_EQ(Find("wall", digest)->fit.solid.mismatched, 0.0);
    EXPECT_TRUE(Eventually([&] { return metrics_.fit_samples_taken.Value() == digest - 1.0; }));
  }
}

TEST_F(FitSamplerTest, OfATileThatIsNotInMemoryNothingIsSaid) {
  FitSampler sampler(fits_, {}, metrics_);
  auto town = std::make_shared<MapSnapshot>(*Town());
  MapTile absent = TileFrom(6.0, 12.0, 3);
  absent.resident = nullptr;
  // Another one lies around it.
  town->tiles = town->tiles.With({{"behind", absent}, {"large", TileFrom(-20.0, 20.0, 4)}});
  sampler.Offer("s-1", 0.01, [&] { return ScanTo(town, 9.0F); });
  ASSERT_TRUE(Eventually([&] { return Find("wall", 2).has_value(); }));
  EXPECT_FALSE(Find("behind", 3).has_value());
  EXPECT_EQ(Find("large", 4)->fit.points.all, 0.0);
  EXPECT_EQ(Find("large", 4)->fit.solid.mismatched, 1.0);
}

TEST_F(FitSamplerTest, WhereItIsSwitchedOffNothingIsCompared) {
  FitSampler sampler(fits_, {false, 0.01}, metrics_);
  bool made = false;
  sampler.Offer("s-1", 100.0, [&] {
    made = true;
    return ScanTo(Town(), 9.0F);
  });
  EXPECT_FALSE(made);
}

TEST_F(FitSamplerTest, ScansThatFindTheQueueFullAreDroppedAndCounted) {
  absl::Notification proceed;
  const auto town = Town(&proceed);
  FitSampler sampler(fits_, {true, 1.0}, metrics_);
  // One is being compared, one waits.
  for (int i = 0; i < 50; ++i) {
    sampler.Offer("s-1", 10.0, [&] { return ScanTo(town, 9.0F); });
  }
  EXPECT_GE(metrics_.fit_samples_dropped.Value(), 5.0);
  EXPECT_EQ(metrics_.fit_samples_taken.Value(), 0.0);
  proceed.Notify();
  EXPECT_TRUE(Eventually([&] { return metrics_.fit_samples_taken.Value() >= 1.0; }));
}

TEST_F(FitSamplerTest, AScanOfOtherCellsFailsAndIsCounted) {
  FitSampler sampler(fits_, {}, metrics_);
  const auto town = Town();
  sampler.Offer("s-1", 0.01, [&] {
    FitSample sample = ScanTo(town, 9.0F);
    sample.cells.cell_size_m = 3.0;
    return sample;
  });
  EXPECT_TRUE(Eventually([&] { return metrics_.fit_samples_failed.Value() == 1.0; }));
  EXPECT_FALSE(Find("wall", 2).has_value());
}

TEST_F(FitSamplerTest, AfterTheStopOffersAreRefused) {
  FitSampler sampler(fits_, {true, 1.0}, metrics_);
  sampler.Stop();
  sampler.Offer("s-1", 10.0, [&] { return ScanTo(Town(), 9.0F); });
  EXPECT_EQ(metrics_.fit_samples_dropped.Value(), 1.0);
  EXPECT_FALSE(Find("wall", 2).has_value());
}

}  // namespace
}  // namespace voxloc::server
