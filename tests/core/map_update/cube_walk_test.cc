// SPDX-License-Identifier: Apache-2.0

#include "core/map_update/cube_walk.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>
#include <vector>

#include "tests/support/random_numbers.h"

namespace voxloc {
namespace {

constexpr double kWalkCubeM = 0.25;

// The cubes of many places along the ray, with the length of the ray in each.
std::map<CellKey, double> SampleRay(const Eigen::Vector3d& origin, const Eigen::Vector3d& direction,
                                    double from_m, double to_m) {
  constexpr int kSamples = 100'000;
  std::map<CellKey, double> lengths;
  for (int i = 0; i < kSamples; ++i) {
    const double s = from_m + (to_m - from_m) * (i + 0.5) / kSamples;
    lengths[CellOf(origin + s * direction, kWalkCubeM)] += (to_m - from_m) / kSamples;
  }
  return lengths;
}

TEST(CubeWalkTest, VisitsTheCubesThatSamplesOfTheRayLieIn) {
  RandomNumbers random(1);
  for (int trial = 0; trial < 20; ++trial) {
    const Eigen::Vector3d origin = random.InBox(50.0);
    const Eigen::Vector3d direction = random.NormalVector().normalized();
    const double from_m = random.Uniform(0.0, 1.0);
    const double to_m = from_m + random.Uniform(0.5, 8.0);
    const auto expected = SampleRay(origin, direction, from_m, to_m);
    std::map<CellKey, double> walked;
    double last_m = from_m;
    WalkCubes(origin, direction, from_m, to_m, kWalkCubeM,
              [&](const CellKey& key, double entry_m, double exit_m) {
                EXPECT_NEAR(entry_m, last_m, 1e-9);
                last_m = exit_m;
                EXPECT_EQ(walked.count(key), 0U);
                walked[key] = exit_m - entry_m;
              });
    EXPECT_NEAR(last_m, to_m, 1e-9);
    for (const auto& [key, length_m] : expected) {
      EXPECT_NEAR(walked[key], length_m, 1e-3) << key.x << " " << key.y << " " << key.z;
    }
    // Samples miss cubes of which the ray clips a corner.
    for (const auto& [key, length_m] : walked) {
      EXPECT_TRUE(expected.count(key) > 0 || length_m < 1e-3);
    }
  }
}

TEST(CubeWalkTest, FollowsAnAxisInEitherDirection) {
  for (const double sign : {1.0, -1.0}) {
    std::vector<int32_t> places;
    WalkCubes({0.1, 0.1, 0.1}, {sign, 0.0, 0.0}, 0.0, 1.0, kWalkCubeM,
              [&](const CellKey& key, double, double) {
                EXPECT_EQ(key.y, 0);
                EXPECT_EQ(key.z, 0);
                places.push_back(key.x);
              });
    const std::vector<int32_t> expected =
        sign > 0.0 ? std::vector<int32_t>{0, 1, 2, 3, 4} : std::vector<int32_t>{0, -1, -2, -3, -4};
    EXPECT_EQ(places, expected);
  }
}

TEST(CubeWalkTest, VisitsNothingBeforeItBegins) {
  WalkCubes({0.0, 0.0, 0.0}, {1.0, 0.0, 0.0}, 2.0, 1.0, kWalkCubeM,
            [](const CellKey&, double, double) { FAIL(); });
}

}  // namespace
}  // namespace voxloc
