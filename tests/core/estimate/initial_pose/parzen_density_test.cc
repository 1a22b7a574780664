// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/estimate/initial_pose/prior_search.h"

namespace voxloc {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// Of one pose and one centre.
double LogParzenKernel(const PlanarPose& pose, const PlanarPose& center) {
  return LogParzenSums({pose}, {center})[0];
}

TEST(ParzenDensityTest, AKernelFallsByHalfAtOneWidthAlongEachAxis) {
  const PlanarPose center = {100.0, -20.0, 0.3};
  const double peak = LogParzenKernel(center, center);
  // 0.25 m, 0.25 m and 2.5 degrees.
  EXPECT_NEAR(std::exp(peak), 1.0 / (std::pow(2.0 * M_PI, 1.5) * 0.0625 * 2.5 * M_PI / 180.0),
              1e-9);
  EXPECT_NEAR(LogParzenKernel({100.25, -20.0, 0.3}, center), peak - 0.5, 1e-9);
  EXPECT_NEAR(LogParzenKernel({100.0, -20.5, 0.3}, center), peak - 2.0, 1e-9);
  EXPECT_NEAR(LogParzenKernel({100.0, -20.0, 0.3 - 7.5 * M_PI / 180.0}, center), peak - 4.5, 1e-9);
  EXPECT_NEAR(LogParzenKernel({100.25, -20.25, 0.3 + 2.5 * M_PI / 180.0}, center), peak - 1.5,
              1e-9);
}

TEST(ParzenDensityTest, YawIsComparedOnTheCircle) {
  const double across = LogParzenKernel({0.0, 0.0, M_PI - 0.01}, {0.0, 0.0, -M_PI + 0.02});
  EXPECT_NEAR(across, LogParzenKernel({0.0, 0.0, 0.0}, {0.0, 0.0, 0.03}), 1e-9);
  // Half a turn is the farthest.
  EXPECT_LT(LogParzenKernel({0.0, 0.0, -M_PI / 2}, {0.0, 0.0, M_PI / 2}),
            LogParzenKernel({0.0, 0.0, -M_PI / 2}, {0.0, 0.0, M_PI / 2 + 0.1}));
}

TEST(ParzenDensityTest, TheSumOfKernelsIntegratesToTheirNumber) {
  // The trapezoidal rule at half a width is exact to 1e-8 for a normal density.
  const std::vector<PlanarPose> centers = {{0.0, 0.0, 3.1}, {0.3, -0.2, 3.1}, {0.0, 0.1, -3.1}};
  std::vector<PlanarPose> grid;
  for (int i = -15; i <= 15; ++i) {
    for (int j = -15; j <= 15; ++j) {
      for (int k = 0; k < 144; ++k) {
        grid.push_back({i * 0.125, j * 0.125, -M_PI + k * 2.0 * M_PI / 144.0});
      }
    }
  }
  double integral = 0.0;
  for (const double log_sum : LogParzenSums(grid, centers)) integral += std::exp(log_sum);
  EXPECT_NEAR(integral * 0.125 * 0.125 * 2.0 * M_PI / 144.0, 3.0, 1e-6);
}

TEST(ParzenDensityTest, EqualCentersCountEachAndDistantOnesNotAtAll) {
  const PlanarPose pose = {1.0, 2.0, 0.5};
  const PlanarPose center = {1.2, 2.1, 0.45};
  const double kernel = LogParzenKernel(pose, center);
  const std::vector<PlanarPose> seven(7, center);
  EXPECT_NEAR(LogParzenSums({pose}, seven)[0], kernel + std::log(7.0), 1e-12);
  EXPECT_NEAR(LogParzenSums({pose}, {center, {500.0, 2.0, 0.5}})[0], kernel, 1e-12);
}

TEST(ParzenDensityTest, DoesNotUnderflowFarFromAllCenters) {
  // 4000 widths from either: exp(-8e6) is nothing, its logarithm is.
  const double sum = LogParzenSums({{0.0, 0.0, 0.0}}, {{1e3, 0.0, 0.0}, {-1e3, 0.0, 0.0}})[0];
  EXPECT_NEAR(sum, LogParzenKernel({}, {}) - 8e6 + std::log(2.0), 1e-6);
}

TEST(ParzenDensityTest, NothingHasNoDensity) {
  EXPECT_EQ(LogParzenSums({{0.0, 0.0, 0.0}}, {})[0], -kInfinite);
  EXPECT_EQ(LogParzenSums({{1e200, 0.0, 0.0}}, {{-1e200, 0.0, 0.0}})[0], -kInfinite);
  EXPECT_TRUE(LogParzenSums({}, {{0.0, 0.0, 0.0}}).empty());
}

TEST(ParzenDensityTest, AddsLogarithms) {
  for (const double shift : {-1e5, 0.0, 1e5}) {
    EXPECT_NEAR(LogAddExp(std::log(2.0) + shift, std::log(6.0) + shift), std::log(8.0) + shift,
                1e-10);
  }
  EXPECT_EQ(LogAddExp(3.0, -kInfinite), 3.0);
  EXPECT_EQ(LogAddExp(-kInfinite, 3.0), 3.0);
  EXPECT_EQ(LogAddExp(-kInfinite, -kInfinite), -kInfinite);
  EXPECT_EQ(LogAddExp(0.0, -1e4), 0.0);
}

}  // namespace
}  // namespace voxloc
