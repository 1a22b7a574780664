// SPDX-License-Identifier: Apache-2.0

#include "core/map/cells.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/composed_cells.h"
#include "tests/support/random_numbers.h"
#include "tests/support/reference_ndt.h"
#include "tests/support/synthetic_scene.h"

namespace voxloc {
namespace {

using ::testing::HasSubstr;

std::vector<std::unique_ptr<TileMoments>> BuildAll(const std::vector<PointCloud>& clouds,
                                                   double size) {
  std::vector<std::unique_ptr<TileMoments>> tiles;
  for (const PointCloud& cloud : clouds) {
    absl::StatusOr<TileMoments> tile = BuildTileMoments(cloud, size);
    EXPECT_TRUE(tile.ok()) << tile.status();
    tiles.push_back(std::make_unique<TileMoments>(*std::move(tile)));
  }
  return tiles;
}

std::vector<const TileMoments*> Pointers(const std::vector<std::unique_ptr<TileMoments>>& tiles) {
  std::vector<const TileMoments*> pointers;
  for (const auto& tile : tiles) pointers.push_back(tile.get());
  return pointers;
}

std::vector<MapCell> CellsOf(const std::vector<PointCloud>& clouds,
                             const CellStatistics& statistics) {
  const auto tiles = BuildAll(clouds, statistics.cell_size_m);
  return AllCellsOf(Pointers(tiles), statistics);
}

CellStatistics Merged(double size) {
  CellStatistics statistics;
  statistics.cell_size_m = size;
  return statistics;
}

CellStatistics PerTile(double size, bool float_index) {
  CellStatistics statistics = Merged(size);
  statistics.merge_tiles = false;
  statistics.float_index = float_index;
  return statistics;
}

// 20 x 20 tiles of 3.1 m, whose edges lie on no border of cells, and coarser cuts.
std::vector<PointCloud> Cut(const PointCloud& cloud, int tiles) {
  const Eigen::Vector2d corner(-31.0, -31.0);
  if (tiles == 1) return {cloud};
  if (tiles == 10) return CutIntoTiles(cloud, 5, 2, corner, {12.4, 31.0});
  return CutIntoTiles(cloud, 20, 20, corner, {3.1, 3.1});
}

TEST(CellsTest, MergedCellsDoNotDependOnTheTiling) {
  for (const Eigen::Vector3d& origin :
       {Eigen::Vector3d(0, 0, 0), Eigen::Vector3d(4e5, 4e6, 100.0)}) {
    const PointCloud cloud = SceneMap({}, origin);
    for (const double size : {0.5, 2.0, 4.0}) {
      const std::vector<MapCell> whole = CellsOf(Cut(cloud, 1), Merged(size));
      ASSERT_GT(whole.size(), 100u);
      for (const int count : {10, 400}) {
        SCOPED_TRACE(std::to_string(size) + " m, " + std::to_string(count) + " tiles");
        const std::vector<PointCloud> tiles = Cut(cloud, count);
        ASSERT_EQ(tiles.size(), static_cast<size_t>(count));
        const std::vector<MapCell> cells = CellsOf(tiles, Merged(size));
        ASSERT_EQ(cells.size(), whole.size());
        double largest = 0.0;
        for (size_t i = 0; i < cells.size(); ++i) {
          EXPECT_TRUE(cells[i].key == whole[i].key);
          EXPECT_EQ(cells[i].count, whole[i].count);
          largest = std::max(largest, (cells[i].mean - whole[i].mean).norm());
          const Eigen::Matrix3d expected = reference::ToEigen(whole[i].covariance);
          EXPECT_LE((reference::ToEigen(cells[i].covariance) - expected).norm(),
                    1e-9 * expected.norm());
        }
        EXPECT_LE(largest, 1e-9);
      }
    }
  }
}

TEST(CellsTest, CellsCutByTileEdgesAreOneForEachTileWhereNotMerged) {
  const PointCloud cloud = SceneMap();
  const std::vector<MapCell> whole = CellsOf(Cut(cloud, 1), PerTile(2.0, false));
  const std::vector<MapCell> cut = CellsOf(Cut(cloud, 400), PerTile(2.0, false));
  EXPECT_GT(cut.size(), whole.size() * 5 / 4);
  // On cell borders the cut changes nothing.
  const std::vector<MapCell> aligned =
      CellsOf(CutIntoTiles(cloud, 20, 20, {-40.0, -40.0}, {4.0, 4.0}), PerTile(2.0, false));
  ASSERT_EQ(aligned.size(), whole.size());
  for (size_t i = 0; i < aligned.size(); ++i) {
    EXPECT_EQ(aligned[i].count, whole[i].count);
    EXPECT_EQ(aligned[i].mean, whole[i].mean);
  }
}

PointCloud Points(const Eigen::Vector3d& around, int count, uint64_t seed) {
  RandomNumbers random(seed);
  PointCloud cloud;
  for (int i = 0; i < count; ++i) {
    const Eigen::Vector3f p = (around + random.InBox(0.4)).cast<float>();
    cloud.PushBack(p.x(), p.y(), p.z());
  }
  return cloud;
}

TEST(CellsTest, TilesWithTooFewPointsEachMakeACellOnlyTogether) {
  const std::vector<PointCloud> tiles = {Points({1, 1, 1}, 5, 1), Points({1, 1, 1}, 5, 2)};
  EXPECT_EQ(CellsOf(tiles, PerTile(2.0, false)).size(), 0u);
  const std::vector<MapCell> merged = CellsOf(tiles, Merged(2.0));
  ASSERT_EQ(merged.size(), 1u);
  EXPECT_EQ(merged[0].count, 10u);

  const std::vector<PointCloud> enough = {Points({1, 1, 1}, 6, 1), Points({1, 1, 1}, 7, 2)};
  const std::vector<MapCell> apart = CellsOf(enough, PerTile(2.0, false));
  ASSERT_EQ(apart.size(), 2u);
  EXPECT_EQ(apart[0].count, 6u);
  EXPECT_EQ(apart[1].count, 7u);
  EXPECT_TRUE(apart[0].key == apart[1].key);
}

TEST(CellsTest, TheIndexIsTheMeanOrTheFloatRunningMean) {
  // Far from its origin a float sum of many points loses centimetres.
  PointCloud cloud = Points({30001.0, -52001.0, 1.0}, 3000, 3);
  cloud.origin = {1000.0, 2000.0, 0.0};
  const std::vector<MapCell> exact = CellsOf({cloud}, PerTile(2.0, false));
  const std::vector<MapCell> rounded = CellsOf({cloud}, PerTile(2.0, true));
  ASSERT_EQ(exact.size(), 1u);
  ASSERT_EQ(rounded.size(), 1u);
  EXPECT_EQ(exact[0].index, exact[0].mean);
  EXPECT_EQ(rounded[0].mean, exact[0].mean);

  Eigen::Vector3f sum = Eigen::Vector3f::Zero();
  for (size_t i = 0; i < cloud.size(); ++i) sum += cloud.Offset(i);
  const Eigen::Vector3f mean = sum / 3000.0F;
  EXPECT_EQ(rounded[0].index, cloud.origin + mean.cast<double>());
  EXPECT_GT((rounded[0].index - rounded[0].mean).norm(), 0.01);
  EXPECT_LT((exact[0].mean - Eigen::Vector3d(31001.0, -50001.0, 1.0)).norm(), 0.05);
}

TEST(CellsTest, MeansLieWhereTheirBlocksMayHoldThem) {
  const CellStatistics statistics = Merged(0.5);
  const std::vector<MapCell> cells = CellsOf({SceneMap()}, statistics);
  RandomNumbers random(7);
  size_t left_out = 0;
  for (int i = 0; i < 50; ++i) {
    const Eigen::Vector3d centre = random.InBox(30.0);
    const Eigen::Vector3d half = random.InBox(10.0).cwiseAbs();
    const Eigen::Vector3d min = centre - half;
    const Eigen::Vector3d max = centre + half;
    for (const MapCell& cell : cells) {
      const CellKey block = BlockOf(cell.key);
      const bool may = MayContainMeans(block, block, statistics.cell_size_m, min, max);
      if ((cell.mean.array() >= min.array()).all() && (cell.mean.array() <= max.array()).all()) {
        EXPECT_TRUE(may);
      }
      left_out += may ? 0 : 1;
    }
  }
  EXPECT_GT(left_out, cells.size());
  const Eigen::Vector3d nothing = Eigen::Vector3d::Constant(std::nan(""));
  EXPECT_TRUE(MayContainMeans({5, 5, 5}, {5, 5, 5}, 0.5, nothing, nothing));
  EXPECT_TRUE(MayContainMeans({-9, -9, -9}, {9, 9, 9}, 0.5, {-0.1, 0, 0}, {0.1, 1, 1}));
}

TEST(CellsTest, StatisticsOutsideTheirLimitsAreNamed) {
  EXPECT_TRUE(ValidateCellStatistics({}).ok());
  const auto message = [](auto&& change) {
    CellStatistics statistics;
    change(statistics);
    const absl::Status status = ValidateCellStatistics(statistics);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  for (const double size : {0.0, -2.0, 1e-3, 1e4, std::nan("")}) {
    EXPECT_THAT(message([&](CellStatistics& s) { s.cell_size_m = size; }), HasSubstr("cell size"));
  }
  for (const uint32_t points : {0u, 1u, 2u}) {
    EXPECT_THAT(message([&](CellStatistics& s) { s.gaussian.min_points = points; }),
                HasSubstr("minimum number of points"));
  }
  for (const double ratio : {0.0, -0.1, 1.1, std::nan("")}) {
    EXPECT_THAT(message([&](CellStatistics& s) { s.gaussian.eigenvalue_ratio = ratio; }),
                HasSubstr("eigenvalue ratio"));
  }
  EXPECT_THAT(message([](CellStatistics& s) { s.float_index = true; }), HasSubstr("float32 index"));
}

TEST(CellsTest, EveryFieldOfStatisticsTellsThemApart) {
  const CellStatistics plain = PerTile(2.0, false);
  const auto differs = [&](auto&& change) {
    CellStatistics changed = plain;
    change(changed);
    return !(changed == plain) && ToString(changed) != ToString(plain);
  };
  EXPECT_TRUE(plain == PerTile(2.0, false));
  EXPECT_TRUE(differs([](CellStatistics& s) { s.cell_size_m = 1.0; }));
  EXPECT_TRUE(differs([](CellStatistics& s) { s.gaussian.min_points = 7; }));
  EXPECT_TRUE(differs([](CellStatistics& s) { s.gaussian.identity_seed = true; }));
  EXPECT_TRUE(differs([](CellStatistics& s) { s.gaussian.eigenvalue_ratio = 0.02; }));
  EXPECT_TRUE(differs([](CellStatistics& s) { s.merge_tiles = true; }));
  EXPECT_TRUE(differs([](CellStatistics& s) { s.float_index = true; }));
}

}  // namespace
}  // namespace voxloc
