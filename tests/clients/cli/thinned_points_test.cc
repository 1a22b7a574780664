// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/report/thinned_points.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <tuple>
#include <vector>

namespace voxloc::cli {
namespace {

// A floor and a wall, far from the frame's zero.
PointCloud Surfaces(size_t points, unsigned seed, double length_m) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> along(0.0F, static_cast<float>(length_m));
  std::uniform_real_distribution<float> noise(-0.02F, 0.02F);
  PointCloud cloud;
  cloud.origin = {370'000.0, -3'950'000.0, 40.0};
  for (size_t i = 0; i < points; ++i) {
    if (i % 3 == 0) {
      cloud.PushBack(along(random), 5.0F + noise(random), 0.2F * along(random));
    } else {
      cloud.PushBack(along(random), along(random), noise(random));
    }
  }
  return cloud;
}

// Decodes as the header says, without the code under test.
std::vector<Eigen::Vector3d> Decoded(const ThinnedPoints::PackedTile& tile) {
  const double step_m = std::pow(2.0, tile.exponent - 16);
  std::vector<Eigen::Vector3d> points;
  for (size_t at = 0; at + 6 <= tile.bytes.size(); at += 6) {
    Eigen::Vector3d point;
    for (size_t axis = 0; axis < 3; ++axis) {
      const auto low = static_cast<unsigned char>(tile.bytes[at + 2 * axis]);
      const auto high = static_cast<unsigned char>(tile.bytes[at + 2 * axis + 1]);
      point[static_cast<int>(axis)] = (low + 256.0 * high + 0.5) * step_m;
    }
    points.push_back(tile.origin_map + point);
  }
  return points;
}

using CellIndex = std::tuple<int64_t, int64_t, int64_t>;
CellIndex CellOf(const Eigen::Vector3d& place, double cell_m) {
  const Eigen::Vector3d index = (place / cell_m).array().floor();
  return {static_cast<int64_t>(index.x()), static_cast<int64_t>(index.y()),
          static_cast<int64_t>(index.z())};
}

size_t CountAll(const std::vector<ThinnedPoints::PackedTile>& tiles) {
  return std::accumulate(tiles.begin(), tiles.end(), size_t{0},
                         [](size_t sum, const auto& tile) { return sum + tile.points(); });
}

TEST(ThinnedPoints, WithinTheLimitEveryPointIsThereWithinHalfAStep) {
  const PointCloud cloud = Surfaces(2000, 1, 60.0);
  ThinnedPoints thinned(1'000'000);
  thinned.AddTile(cloud);
  const auto packed = thinned.Pack();
  ASSERT_EQ(packed.size(), 1U);
  EXPECT_EQ(packed[0].exponent, 6);
  const double step_m = 64.0 / 65536.0;
  const std::vector<Eigen::Vector3d> points = Decoded(packed[0]);
  EXPECT_EQ(points.size(), cloud.size());
  for (size_t i = 0; i < cloud.size(); ++i) {
    double nearest_m = std::numeric_limits<double>::infinity();
    for (const Eigen::Vector3d& point : points) {
      nearest_m = std::min(nearest_m, (point - cloud.Point(i)).cwiseAbs().maxCoeff());
    }
    ASSERT_LE(nearest_m, 0.5001 * step_m) << i;
  }
}

TEST(ThinnedPoints, LevelsTogetherHaveOnePointOfEachCellThatHoldsPoints) {
  const PointCloud cloud = Surfaces(5000, 2, 100.0);
  ThinnedPoints thinned(1'000'000);
  thinned.AddTile(cloud);
  const ThinnedPoints::PackedTile tile = thinned.Pack()[0];
  const std::vector<Eigen::Vector3d> points = Decoded(tile);
  const Bounds bounds = ComputeBounds(cloud);
  size_t prefix = 0;
  for (size_t level = 0; level < tile.level_points.size(); ++level) {
    prefix += tile.level_points[level];
    const double cell_m = std::pow(2.0, tile.exponent - static_cast<int>(level));
    std::set<CellIndex> shown;
    for (size_t i = 0; i < prefix; ++i) shown.insert(CellOf(points[i] - bounds.min, cell_m));
    EXPECT_EQ(shown.size(), prefix) << "level " << level << " has two points of one cell";
    std::set<CellIndex> occupied;
    for (size_t i = 0; i < cloud.size(); ++i) {
      occupied.insert(CellOf(cloud.Point(i) - bounds.min, cell_m));
    }
    EXPECT_EQ(shown.size(), occupied.size()) << level;
  }
  EXPECT_EQ(prefix, points.size());
}

TEST(ThinnedPoints, TheLimitIsMetExactlyAndOnlyTheFinestCellsAreCut) {
  constexpr size_t kLimit = 7000;
  ThinnedPoints thinned(kLimit);
  ThinnedPoints all(1'000'000);
  // Tiles of several sizes, the densest last.
  for (unsigned seed = 0; seed < 6; ++seed) {
    const PointCloud cloud = Surfaces(2000 + 2000 * seed, seed, 20.0 * (seed + 1));
    thinned.AddTile(cloud);
    all.AddTile(cloud);
  }
  const auto packed = thinned.Pack();
  const auto whole = all.Pack();
  ASSERT_EQ(packed.size(), 6U);
  EXPECT_EQ(CountAll(packed), kLimit);
  int finest = std::numeric_limits<int>::max();
  for (const auto& tile : packed) {
    finest = std::min(finest, tile.exponent - static_cast<int>(tile.level_points.size()) + 1);
  }
  size_t cut = 0;
  size_t of_cut = 0;
  for (size_t i = 0; i < packed.size(); ++i) {
    for (size_t level = 0; level < whole[i].level_points.size(); ++level) {
      const int exponent = whole[i].exponent - static_cast<int>(level);
      const size_t kept = level < packed[i].level_points.size() ? packed[i].level_points[level] : 0;
      if (exponent > finest) {
        EXPECT_EQ(kept, whole[i].level_points[level]) << i << " " << level;
      } else if (exponent < finest) {
        EXPECT_EQ(kept, 0U) << i << " " << level;
      } else {
        cut += kept;
        of_cut += whole[i].level_points[level];
      }
    }
  }
  // What is left of the finest cells is left of every tile's alike.
  const double share = static_cast<double>(cut) / static_cast<double>(of_cut);
  for (size_t i = 0; i < packed.size(); ++i) {
    const auto level = static_cast<size_t>(packed[i].exponent - finest);
    const double kept = level < packed[i].level_points.size()
                            ? static_cast<double>(packed[i].level_points[level])
                            : 0.0;
    EXPECT_NEAR(kept, share * static_cast<double>(whole[i].level_points[level]), 1.0) << i;
  }
}

TEST(ThinnedPoints, EmptyTilesSinglePointsAndPointsThatAreNotFiniteAreTaken) {
  ThinnedPoints thinned(10);
  thinned.AddTile(PointCloud());
  PointCloud one;
  one.PushBack(1.0F, 2.0F, 3.0F);
  one.PushBack(std::numeric_limits<float>::quiet_NaN(), 0.0F, 0.0F);
  one.PushBack(1.0F, 2.0F, 3.0F);
  thinned.AddTile(one);
  const auto packed = thinned.Pack();
  ASSERT_EQ(packed.size(), 2U);
  EXPECT_EQ(packed[0].points(), 0U);
  ASSERT_EQ(packed[1].points(), 1U);
  EXPECT_LE((Decoded(packed[1])[0] - Eigen::Vector3d(1.0, 2.0, 3.0)).norm(), 1e-4);
}

TEST(ThinnedPoints, MoreTilesThanPointsAreCutToTheLimit) {
  ThinnedPoints thinned(5);
  for (int i = 0; i < 20; ++i) {
    PointCloud one;
    one.PushBack(static_cast<float>(i), 0.0F, 0.0F);
    thinned.AddTile(one);
  }
  EXPECT_EQ(CountAll(thinned.Pack()), 5U);
}

}  // namespace
}  // namespace voxloc::cli
