// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "core/estimate/covariance/cluster_covariance.h"
#include "tests/support/random_numbers.h"

namespace voxloc {
namespace {

PointCloud RandomCloud(int points) {
  RandomNumbers random(4);
  PointCloud cloud;
  cloud.origin = {100.0, -20.0, 3.0};
  for (int i = 0; i < points; ++i) {
    const Eigen::Vector3f p = random.InBox(30.0).cast<float>();
    cloud.PushBack(p.x(), p.y(), 0.1F * p.z());
  }
  return cloud;
}

size_t SizeOf(const PointGroups& groups, size_t k) {
  return groups.ends[k] - (k == 0 ? 0 : groups.ends[k - 1]);
}

TEST(PointClustersTest, ClustersAndSlicesHoldEveryFinitePointOnce) {
  for (const auto& [group, missing] :
       {std::pair(&ClusterPoints, 17U), std::pair(&SlicePoints, 0U)}) {
    PointCloud cloud = RandomCloud(1501);
    cloud.x[missing] = missing == 0 ? std::numeric_limits<float>::infinity()
                                    : std::numeric_limits<float>::quiet_NaN();
    const PointGroups groups = group(cloud);
    ASSERT_EQ(groups.ends.size(), kMaxPointGroups);
    for (size_t k = 0; k < groups.ends.size(); ++k) {
      EXPECT_GE(SizeOf(groups, k), 23U);
      EXPECT_LE(SizeOf(groups, k), 24U);
    }
    std::vector<uint32_t> places = groups.places;
    // Slices keep the order.
    if (missing != 0) std::sort(places.begin(), places.end());
    std::vector<uint32_t> expected;
    for (uint32_t i = 0; i < 1501; ++i) {
      if (i != missing) expected.push_back(i);
    }
    EXPECT_EQ(places, expected);
  }
  EXPECT_TRUE(SlicePoints(PointCloud()).ends.empty());
  EXPECT_EQ(SlicePoints(RandomCloud(1)).ends, std::vector<uint32_t>{1});
}

TEST(PointClustersTest, AreSmallerThanTheCloud) {
  const PointCloud cloud = RandomCloud(2000);
  const PointGroups clusters = ClusterPoints(cloud);
  for (size_t k = 0; k < clusters.ends.size(); ++k) {
    float low = std::numeric_limits<float>::infinity();
    float high = -low;
    for (size_t i = clusters.ends[k] - SizeOf(clusters, k); i < clusters.ends[k]; ++i) {
      low = std::min(low, cloud.x[clusters.places[i]]);
      high = std::max(high, cloud.x[clusters.places[i]]);
    }
    EXPECT_LT(high - low, 20.0F);
  }
}

// The clusters of these points, found by sorting.
void HalveBySorting(const PointCloud& cloud, std::vector<uint32_t> places, size_t parts,
                    std::vector<std::vector<uint32_t>>& clusters) {
  if (parts == 1) {
    std::sort(places.begin(), places.end());
    clusters.push_back(std::move(places));
    return;
  }
  Eigen::Array3f low = cloud.Offset(places[0]);
  Eigen::Array3f high = low;
  for (const uint32_t place : places) {
    low = low.min(cloud.Offset(place).array());
    high = high.max(cloud.Offset(place).array());
  }
  int axis = 0;
  (high - low).maxCoeff(&axis);
  std::sort(places.begin(), places.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(cloud.Offset(a)[axis], a) < std::pair(cloud.Offset(b)[axis], b);
  });
  const auto half = places.begin() + static_cast<std::ptrdiff_t>(places.size() / 2);
  HalveBySorting(cloud, {places.begin(), half}, parts / 2, clusters);
  HalveBySorting(cloud, {half, places.end()}, parts / 2, clusters);
}

TEST(PointClustersTest, AreTheHalvesAlongTheLongestEdgeHoweverThePointsLie) {
  PointCloud coarse = RandomCloud(1500);  // with many equal coordinates
  for (std::vector<float>* axis : {&coarse.x, &coarse.y, &coarse.z}) {
    for (float& coordinate : *axis) coordinate = std::round(coordinate);
  }
  PointCloud apart = RandomCloud(1501);  // nearly all in one bin of any even division
  for (float& x : apart.x) x *= 1e-3F;
  apart.x[700] = 1e6F;
  PointCloud huge = RandomCloud(1000);  // whose extent is no number
  for (float& y : huge.y) y *= 1e37F;
  for (const PointCloud& cloud : {RandomCloud(64), RandomCloud(2000), coarse, apart, huge}) {
    const PointGroups clusters = ClusterPoints(cloud);
    std::vector<uint32_t> all(cloud.size());
    std::iota(all.begin(), all.end(), 0U);
    std::vector<std::vector<uint32_t>> expected;
    HalveBySorting(cloud, all, clusters.ends.size(), expected);
    for (size_t k = 0; k < expected.size(); ++k) {
      const auto end = clusters.places.begin() + clusters.ends[k];
      EXPECT_EQ(std::vector<uint32_t>(end - static_cast<std::ptrdiff_t>(SizeOf(clusters, k)), end),
                expected[k])
          << "cluster " << k << " of " << cloud.size();
    }
  }
}

TEST(PointClustersTest, AreFewerForFewPoints) {
  const std::pair<int, size_t> rows[] = {{0, 0}, {1, 1}, {7, 1}, {8, 2}, {40, 8}};
  for (const auto& [points, clusters] : rows) {
    EXPECT_EQ(ClusterPoints(RandomCloud(points)).ends.size(), clusters) << points;
  }
}

TEST(PointClustersTest, CutPointsInOnePlace) {
  PointCloud cloud;
  for (int i = 0; i < 64; ++i) cloud.PushBack(1.0F, 2.0F, 3.0F);
  const PointGroups clusters = ClusterPoints(cloud);
  EXPECT_EQ(clusters.ends.size(), 16U);
  for (size_t k = 0; k < clusters.ends.size(); ++k) EXPECT_EQ(SizeOf(clusters, k), 4U);
}

}  // namespace
}  // namespace voxloc
