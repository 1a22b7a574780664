// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/ground.h"

#include <gtest/gtest.h>

#include <cmath>

#include "clients/sim/random.h"

namespace voxloc::sim {
namespace {

double Hills(double x, double y) { return 2.0 * std::sin(0.2 * x) * std::cos(0.15 * y + 0.3); }

// The first descent below the surface, by small steps and bisection on Height.
double MarchDown(const Ground& ground, const Ray& ray, double max_t) {
  constexpr double kStep = 5e-3;
  const auto above = [&](double t) {
    const Eigen::Vector3d point = ray.origin + t * ray.direction;
    return point.z() - ground.Height(point.x(), point.y());
  };
  for (double t = 0.0; t < max_t; t += kStep) {
    const Eigen::Vector3d next = ray.origin + (t + kStep) * ray.direction;
    if (next.head<2>().cwiseAbs().maxCoeff() > ground.half_size_m()) return kNoHit;
    if (above(t + kStep) > 0.0) continue;
    double low = t;
    double high = t + kStep;
    for (int i = 0; i < 60; ++i) {
      const double middle = 0.5 * (low + high);
      (above(middle) > 0.0 ? low : high) = middle;
    }
    return high;
  }
  return kNoHit;
}

TEST(GroundTest, HeightIsTheTableAtTheNodesAndNearTheFunctionBetween) {
  const Ground ground(20.0, 0.5, Hills);
  EXPECT_NEAR(ground.Height(3.0, -7.5), Hills(3.0, -7.5), 1e-12);
  EXPECT_NEAR(ground.Height(3.2, -7.6), Hills(3.2, -7.6), 5e-3);
  EXPECT_NEAR(ground.Height(1000.0, 0.0), ground.Height(20.0, 0.0), 1e-12);
}

TEST(GroundTest, NormalsAgreeWithFiniteDifferences) {
  const Ground ground(20.0, 2.0, Hills);
  Random random(3);
  for (int i = 0; i < 200; ++i) {
    const double x = random.Uniform(-19.0, 19.0);
    const double y = random.Uniform(-19.0, 19.0);
    if (std::fmod(std::abs(x), 2.0) < 1e-3 || std::fmod(std::abs(y), 2.0) < 1e-3) continue;
    constexpr double kStep = 1e-5;
    const double slope_x = (ground.Height(x + kStep, y) - ground.Height(x - kStep, y)) / 2e-5;
    const double slope_y = (ground.Height(x, y + kStep) - ground.Height(x, y - kStep)) / 2e-5;
    const Eigen::Vector3d expected = Eigen::Vector3d(-slope_x, -slope_y, 1.0).normalized();
    EXPECT_LT((ground.Normal(x, y) - expected).norm(), 1e-8);
  }
}

TEST(GroundTest, RaysComeDownWhereMarchingFindsIt) {
  const Ground ground(30.0, 2.0, Hills);
  Random random(4);
  int hits = 0;
  for (int i = 0; i < 300; ++i) {
    Eigen::Vector3d origin{random.Uniform(-20.0, 20.0), random.Uniform(-20.0, 20.0), 0.0};
    origin.z() = ground.Height(origin.x(), origin.y()) + random.Uniform(0.5, 4.0);
    const double azimuth = random.Uniform(-3.14, 3.14);
    const double elevation = random.Uniform(-1.2, 0.15);
    const Ray ray = {origin,
                     {std::cos(elevation) * std::cos(azimuth),
                      std::cos(elevation) * std::sin(azimuth), std::sin(elevation)}};
    const double marched = MarchDown(ground, ray, 60.0);
    const double t = ground.Intersect(ray, 60.0);
    if (marched == kNoHit) {
      // Marching may step over a crest that the ray just touches.
      if (t < kNoHit) {
        const Eigen::Vector3d point = ray.origin + t * ray.direction;
        EXPECT_NEAR(point.z(), ground.Height(point.x(), point.y()), 1e-9);
      }
      continue;
    }
    ++hits;
    EXPECT_NEAR(t, marched, 1e-7) << "ray " << i;
  }
  EXPECT_GT(hits, 150);
}

TEST(GroundTest, FlatGroundHasTheClosedForm) {
  const Ground ground(100.0);
  const Eigen::Vector3d direction = Eigen::Vector3d(3.0, 0.0, -1.0).normalized();
  EXPECT_NEAR(ground.Intersect({{0.0, 0.0, 2.0}, direction}, 100.0), 2.0 * std::sqrt(10.0), 1e-12);
  EXPECT_NEAR(ground.Intersect({{0.0, 0.0, 2.0}, {0.0, 0.0, -1.0}}, 100.0), 2.0, 1e-12);
  EXPECT_EQ(ground.Intersect({{0.0, 0.0, 2.0}, {1.0, 0.0, 0.0}}, 100.0), kNoHit);
  EXPECT_EQ(ground.Intersect({{0.0, 0.0, 2.0}, {0.0, 0.0, 1.0}}, 100.0), kNoHit);
}

TEST(GroundTest, HitsBeyondTheReachOrTheBorderDoNotCount) {
  const Ground ground(10.0);
  const Eigen::Vector3d direction = Eigen::Vector3d(6.0, 0.0, -2.0).normalized();
  const double t = 2.0 * std::sqrt(10.0);
  EXPECT_NEAR(ground.Intersect({{0.0, 0.0, 2.0}, direction}, t + 0.1), t, 1e-12);
  EXPECT_EQ(ground.Intersect({{0.0, 0.0, 2.0}, direction}, t - 0.1), kNoHit);
  EXPECT_EQ(ground.Intersect({{5.0, 0.0, 2.0}, direction}, 100.0), kNoHit);
}

}  // namespace
}  // namespace voxloc::sim
