// SPDX-License-Identifier: Apache-2.0
//
// The moments of tiles against the CPU's.

#include "core/map/tile_moments.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tests/cuda/map/map_fixture.h"
#include "tests/support/random_numbers.h"
#include "tests/support/reference_ndt.h"
#include "tests/support/synthetic_scene.h"

namespace voxloc::cuda {
namespace {

constexpr double kMeanM = 1e-6;

template <typename T>
bool SameBits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

void ExpectSameMoments(const TileMoments& tile, const TileMoments& expected) {
  EXPECT_EQ(tile.points, expected.points);
  EXPECT_EQ(tile.not_finite, expected.not_finite);
  EXPECT_EQ(tile.origin, expected.origin);
  ASSERT_EQ(tile.blocks.size(), expected.blocks.size());
  for (size_t i = 0; i < tile.blocks.size(); ++i) {
    ASSERT_TRUE(tile.blocks[i].key == expected.blocks[i].key) << i;
    ASSERT_EQ(tile.blocks[i].begin, expected.blocks[i].begin) << i;
    ASSERT_EQ(tile.blocks[i].end, expected.blocks[i].end) << i;
  }
  ASSERT_EQ(tile.places, expected.places);
  ASSERT_EQ(tile.moments.size(), expected.moments.size());
  const double size_m = tile.cell_size_m;
  for (size_t i = 0; i < tile.moments.size(); ++i) {
    const ndt::CellMoments& a = tile.moments[i];
    const ndt::CellMoments& b = expected.moments[i];
    ASSERT_EQ(a.count, b.count) << i;
    const auto n = static_cast<double>(a.count);
    const Eigen::Vector3d sum(a.sum.x - b.sum.x, a.sum.y - b.sum.y, a.sum.z - b.sum.z);
    ASSERT_LE(sum.norm() / n, kMeanM) << i;
    // Rounding of n sums of numbers up to the cell size squared.
    ASSERT_LE((reference::ToEigen(a.outer) - reference::ToEigen(b.outer)).cwiseAbs().maxCoeff(),
              1e-13 * n * n * size_m * size_m)
        << i;
  }
  if (!tile.float_sums.empty()) {
    EXPECT_TRUE(SameBits(tile.float_sums, expected.float_sums));
  }
}

class CudaTileMomentsTest : public CudaMapTest {
 protected:
  void ExpectAsOnCpu(const PointCloud& cloud) {
    const auto tile = Build(cloud, TestStatistics());
    if (tile == nullptr) return;
    size_t finest = 0;
    for (const CellStatistics& statistics : TestStatistics()) {
      SCOPED_TRACE(statistics.cell_size_m);
      const auto moments = tile->Download(statistics.cell_size_m);
      ASSERT_TRUE(moments.ok()) << moments.status();
      const auto expected = BuildTileMoments(cloud, statistics.cell_size_m);
      ASSERT_TRUE(expected.ok()) << expected.status();
      ExpectSameMoments(*moments, *expected);
      EXPECT_EQ(moments->float_sums.empty(), statistics.cell_size_m != 1.3);
      finest = std::max(finest, expected->cells());
    }
    EXPECT_EQ(tile->cells(), finest);
    EXPECT_EQ(tile->points() + tile->not_finite(), cloud.size());
  }
};

TEST_F(CudaTileMomentsTest, OfTheSceneAreTheCpus) { ExpectAsOnCpu(SceneMap()); }

TEST_F(CudaTileMomentsTest, FarFromTheOriginAreTheCpus) {
  ExpectAsOnCpu(SceneMap({}, {4e5, 4e6, 100.0}));
}

TEST_F(CudaTileMomentsTest, OfRealCloudsAreTheCpus) {
  const std::vector<NamedCloud> clouds = RealClouds();
  if (clouds.empty()) GTEST_SKIP() << "no real data";
  for (const NamedCloud& named : clouds) {
    SCOPED_TRACE(named.name);
    ExpectAsOnCpu(named.cloud);
    PointCloud moved = named.cloud;
    moved.origin += Eigen::Vector3d(4e5, 4e6, 100.0);
    ExpectAsOnCpu(moved);
  }
}

TEST_F(CudaTileMomentsTest, LeaveOutPointsThatAreNotFinite) {
  PointCloud cloud = SceneTiles()[5];
  for (size_t i = 0; i < cloud.size(); i += 7) cloud.x[i] = std::nanf("");
  for (size_t i = 3; i < cloud.size(); i += 11) cloud.z[i] = HUGE_VALF;
  for (size_t i = 5; i < cloud.size(); i += 13) cloud.y[i] = -HUGE_VALF;
  ExpectAsOnCpu(cloud);
}

TEST_F(CudaTileMomentsTest, OfOnePointAndOfPointsOnCellBordersAreTheCpus) {
  PointCloud one;
  one.PushBack(1.5F, -2.5F, 0.25F);
  ExpectAsOnCpu(one);
  PointCloud borders;
  for (int i = -20; i <= 20; ++i) {
    for (int k = 0; k < 9; ++k) {
      borders.PushBack(0.7F * static_cast<float>(i), 2.0F * static_cast<float>(k - 4),
                       -0.0F * static_cast<float>(i));
    }
  }
  ExpectAsOnCpu(borders);
}

// One cell takes the path of long cells, and its float32 sum is a long chain.
TEST_F(CudaTileMomentsTest, OfACellWithVeryManyPointsAreTheCpus) {
  RandomNumbers random(3);
  PointCloud cloud;
  for (int i = 0; i < 50'000; ++i) {
    const Eigen::Vector3d p = random.InBox(0.34);
    cloud.PushBack(static_cast<float>(0.35 + p.x()), static_cast<float>(0.35 + p.y()),
                   static_cast<float>(0.35 + p.z()));
  }
  ExpectAsOnCpu(cloud);
}

// Keys of more than 32 bits.
TEST_F(CudaTileMomentsTest, OfPointsFarApartAreTheCpus) {
  RandomNumbers random(4);
  PointCloud cloud;
  for (int i = 0; i < 3000; ++i) {
    const Eigen::Vector3d p = random.InBox(1e5);
    for (int k = 0; k < 3; ++k) {
      cloud.PushBack(static_cast<float>(p.x()), static_cast<float>(p.y()),
                     static_cast<float>(p.z()));
    }
  }
  ExpectAsOnCpu(cloud);
  cloud.x[17] = std::nanf("");
  ExpectAsOnCpu(cloud);
}

// Enough points for several threads to copy them up.
TEST_F(CudaTileMomentsTest, OfAMillionPointsAreTheCpus) {
  RandomNumbers random(5);
  PointCloud cloud;
  cloud.Reserve(1'000'003);
  for (int i = 0; i < 1'000'003; ++i) {
    cloud.PushBack(static_cast<float>(random.Uniform(-80, 80)),
                   static_cast<float>(random.Uniform(-80, 80)),
                   static_cast<float>(random.Uniform(-2, 8)));
  }
  ExpectAsOnCpu(cloud);
}

TEST_F(CudaTileMomentsTest, HaveTheSameBitsTwice) {
  const PointCloud cloud = SceneMap();
  const auto first = Build(cloud, TestStatistics());
  const auto again = Build(cloud, TestStatistics());
  ASSERT_NE(first, nullptr);
  ASSERT_NE(again, nullptr);
  for (const CellStatistics& statistics : TestStatistics()) {
    const auto a = first->Download(statistics.cell_size_m);
    const auto b = again->Download(statistics.cell_size_m);
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_TRUE(SameBits(a->moments, b->moments));
    EXPECT_TRUE(SameBits(a->float_sums, b->float_sums));
  }
}

}  // namespace
}  // namespace voxloc::cuda
