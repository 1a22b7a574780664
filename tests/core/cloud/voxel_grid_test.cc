// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "core/cloud/filters.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/cloud/io/cloud_bytes.h"

namespace voxloc {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// An ordered map of lists of points, keyed by cell; the order of first meetings kept apart.
struct NaiveGrid {
  std::vector<Eigen::Vector3d> centroids;
  std::vector<double> intensities;
};

NaiveGrid Naive(const PointCloud& cloud, double leaf) {
  using Key = std::tuple<int64_t, int64_t, int64_t>;
  std::map<Key, std::vector<size_t>> cells;
  std::vector<Key> order;
  for (size_t i = 0; i < cloud.size(); ++i) {
    if (!cloud.IsFinite(i)) continue;
    const Eigen::Vector3d p = cloud.Point(i);
    const Key key{std::llround(std::floor(p.x() / leaf)), std::llround(std::floor(p.y() / leaf)),
                  std::llround(std::floor(p.z() / leaf))};
    if (cells[key].empty()) order.push_back(key);
    cells[key].push_back(i);
  }
  NaiveGrid grid;
  for (const Key& key : order) {
    Eigen::Vector3d sum = Eigen::Vector3d::Zero();
    double intensity = 0.0;
    for (const size_t i : cells[key]) {
      sum += cloud.Point(i);
      if (cloud.has_intensity()) intensity += static_cast<double>(cloud.intensity[i]);
    }
    const double count = static_cast<double>(cells[key].size());
    grid.centroids.emplace_back(sum / count);
    grid.intensities.push_back(intensity / count);
  }
  return grid;
}

TEST(VoxelGridTest, MatchesANaiveGridInPlaceAndOrder) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    PointCloud cloud = RandomCloud(1000, seed, seed % 2 == 0);
    if (seed % 4 == 1) cloud.origin = {4'000'123.7, -512'345.1, 88.8};
    if (seed % 4 == 2) cloud.z[5] = std::numeric_limits<float>::quiet_NaN();
    const double leaf = 0.5 + static_cast<double>(seed) * 0.9;
    const auto thinned = VoxelDownsample(cloud, leaf);
    ASSERT_TRUE(thinned.ok()) << thinned.status();
    const NaiveGrid expected = Naive(cloud, leaf);
    ASSERT_EQ(thinned->size(), expected.centroids.size()) << "seed " << seed;
    EXPECT_EQ(thinned->origin, cloud.origin);
    for (size_t i = 0; i < thinned->size(); ++i) {
      ASSERT_LT((thinned->Point(i) - expected.centroids[i]).norm(), 2e-5) << seed << " " << i;
      if (cloud.has_intensity()) {
        ASSERT_NEAR(static_cast<double>(thinned->intensity[i]), expected.intensities[i], 1e-5);
      }
    }
  }
}

TEST(VoxelGridTest, LeavesThatWouldOverflowAreRefused) {
  PointCloud cloud;
  cloud.PushBack(0.0F, 0.0F, 0.0F);
  cloud.PushBack(1048576.0F, 0.0F, 0.0F);
  EXPECT_FALSE(VoxelDownsample(cloud, 1.0).ok());
  EXPECT_TRUE(VoxelDownsample(cloud, 1.001).ok());
  const auto fine = VoxelDownsample(cloud, 1e-3);
  EXPECT_EQ(fine.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(fine.status().message()),
              AllOf(HasSubstr("0.001 m"), HasSubstr("1.04858e+06")));
  PointCloud far;
  far.PushBack(3e38F, 0.0F, 0.0F);
  EXPECT_FALSE(VoxelDownsample(far, 1e-30).ok());
  far.PushBack(-3e38F, 0.0F, 0.0F);
  EXPECT_FALSE(VoxelDownsample(far, 1.0).ok());
  for (const double leaf : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                            std::numeric_limits<double>::infinity()}) {
    EXPECT_FALSE(VoxelDownsample(cloud, leaf).ok()) << leaf;
  }
}

// The corners of the largest extent allowed stay apart: keys do not run into each other.
TEST(VoxelGridTest, VoxelsAtTheFarEndsOfAllAxesStayApart) {
  PointCloud cloud;
  const float end = 1048575.0F;
  for (const float x : {-0.5F, end - 1.0F}) {
    for (const float y : {-0.5F, end - 1.0F}) {
      for (const float z : {-0.5F, end - 1.0F}) cloud.PushBack(x, y, z);
    }
  }
  const auto thinned = VoxelDownsample(cloud, 1.0);
  ASSERT_TRUE(thinned.ok()) << thinned.status();
  EXPECT_TRUE(SameBits(*thinned, cloud));
}

}  // namespace
}  // namespace voxloc
