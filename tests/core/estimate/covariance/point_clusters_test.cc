// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/covariance/point_clusters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

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

std::vector<std::array<float, 3>> SortedPoints(const PointCloud& cloud) {
  std::vector<std::array<float, 3>> points;
  for (size_t i = 0; i < cloud.size(); ++i) {
    if (cloud.IsFinite(i)) points.push_back({cloud.x[i], cloud.y[i], cloud.z[i]});
  }
  std::sort(points.begin(), points.end());
  return points;
}

TEST(PointClustersTest, HoldEveryFinitePointOnce) {
  PointCloud cloud = RandomCloud(1501);
  cloud.x[17] = std::numeric_limits<float>::quiet_NaN();
  PointCloud together;
  const auto clusters = ClusterPoints(cloud);
  EXPECT_EQ(clusters.size(), kMaxPointClusters);
  for (const auto& cluster : clusters) {
    EXPECT_EQ(cluster->origin, cloud.origin);
    EXPECT_GE(cluster->size(), 23U);
    EXPECT_LE(cluster->size(), 24U);
    for (size_t i = 0; i < cluster->size(); ++i) {
      together.PushBack(cluster->x[i], cluster->y[i], cluster->z[i]);
    }
  }
  EXPECT_EQ(SortedPoints(together), SortedPoints(cloud));
}

TEST(PointClustersTest, AreSmallerThanTheCloud) {
  for (const auto& cluster : ClusterPoints(RandomCloud(2000))) {
    const auto [low, high] = std::minmax_element(cluster->x.begin(), cluster->x.end());
    EXPECT_LT(*high - *low, 20.0F);
  }
}

TEST(PointClustersTest, AreFewerForFewPoints) {
  EXPECT_TRUE(ClusterPoints(PointCloud()).empty());
  EXPECT_EQ(ClusterPoints(RandomCloud(1)).size(), 1U);
  EXPECT_EQ(ClusterPoints(RandomCloud(7)).size(), 1U);
  EXPECT_EQ(ClusterPoints(RandomCloud(8)).size(), 2U);
  EXPECT_EQ(ClusterPoints(RandomCloud(40)).size(), 8U);
}

TEST(PointClustersTest, CutPointsInOnePlace) {
  PointCloud cloud;
  for (int i = 0; i < 64; ++i) cloud.PushBack(1.0F, 2.0F, 3.0F);
  const auto clusters = ClusterPoints(cloud);
  EXPECT_EQ(clusters.size(), 16U);
  for (const auto& cluster : clusters) EXPECT_EQ(cluster->size(), 4U);
}

}  // namespace
}  // namespace voxloc
