// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/solid.h"

#include <gtest/gtest.h>

#include <Eigen/Geometry>

#include "clients/sim/random.h"
#include "tests/clients/sim/surface_distance.h"

namespace voxloc::sim {
namespace {

Eigen::Vector3d DrawVector(Random& random, double reach) {
  return Eigen::Vector3d{random.Uniform(-reach, reach), random.Uniform(-reach, reach),
                         random.Uniform(-reach, reach)};
}

Solid DrawSolid(Random& random, Shape shape) {
  Solid solid;
  solid.shape = shape;
  solid.center = DrawVector(random, 2.0);
  solid.half_extent =
      Eigen::Vector3d{random.Uniform(0.2, 2.0), random.Uniform(0.2, 2.0), random.Uniform(0.2, 2.0)};
  if (shape == Shape::kCylinder) solid.half_extent.y() = solid.half_extent.x();
  solid.map_R_local =
      Eigen::AngleAxisd(random.Uniform(-3.0, 3.0), DrawVector(random, 1.0).normalized())
          .toRotationMatrix();
  return solid;
}

bool Inside(const Solid& solid, const Eigen::Vector3d& point) {
  return SignedDistance(solid, point) < 0.0;
}

// The first change from outside to inside or back, by small steps and bisection.
double MarchToSurface(const Solid& solid, const Ray& ray) {
  constexpr double kStep = 2e-3;
  const bool start = Inside(solid, ray.origin);
  for (double t = 0.0; t < 20.0; t += kStep) {
    if (Inside(solid, ray.origin + (t + kStep) * ray.direction) == start) continue;
    double low = t;
    double high = t + kStep;
    for (int i = 0; i < 60; ++i) {
      const double middle = 0.5 * (low + high);
      (Inside(solid, ray.origin + middle * ray.direction) == start ? low : high) = middle;
    }
    return high;
  }
  return kNoHit;
}

class SolidTest : public testing::TestWithParam<Shape> {};

TEST_P(SolidTest, RaysMeetTheSurfaceWhereMarchingFindsIt) {
  Random random(7);
  int hits = 0;
  for (int i = 0; i < 400; ++i) {
    const Solid solid = DrawSolid(random, GetParam());
    const Eigen::Vector3d origin = DrawVector(random, 4.0);
    const Eigen::Vector3d aim = solid.center + DrawVector(random, 1.5);
    const Ray ray = {origin, (aim - origin).normalized()};
    const double marched = MarchToSurface(solid, ray);
    const double t = IntersectSolid(solid, ray);
    if (marched == kNoHit) {
      // Marching may step over a glancing hit; then the chord is shorter than its step.
      if (t == kNoHit) continue;
      EXPECT_NEAR(SignedDistance(solid, ray.origin + t * ray.direction), 0.0, 1e-9);
      EXPECT_FALSE(Inside(solid, ray.origin + (t + 2e-3) * ray.direction));
      continue;
    }
    ++hits;
    EXPECT_NEAR(t, marched, 1e-9) << "solid " << i;
  }
  EXPECT_GT(hits, 150);
}

TEST_P(SolidTest, RaysFromInsideLeaveThroughTheSurface) {
  Random random(8);
  for (int i = 0; i < 50; ++i) {
    const Solid solid = DrawSolid(random, GetParam());
    const Ray ray = {solid.center, DrawVector(random, 1.0).normalized()};
    const double t = IntersectSolid(solid, ray);
    ASSERT_LT(t, kNoHit);
    EXPECT_NEAR(SignedDistance(solid, ray.origin + t * ray.direction), 0.0, 1e-12);
  }
}

TEST_P(SolidTest, FarAwayHitsStayExact) {
  Random random(9);
  for (int i = 0; i < 50; ++i) {
    const Solid solid = DrawSolid(random, GetParam());
    const Eigen::Vector3d direction = DrawVector(random, 1.0).normalized();
    const Ray ray = {solid.center - 500.0 * direction, direction};
    const double t = IntersectSolid(solid, ray);
    ASSERT_LT(t, 500.0);
    EXPECT_NEAR(SignedDistance(solid, ray.origin + t * direction), 0.0, 1e-9);
  }
}

TEST_P(SolidTest, SolidsBehindAreNotHit) {
  Random random(10);
  for (int i = 0; i < 50; ++i) {
    const Solid solid = DrawSolid(random, GetParam());
    const Eigen::Vector3d direction = DrawVector(random, 1.0).normalized();
    EXPECT_EQ(IntersectSolid(solid, {solid.center + 10.0 * direction, direction}), kNoHit);
  }
}

TEST_P(SolidTest, BoundsAreTight) {
  Random random(11);
  for (int i = 0; i < 20; ++i) {
    const Solid solid = DrawSolid(random, GetParam());
    const Aabb bounds = BoundsOf(solid);
    Aabb seen;
    for (int k = 0; k < 20000; ++k) {
      const Eigen::Vector3d direction = DrawVector(random, 1.0).normalized();
      const Eigen::Vector3d point =
          solid.center + IntersectSolid(solid, {solid.center, direction}) * direction;
      seen.Extend({point, point});
    }
    EXPECT_TRUE((seen.min.array() >= bounds.min.array() - 1e-9).all());
    EXPECT_TRUE((seen.max.array() <= bounds.max.array() + 1e-9).all());
    EXPECT_LT((seen.min - bounds.min).maxCoeff(), 0.25);
    EXPECT_LT((bounds.max - seen.max).maxCoeff(), 0.25);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, SolidTest,
                         testing::Values(Shape::kBox, Shape::kCylinder, Shape::kEllipsoid));

TEST(SolidTest, KnownHits) {
  Solid box;
  box.center = {10.0, 0.0, 0.0};
  box.half_extent = {1.0, 2.0, 3.0};
  EXPECT_DOUBLE_EQ(IntersectSolid(box, {{0.0, 0.0, 0.0}, {1.0, 0.0, 0.0}}), 9.0);
  EXPECT_EQ(IntersectSolid(box, {{0.0, 2.5, 0.0}, {1.0, 0.0, 0.0}}), kNoHit);
  Solid ball = box;
  ball.shape = Shape::kEllipsoid;
  ball.half_extent = {2.0, 2.0, 2.0};
  EXPECT_DOUBLE_EQ(IntersectSolid(ball, {{0.0, 0.0, 0.0}, {1.0, 0.0, 0.0}}), 8.0);
  Solid pole = box;
  pole.shape = Shape::kCylinder;
  pole.half_extent = {0.5, 0.5, 3.0};
  EXPECT_DOUBLE_EQ(IntersectSolid(pole, {{0.0, 0.0, 0.0}, {1.0, 0.0, 0.0}}), 9.5);
  EXPECT_DOUBLE_EQ(IntersectSolid(pole, {{10.0, 0.0, 10.0}, {0.0, 0.0, -1.0}}), 7.0);
}

TEST(SolidTest, NormalsAreTheGradientsOfTheDistance) {
  Solid solid;
  solid.center = {3.0, -2.0, 1.0};
  solid.map_R_local =
      Eigen::AngleAxisd(0.7, Eigen::Vector3d(1.0, 2.0, -1.0).normalized()).toRotationMatrix();
  for (const Shape shape : {Shape::kBox, Shape::kCylinder, Shape::kEllipsoid}) {
    solid.shape = shape;
    solid.half_extent = {0.8, shape == Shape::kCylinder ? 0.8 : 1.7, 0.4};
    Random random(1, static_cast<uint64_t>(shape));
    for (int k = 0; k < 200; ++k) {
      const Eigen::Vector3d from(random.Uniform(-8.0, 8.0), random.Uniform(-8.0, 8.0), 9.0);
      const Eigen::Vector3d to =
          solid.center + Eigen::Vector3d(random.Uniform(-0.3, 0.3), random.Uniform(-0.3, 0.3), 0.0);
      const Ray ray = {from, (to - from).normalized()};
      const double t = IntersectSolid(solid, ray);
      if (t == kNoHit) continue;
      const Eigen::Vector3d point = ray.origin + t * ray.direction;
      Eigen::Vector3d gradient;
      for (int axis = 0; axis < 3; ++axis) {
        const Eigen::Vector3d step = 1e-6 * Eigen::Vector3d::Unit(axis);
        gradient[axis] =
            (SignedDistance(solid, point + step) - SignedDistance(solid, point - step)) / 2e-6;
      }
      EXPECT_LT((SurfaceNormal(solid, point) - gradient.normalized()).norm(), 1e-4);
    }
  }
}

}  // namespace
}  // namespace voxloc::sim
