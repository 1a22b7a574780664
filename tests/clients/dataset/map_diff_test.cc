// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/map_diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <tuple>

namespace voxloc {
namespace {

using ::testing::HasSubstr;

CubeMap Cubes(const PointCloud& cloud_map, double cube_m = 0.5) {
  CubeMap cubes(cube_m);
  EXPECT_TRUE(cubes.Add(cloud_map).ok());
  return cubes;
}

// A box that is full of points, 0.1 m apart.
void AddBox(const Eigen::Vector3d& low, const Eigen::Vector3d& size, PointCloud& cloud) {
  for (double x = 0.05; x < size.x(); x += 0.1) {
    for (double y = 0.05; y < size.y(); y += 0.1) {
      for (double z = 0.05; z < size.z(); z += 0.1) {
        const Eigen::Vector3d point = low + Eigen::Vector3d(x, y, z) - cloud.origin;
        cloud.PushBack(static_cast<float>(point.x()), static_cast<float>(point.y()),
                       static_cast<float>(point.z()));
      }
    }
  }
}

PointCloud Wall(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> along(0.0F, 30.0F);
  std::normal_distribution<float> noise(0.0F, 0.03F);
  PointCloud cloud;
  for (int i = 0; i < 20'000; ++i) {
    const float x = along(random);
    const float z = 0.1F * along(random);
    cloud.PushBack(x, 4.98F + noise(random), z);
  }
  return cloud;
}

TEST(MapDiffTest, AWallThatIsMeasuredAgainHasNotChanged) {
  const MapDiff diff = DiffMaps(Cubes(Wall(1)), Cubes(Wall(2)), 1);
  EXPECT_TRUE(diff.cubes.empty());
  EXPECT_TRUE(diff.places.empty());
}

TEST(MapDiffTest, AThingThatMovedIsAPlaceThatWentAndOneThatCame) {
  PointCloud before = Wall(1);
  PointCloud after = Wall(2);
  AddBox({10.0, 10.0, 0.0}, {4.0, 2.0, 1.5}, before);
  AddBox({20.0, 12.0, 0.0}, {4.0, 2.0, 1.5}, after);
  AddBox({25.0, -3.0, 0.0}, {0.5, 0.5, 2.0}, after);
  const MapDiff diff = DiffMaps(Cubes(before), Cubes(after), 3);
  ASSERT_EQ(diff.places.size(), 3U);
  for (int i = 0; i < 2; ++i) {
    const ChangedPlace& car = diff.places[static_cast<size_t>(i)];
    EXPECT_EQ(car.points, 40U * 20U * 15U);
    EXPECT_EQ(car.cubes, 8U * 4U * 3U);
    const Eigen::Vector3d low = car.came ? Eigen::Vector3d(20, 12, 0) : Eigen::Vector3d(10, 10, 0);
    EXPECT_LE((car.min_map - low).norm(), 1e-12);
    EXPECT_LE((car.max_map - low - Eigen::Vector3d(4.0, 2.0, 1.5)).norm(), 1e-12);
    EXPECT_LE((car.mean_map - low - Eigen::Vector3d(2.0, 1.0, 0.75)).norm(), 1e-5);
  }
  EXPECT_NE(diff.places[0].came, diff.places[1].came);
  EXPECT_TRUE(diff.places[2].came);
  EXPECT_EQ(diff.places[2].points, 5U * 5U * 20U);
}

TEST(MapDiffTest, ThingsOfOneSizeThatAreNearHaveMoved) {
  PointCloud before = Wall(1);
  PointCloud after = Wall(2);
  // Moved by (3, 1, 0).
  AddBox({10.0, 10.0, 0.0}, {4.0, 2.0, 1.5}, before);
  AddBox({13.0, 11.0, 0.0}, {4.0, 2.0, 1.5}, after);
  // Another size beside it, of the same number of cubes.
  AddBox({10.0, 13.5, 0.0}, {2.0, 4.0, 1.5}, after);
  // Too far away.
  AddBox({60.0, 0.0, 0.0}, {3.0, 1.0, 1.0}, before);
  AddBox({60.0, 6.0, 0.0}, {3.0, 1.0, 1.0}, after);
  // Two posts in a row, which each moved by 2 m: the first one chooses the nearest.
  AddBox({80.0, 0.0, 0.0}, {0.5, 0.5, 3.0}, before);
  AddBox({82.0, 0.0, 0.0}, {0.5, 0.5, 3.0}, after);
  AddBox({83.5, 0.0, 0.0}, {0.5, 0.5, 3.0}, after);
  const MapDiff diff = DiffMaps(Cubes(before), Cubes(after), 3);
  size_t moved = 0;
  for (size_t i = 0; i < diff.places.size(); ++i) {
    const ChangedPlace& place = diff.places[i];
    if (!place.counterpart.has_value()) continue;
    ++moved;
    const ChangedPlace& other = diff.places[*place.counterpart];
    EXPECT_NE(other.came, place.came);
    EXPECT_EQ(other.counterpart, i);
    EXPECT_EQ(other.moved_m, place.moved_m);
    if (place.min_map.x() < 50.0) {
      EXPECT_NEAR(place.moved_m, std::hypot(3.0, 1.0), 1e-9);
    } else {
      EXPECT_GT(place.min_map.x(), 70.0);
      EXPECT_NEAR(place.moved_m, 2.0, 1e-9);
    }
  }
  EXPECT_EQ(moved, 4U);
}

TEST(MapDiffTest, CubesAreThoseThatComparingAllPointsFinds) {
  constexpr double kCube = 0.7;
  std::mt19937_64 random(7);
  std::uniform_real_distribution<float> place(-4.0F, 4.0F);
  const auto scatter = [&](int points) {
    PointCloud cloud;
    cloud.origin = {1e5, -2e5, 30.0};
    for (int i = 0; i < points; ++i) cloud.PushBack(place(random), place(random), place(random));
    return cloud;
  };
  const PointCloud before = scatter(60);
  const PointCloud after = scatter(90);
  const auto index_of = [&](const PointCloud& cloud, size_t i, int axis) {
    return static_cast<int>(std::floor(cloud.Point(i)[axis] / kCube));
  };
  using Key = std::tuple<bool, int, int, int>;
  std::set<Key> expected;
  const auto compare = [&](const PointCloud& with, const PointCloud& without, bool came) {
    for (size_t i = 0; i < with.size(); ++i) {
      bool near = false;
      for (size_t k = 0; k < without.size(); ++k) {
        int distance = 0;
        for (int axis = 0; axis < 3; ++axis) {
          distance =
              std::max(distance, std::abs(index_of(with, i, axis) - index_of(without, k, axis)));
        }
        near = near || distance <= 1;
      }
      if (!near) {
        expected.insert({came, index_of(with, i, 0), index_of(with, i, 1), index_of(with, i, 2)});
      }
    }
  };
  compare(after, before, true);
  compare(before, after, false);
  ASSERT_GT(expected.size(), 20U);

  std::set<Key> found;
  size_t in_places = 0;
  const MapDiff diff = DiffMaps(Cubes(before, kCube), Cubes(after, kCube), 1);
  for (const ChangedCube& cube : diff.cubes) {
    found.insert({cube.came, cube.index.x(), cube.index.y(), cube.index.z()});
  }
  for (const ChangedPlace& changed : diff.places) in_places += changed.cubes;
  EXPECT_EQ(found, expected);
  EXPECT_EQ(diff.cubes.size(), expected.size());
  EXPECT_EQ(in_places, expected.size());
}

TEST(MapDiffTest, FewPointsAndWhatIsNotFiniteDoNotCount) {
  PointCloud after;
  after.PushBack(1.0F, 1.0F, 1.0F);
  after.PushBack(1.1F, 1.1F, 1.1F);
  after.PushBack(std::numeric_limits<float>::quiet_NaN(), 0.0F, 0.0F);
  EXPECT_EQ(DiffMaps(Cubes({}), Cubes(after), 2).cubes.size(), 1U);
  EXPECT_EQ(DiffMaps(Cubes({}), Cubes(after), 3).cubes.size(), 0U);
}

TEST(MapDiffTest, APointTooFarForTheCubesIsAnError) {
  PointCloud far;
  far.origin = {0.0, 1e9, 0.0};
  far.PushBack(0.0F, 0.0F, 0.0F);
  CubeMap cubes(0.5);
  const absl::Status status = cubes.Add(far);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("1e+09"));
}

}  // namespace
}  // namespace voxloc
