// SPDX-License-Identifier: Apache-2.0
//
// Heights above the ground: places where the ground is plain, and all points against a search
// through every pair of them.

#include "core/cloud/ground.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace voxloc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(LowestNearbyTest, IsTheLeastOfTheColumnAndTheEightAroundIt) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> place(-30.0, 30.0);
  for (const double edge_m : {1.0, 4.0, 0.7}) {
    std::vector<Eigen::Vector3d> points;
    LowestNearby lowest(edge_m);
    for (int i = 0; i < 400; ++i) {
      points.emplace_back(place(random), place(random), place(random));
      lowest.Add(points.back());
    }
    for (const Eigen::Vector3d& point : points) {
      double least_m = std::numeric_limits<double>::infinity();
      for (const Eigen::Vector3d& other : points) {
        const double columns_x =
            std::abs(std::floor(other.x() / edge_m) - std::floor(point.x() / edge_m));
        const double columns_y =
            std::abs(std::floor(other.y() / edge_m) - std::floor(point.y() / edge_m));
        if (columns_x <= 1.0 && columns_y <= 1.0) least_m = std::min(least_m, other.z());
      }
      EXPECT_EQ(lowest.At(point), least_m);
      EXPECT_EQ(lowest.At({point.x(), point.y(), -31.0}), -31.0);
    }
  }
}

// A street of 20 m x 20 m that rises by 1 m in 10 m, with a point every 0.5 m.
PointCloud Street() {
  PointCloud cloud;
  cloud.origin = {4e5, 5e6, 100.0};
  for (int i = 0; i < 40; ++i) {
    for (int j = 0; j < 40; ++j) {
      const float x = 0.5F * static_cast<float>(i);
      cloud.PushBack(x, 0.5F * static_cast<float>(j), 0.1F * x);
    }
  }
  return cloud;
}

std::vector<float> HeightsOf(const PointCloud& cloud, const GroundRange& range) {
  const auto kept = CropAboveGround(cloud, range);
  EXPECT_TRUE(kept.ok()) << kept.status();
  EXPECT_EQ(kept->origin, cloud.origin);
  return kept->z;
}

TEST(CropAboveGroundTest, KeepsWhatStandsOnAStreetThatRises) {
  PointCloud cloud = Street();
  const size_t street = cloud.size();
  // A pole of 3 m at x = 10, where the street is 1 m high.
  for (const float z : {1.5F, 2.0F, 4.0F}) cloud.PushBack(10.2F, 10.2F, z);
  // Not more than the rise over a column and its neighbour above the lowest.
  EXPECT_EQ(HeightsOf(cloud, {0.0, 0.2}).size(), street);
  EXPECT_THAT(HeightsOf(cloud, {0.3, 100.0}), ElementsAre(1.5F, 2.0F, 4.0F));
  EXPECT_THAT(HeightsOf(cloud, {0.3, 2.9}), ElementsAre(1.5F, 2.0F));
  EXPECT_THAT(HeightsOf(cloud, {2.0, 4.0}), ElementsAre(4.0F));
}

TEST(CropAboveGroundTest, ACrownWithoutGroundBelowStandsOnTheGroundAround) {
  // A disk of 2 m in radius, 6 m above a street of which nothing was seen within 3 m of its middle.
  PointCloud cloud;
  const PointCloud street = Street();
  for (size_t i = 0; i < street.size(); ++i) {
    if (std::hypot(street.x[i] - 10.0F, street.y[i] - 10.0F) < 3.0F) continue;
    cloud.PushBack(street.x[i], street.y[i], 0.0F);
  }
  for (int i = -4; i <= 4; ++i) {
    for (int j = -4; j <= 4; ++j) {
      if (i * i + j * j > 16) continue;
      cloud.PushBack(10.0F + 0.5F * static_cast<float>(i), 10.0F + 0.5F * static_cast<float>(j),
                     6.0F);
    }
  }
  for (const float z : HeightsOf(cloud, {0.0, 3.0})) EXPECT_EQ(z, 0.0F);
  // A kerb's or a platform's height is no crown.
  for (float& z : cloud.z) z = std::min(z, 1.9F);
  EXPECT_EQ(HeightsOf(cloud, {0.0, 1.95}).size(), cloud.size());
}

TEST(CropAboveGroundTest, KeepsOrderAndIntensityAndDropsWhatIsNotFinite) {
  PointCloud cloud;
  cloud.PushBack(0.1F, 0.1F, 0.0F);
  cloud.PushBack(std::numeric_limits<float>::quiet_NaN(), 0.0F, 1.0F);
  cloud.PushBack(0.2F, 0.1F, 2.0F);
  cloud.PushBack(0.3F, 0.1F, 1.0F);
  cloud.intensity = {1.0F, 2.0F, 3.0F, 4.0F};
  const auto kept = CropAboveGround(cloud, {1.0, 2.0});
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_THAT(kept->z, ElementsAre(2.0F, 1.0F));
  EXPECT_THAT(kept->intensity, ElementsAre(3.0F, 4.0F));
  EXPECT_TRUE(CropAboveGround(PointCloud(), {0.0, 1.0})->empty());
}

TEST(CropAboveGroundTest, PointsBeyondTheEarthAreRefused) {
  PointCloud cloud;
  cloud.PushBack(0.0F, -2e9F, 0.0F);
  const absl::Status status = CropAboveGround(cloud, {0.0, 1.0}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("(got 0, -2e+09)"));
}

}  // namespace
}  // namespace voxloc
