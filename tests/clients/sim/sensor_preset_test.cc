// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "clients/sim/lidar.h"

namespace voxloc::sim {
namespace {

LidarOptions Preset(const char* name) {
  LidarOptions options;
  EXPECT_TRUE(SetSensorPreset(name, options).ok());
  return options;
}

// The least and the greatest gap between neighbouring rings, deg.
std::pair<double, double> Gaps(const LidarOptions& options) {
  std::pair<double, double> gaps = {180.0, 0.0};
  for (size_t i = 1; i < options.elevations_deg.size(); ++i) {
    const double gap = options.elevations_deg[i] - options.elevations_deg[i - 1];
    gaps = {std::min(gaps.first, gap), std::max(gaps.second, gap)};
  }
  return gaps;
}

TEST(SensorPresetTest, AreValidAndHaveTheRingsOfTheirNames) {
  const std::vector<std::pair<const char*, int>> rings = {{"spinning-16", 16},
                                                          {"spinning-32", 32},
                                                          {"spinning-64", 64},
                                                          {"spinning-128", 128},
                                                          {"solid-state", 96}};
  for (const auto& [name, count] : rings) {
    const LidarOptions options = Preset(name);
    EXPECT_TRUE(Validate(options).ok()) << name;
    EXPECT_EQ(options.rings, count);
    EXPECT_EQ(options.elevations_deg.size(), static_cast<size_t>(count));
    EXPECT_GT(Gaps(options).first, 0.1) << name;
    EXPECT_EQ(options.min_elevation_deg, options.elevations_deg.front());
    EXPECT_EQ(options.max_elevation_deg, options.elevations_deg.back());
  }
}

TEST(SensorPresetTest, RingsAreDenseNearTheHorizon) {
  EXPECT_NEAR(Gaps(Preset("spinning-16")).second, 2.0, 1e-9);
  EXPECT_NEAR(Gaps(Preset("spinning-32")).first, 1.0 / 3.0, 1e-3);
  EXPECT_GT(Gaps(Preset("spinning-32")).second, 4.0);
  EXPECT_NEAR(Gaps(Preset("spinning-128")).first, 0.125, 1e-9);
}

TEST(SensorPresetTest, ASolidStateSensorLooksAheadOnly) {
  LidarOptions options = Preset("solid-state");
  options.dropout = 0.0;
  Solid ball;
  ball.shape = Shape::kEllipsoid;
  ball.half_extent = {10.0, 10.0, 10.0};
  const Scene scene(Ground(1.0, 1.0, [](double, double) { return -100.0; }), {ball});
  const PointCloud scan = Lidar(options).Scan(RayCaster(scene), Pose(), 0);
  ASSERT_EQ(scan.size(), 96U * 350U);
  double least = 180.0;
  double greatest = -180.0;
  for (size_t i = 0; i < scan.size(); ++i) {
    const double azimuth_deg =
        std::atan2(scan.Point(i).y(), scan.Point(i).x()) * 180.0 / 3.14159265358979;
    least = std::min(least, azimuth_deg);
    greatest = std::max(greatest, azimuth_deg);
  }
  EXPECT_NEAR(least, -35.0, 0.21);
  EXPECT_NEAR(greatest, 35.0, 0.21);
}

TEST(SensorPresetTest, KeepsTheOptionsOfTheReturns) {
  LidarOptions options;
  options.range_noise_m = 0.3;
  options.seed = 9;
  ASSERT_TRUE(SetSensorPreset("spinning-64", options).ok());
  EXPECT_EQ(options.range_noise_m, 0.3);
  EXPECT_EQ(options.seed, 9U);
}

TEST(SensorPresetTest, AnUnknownNameIsRefusedWithTheKnownOnes) {
  LidarOptions options;
  const absl::Status status = SetSensorPreset("spinning-17", options);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "sensor must be one of spinning-16, spinning-32, spinning-64, spinning-128, "
            "solid-state (got 'spinning-17')");
}

}  // namespace
}  // namespace voxloc::sim
