// SPDX-License-Identifier: Apache-2.0

#include "core/map_update/new_points.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/support/random_numbers.h"

namespace voxloc {
namespace {

constexpr double kPointCubeM = 0.1;

struct Wall {
  std::vector<CellKey> cubes;
  std::vector<Eigen::Vector3d> points;
  Eigen::Vector3d normal = Eigen::Vector3d(0.6, 0.8, 0.0);

  [[nodiscard]] double DistanceOf(const Eigen::Vector3d& point) const {
    return normal.dot(point) - 100.0;
  }
};

// Two metres by two of a wall at 100 m from zero, with points that have noise.
Wall MakeWall(double noise_m) {
  RandomNumbers random(5);
  Wall wall;
  const Eigen::Vector3d along(-0.8, 0.6, 0.0);
  for (int i = 0; i < 40'000; ++i) {
    wall.points.push_back(wall.normal * (100.0 + noise_m * random.Normal()) +
                          along * random.Uniform(0.0, 2.0) +
                          Eigen::Vector3d::UnitZ() * random.Uniform(0.0, 2.0));
    wall.cubes.push_back(CellOf(wall.points.back(), kPointCubeM));
  }
  std::sort(wall.cubes.begin(), wall.cubes.end());
  wall.cubes.erase(std::unique(wall.cubes.begin(), wall.cubes.end()), wall.cubes.end());
  return wall;
}

std::vector<size_t> All(const Wall& wall) {
  std::vector<size_t> all(wall.cubes.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

TEST(NewPointsTest, AveragesTheNoiseOfManyScans) {
  const Wall wall = MakeWall(0.02);
  NewPoints points(kPointCubeM, wall.cubes);
  points.Add(wall.points);
  const std::vector<Eigen::Vector3d> thin = points.Thin(All(wall), 0.1);
  double squared = 0.0;
  for (const Eigen::Vector3d& point : thin) squared += std::pow(wall.DistanceOf(point), 2);
  EXPECT_LT(std::sqrt(squared / static_cast<double>(thin.size())), 0.008);
}

TEST(NewPointsTest, GivesPointsAtTheSpacingThatIsWanted) {
  const Wall wall = MakeWall(0.0);
  NewPoints points(kPointCubeM, wall.cubes);
  points.Add(wall.points);
  const size_t fine = points.Thin(All(wall), 0.1).size();
  const size_t coarse = points.Thin(All(wall), 0.2).size();
  // A plane askew to the voxels meets up to twice as many as an aligned one.
  EXPECT_GE(fine, 400U);
  EXPECT_LE(fine, 1000U);
  EXPECT_NEAR(static_cast<double>(fine) / static_cast<double>(coarse), 4.0, 1.0);
}

TEST(NewPointsTest, TakesPointsOfTheChosenCubesAlone) {
  const Wall wall = MakeWall(0.0);
  NewPoints points(kPointCubeM, wall.cubes);
  points.Add(wall.points);
  const std::vector<size_t> chosen = {3};
  for (const Eigen::Vector3d& point : points.Thin(chosen, 0.02)) {
    EXPECT_LT((point - CellCentre(wall.cubes[3], kPointCubeM)).norm(), kPointCubeM);
  }
  points.Add(std::vector<Eigen::Vector3d>{{0.0, 0.0, 0.0}});
  EXPECT_TRUE(points.Thin({}, 0.1).empty());
}

TEST(NewPointsTest, FindsTheSpacingOfAMap) {
  for (const double spacing_m : {0.05, 0.1, 0.2}) {
    PointCloud cloud;
    const auto steps = static_cast<int>(10.0 / spacing_m);
    for (int i = 0; i < steps; ++i) {
      for (int k = 0; k < steps; ++k) {
        cloud.PushBack(static_cast<float>(i * spacing_m), static_cast<float>(k * spacing_m), 0.1F);
      }
    }
    EXPECT_NEAR(SpacingOf(cloud), spacing_m, 0.25 * spacing_m);
  }
  EXPECT_EQ(SpacingOf({}), 0.02);
}

}  // namespace
}  // namespace voxloc
