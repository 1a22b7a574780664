// SPDX-License-Identifier: Apache-2.0

#include "core/map/tile_moments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/parallel/thread_pool.h"
#include "tests/support/moments_comparison.h"
#include "tests/support/random_numbers.h"
#include "tests/support/reference_ndt.h"

namespace voxloc {
namespace {

using ::testing::HasSubstr;
using Index = std::tuple<int64_t, int64_t, int64_t>;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct PlainCell {
  uint64_t count = 0;
  Eigen::Vector3d sum = Eigen::Vector3d::Zero();  // from the cell's centre
  Eigen::Matrix3d outer = Eigen::Matrix3d::Zero();
  Eigen::Vector3f float_sum = Eigen::Vector3f::Zero();  // from the cloud's origin
};

std::map<Index, PlainCell> ByBruteForce(const PointCloud& cloud, double size) {
  std::map<Index, PlainCell> cells;
  for (size_t i = 0; i < cloud.size(); ++i) {
    if (!cloud.IsFinite(i)) continue;
    const Eigen::Vector3d point = cloud.Point(i);
    const Eigen::Vector3d corner = (point / size).array().floor();
    PlainCell& cell = cells[{static_cast<int64_t>(corner.x()), static_cast<int64_t>(corner.y()),
                             static_cast<int64_t>(corner.z())}];
    const Eigen::Vector3d offset = point - size * (corner + Eigen::Vector3d::Constant(0.5));
    ++cell.count;
    cell.sum += offset;
    cell.outer += offset * offset.transpose();
    cell.float_sum += cloud.Offset(i);
  }
  return cells;
}

void ExpectSameCells(const TileMoments& tile, const PointCloud& cloud, double tolerance,
                     bool float_sums = true) {
  const std::map<Index, PlainCell> expected = ByBruteForce(cloud, tile.cell_size_m);
  EXPECT_EQ(tile.cells(), expected.size());
  size_t seen = 0;
  for (size_t b = 0; b < tile.blocks.size(); ++b) {
    const TileMoments::Block& block = tile.blocks[b];
    EXPECT_EQ(block.begin, b == 0 ? 0u : tile.blocks[b - 1].end);
    EXPECT_LT(block.begin, block.end);
    if (b > 0) {
      EXPECT_TRUE(tile.blocks[b - 1].key < block.key);
    }
    for (uint32_t i = block.begin; i < block.end; ++i, ++seen) {
      if (i > block.begin) {
        EXPECT_LT(tile.places[i - 1], tile.places[i]);
      }
      const CellKey key = CellAt(block.key, tile.places[i]);
      const auto it = expected.find({key.x, key.y, key.z});
      ASSERT_NE(it, expected.end()) << key.x << " " << key.y << " " << key.z;
      const PlainCell& cell = it->second;
      const ndt::CellMoments& moments = tile.moments[i];
      EXPECT_EQ(moments.count, cell.count);
      const auto n = static_cast<double>(cell.count);
      EXPECT_LE((Eigen::Vector3d(moments.sum.x, moments.sum.y, moments.sum.z) - cell.sum).norm(),
                n * tolerance);
      EXPECT_LE((reference::ToEigen(moments.outer) - cell.outer).norm(),
                n * tolerance * tile.cell_size_m * 2.0);
      if (!float_sums) continue;
      const FloatSum& sum = tile.float_sums[i];
      EXPECT_EQ(Eigen::Vector3f(sum.x, sum.y, sum.z), cell.float_sum);
    }
  }
  EXPECT_EQ(seen, tile.cells());
  EXPECT_EQ(tile.moments.size(), tile.cells());
  EXPECT_EQ(tile.float_sums.size(), float_sums ? tile.cells() : 0);
}

PointCloud RandomCloud(size_t count, double half_extent, uint64_t seed) {
  RandomNumbers random(seed);
  PointCloud cloud;
  for (size_t i = 0; i < count; ++i) {
    const Eigen::Vector3f p = random.InBox(half_extent).cast<float>();
    cloud.PushBack(p.x(), p.y(), 0.3F * p.z());
  }
  return cloud;
}

TEST(TileMomentsTest, MomentsAreThoseOfBruteForce) {
  const PointCloud cloud = RandomCloud(20000, 30.0, 51);
  for (const double size : {0.5, 1.3, 2.0, 100.0}) {
    SCOPED_TRACE(size);
    const absl::StatusOr<TileMoments> tile = BuildTileMoments(cloud, size);
    ASSERT_TRUE(tile.ok()) << tile.status();
    EXPECT_EQ(tile->points, cloud.size());
    EXPECT_EQ(tile->not_finite, 0u);
    EXPECT_GE(tile->MemoryBytes(), tile->cells() * sizeof(ndt::CellMoments));
    ExpectSameCells(*tile, cloud, 1e-12);
  }
}

TEST(TileMomentsTest, AFarOriginLosesNothing) {
  PointCloud cloud = RandomCloud(5000, 30.0, 52);
  const absl::StatusOr<TileMoments> near = BuildTileMoments(cloud, 2.0);
  cloud.origin = {4e5, 4e6, 100.0};
  const absl::StatusOr<TileMoments> far = BuildTileMoments(cloud, 2.0);
  ASSERT_TRUE(near.ok() && far.ok());
  EXPECT_EQ(far->origin, cloud.origin);
  ExpectSameCells(*far, cloud, 2e-9);
  // The shift is a multiple of the cell, so the cells are the same ones elsewhere.
  ASSERT_EQ(near->cells(), far->cells());
  uint64_t points = 0;
  for (const ndt::CellMoments& moments : far->moments) points += moments.count;
  EXPECT_EQ(points, cloud.size());
}

// The bounding box holds far more blocks than a table could.
TEST(TileMomentsTest, PointsFarApartAreKept) {
  PointCloud cloud = RandomCloud(300, 5.0, 53);
  for (const float far : {-1e6F, 1e6F, 3e7F}) {
    cloud.PushBack(far, -far, 0.5F * far);
    cloud.PushBack(far, -far, 0.5F * far);
  }
  const absl::StatusOr<TileMoments> tile = BuildTileMoments(cloud, 0.5);
  ASSERT_TRUE(tile.ok()) << tile.status();
  ExpectSameCells(*tile, cloud, 1e-9);
}

TEST(TileMomentsTest, PointsThatAreNotFiniteAreLeftOutAndCounted) {
  PointCloud cloud = RandomCloud(100, 5.0, 54);
  const float bad[][3] = {{kNaN, 0, 0},      {0, kNaN, 0},       {0, 0, kNaN},
                          {kInfinity, 0, 0}, {0, -kInfinity, 0}, {kInfinity, -kInfinity, kNaN},
                          {0, 0, kInfinity}};
  for (const auto& p : bad) cloud.PushBack(p[0], p[1], p[2]);
  const absl::StatusOr<TileMoments> tile = BuildTileMoments(cloud, 2.0);
  ASSERT_TRUE(tile.ok()) << tile.status();
  EXPECT_EQ(tile->points, 100u);
  EXPECT_EQ(tile->not_finite, 7u);
  ExpectSameCells(*tile, cloud, 1e-12);
}

TEST(TileMomentsTest, BitsDoNotDependOnTheThreads) {
  PointCloud cloud = RandomCloud(150000, 60.0, 56);
  cloud.origin = {1000.0, -2000.0, 3.0};
  cloud.x[77] = kNaN;
  for (const double size : {0.5, 2.0, 8.0}) {
    const TileMoments alone = *BuildTileMoments(cloud, size);
    ExpectSameCells(alone, cloud, 1e-9);
    for (const size_t threads : {1, 2, 3, 7}) {
      SCOPED_TRACE(threads);
      ThreadPool pool(threads);
      ExpectSameMoments(*BuildTileMoments(cloud, size, {true, &pool}), alone);
    }
  }
}

TEST(TileMomentsTest, FloatSumsAreThereWhereTheyAreAskedFor) {
  const PointCloud cloud = RandomCloud(1000, 5.0, 57);
  TileMoments with = *BuildTileMoments(cloud, 2.0);
  const TileMoments without = *BuildTileMoments(cloud, 2.0, {false});
  EXPECT_EQ(with.float_sums.size(), with.cells());
  with.float_sums.clear();
  ExpectSameMoments(without, with);
}

// Also of points on the borders of cells, on both sides of zero.
TEST(CoarserMomentsTest, AreThoseOfThePoints) {
  PointCloud cloud = RandomCloud(20000, 30.0, 56);
  RandomNumbers random(57);
  for (int i = 0; i < 2000; ++i) {
    const Eigen::Vector3f p = random.InBox(60.0).array().round().cast<float>();
    cloud.PushBack(0.5F * p.x(), 0.5F * p.y(), 0.5F * p.z());
  }
  cloud.PushBack(kNaN, 0.0F, 0.0F);
  cloud.origin = {16.0, -1024.0, 0.25};
  for (const double fine_size : {0.5, 2.0}) {
    const absl::StatusOr<TileMoments> fine = BuildTileMoments(cloud, fine_size);
    ASSERT_TRUE(fine.ok()) << fine.status();
    for (const int bits : {1, 2, 3, 4, 6}) {
      SCOPED_TRACE(testing::Message() << fine_size << " m, " << bits << " bits");
      const TileMoments coarser = CoarsenMoments(*fine, bits);
      EXPECT_EQ(coarser.cell_size_m, fine_size * (1 << bits));
      EXPECT_EQ(coarser.origin, cloud.origin);
      EXPECT_EQ(coarser.points, cloud.size() - 1);
      EXPECT_EQ(coarser.not_finite, 1u);
      ExpectSameCells(coarser, cloud, 1e-12, /*float_sums=*/false);
    }
  }
}

TEST(CoarserMomentsTest, OnlyPowersOfTwoNest) {
  EXPECT_EQ(CoarseningBits(0.5, 2.0), 2);
  EXPECT_EQ(CoarseningBits(2.0, 4.0), 1);
  EXPECT_EQ(CoarseningBits(0.125, 8.0), 6);
  EXPECT_EQ(CoarseningBits(2.0, 2.0), std::nullopt);
  EXPECT_EQ(CoarseningBits(2.0, 1.0), std::nullopt);
  EXPECT_EQ(CoarseningBits(0.3, 0.6), std::nullopt) << "its borders are rounded";
  EXPECT_EQ(CoarseningBits(0.5, 1.5), std::nullopt);
}

TEST(TileMomentsTest, LimitsAreErrorsThatNameTheirValue) {
  const PointCloud cloud = RandomCloud(10, 5.0, 55);
  for (const double size : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    const absl::Status status = BuildTileMoments(cloud, size).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << size;
    EXPECT_THAT(std::string(status.message()), HasSubstr("the cell size must be"));
  }

  EXPECT_EQ(BuildTileMoments({}, 2.0).status().code(), absl::StatusCode::kInvalidArgument);
  PointCloud nothing;
  nothing.PushBack(kNaN, 0.0F, 0.0F);
  EXPECT_THAT(std::string(BuildTileMoments(nothing, 2.0).status().message()),
              HasSubstr("none of the tile's 1 points is finite"));

  for (const float x : {3e8F, -3e8F, 3.4e38F}) {
    PointCloud far = cloud;
    far.PushBack(0.0F, x, 0.0F);
    const absl::Status status = BuildTileMoments(far, 2.0).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("at most 2.68435e+08 m is allowed"));
  }
  PointCloud far_origin = cloud;
  far_origin.origin.x() = 1e12;
  EXPECT_EQ(BuildTileMoments(far_origin, 2.0).status().code(), absl::StatusCode::kInvalidArgument);
  for (int axis = 0; axis < 3; ++axis) {
    for (const double value : {std::nan(""), HUGE_VAL}) {
      PointCloud no_origin = cloud;
      no_origin.origin[axis] = value;
      EXPECT_EQ(BuildTileMoments(no_origin, 2.0).status().code(),
                absl::StatusCode::kInvalidArgument)
          << axis << " " << value;
    }
  }
}

}  // namespace
}  // namespace voxloc
