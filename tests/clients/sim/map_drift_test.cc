// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "clients/sim/map_changes.h"
#include "clients/sim/random.h"

namespace voxloc::sim {
namespace {

MapDriftOptions Drifted(uint64_t seed) {
  MapDriftOptions options;
  options.seed = seed;
  options.sigma_m = 0.05;
  options.wavelength_m = 60.0;
  return options;
}

Eigen::Vector3d DrawPlace(Random& random) {
  return {random.Uniform(-300.0, 300.0), random.Uniform(-300.0, 300.0), random.Uniform(0.0, 10.0)};
}

TEST(MapDriftTest, HasItsStandardDeviationAlongEachAxis) {
  Eigen::Vector3d squares = Eigen::Vector3d::Zero();
  double count = 0.0;
  for (uint64_t seed = 101; seed < 141; ++seed) {
    const MapDrift drift(Drifted(seed));
    Random random(seed);
    for (int i = 0; i < 500; ++i) {
      squares += drift.DisplacementAt(DrawPlace(random)).cwiseAbs2();
      count += 1.0;
    }
  }
  for (int axis = 0; axis < 3; ++axis) {
    EXPECT_NEAR(std::sqrt(squares[axis] / count), 0.05, 0.002) << axis;
  }
}

TEST(MapDriftTest, IsSmoothOverMetresAndVariesOverTensOfMetres) {
  const MapDrift drift(Drifted(7));
  Random random(1);
  double near = 0.0;
  double far = 0.0;
  for (int i = 0; i < 2000; ++i) {
    const Eigen::Vector3d place = DrawPlace(random);
    const Eigen::Vector3d here = drift.DisplacementAt(place);
    const double heading = random.Uniform(0.0, 6.283);
    const Eigen::Vector3d aside(std::cos(heading), std::sin(heading), 0.0);
    near = std::max(near, (drift.DisplacementAt(place + aside) - here).norm());
    far = std::max(far, (drift.DisplacementAt(place + 30.0 * aside) - here).norm());
  }
  // A metre is a sixtieth of the wavelength: 0.1 rad of each sinusoid at the most, 0.15 of the
  // shortest.
  EXPECT_LT(near, 0.05 * std::sqrt(2.0 / 4.0) * 4.0 * 0.15 * std::sqrt(3.0));
  EXPECT_GT(far, 0.1);
}

TEST(MapDriftTest, TheRotationTurnsNearbyPointsAsTheDisplacementDoes) {
  const MapDrift drift(Drifted(8));
  Random random(2);
  for (int k = 0; k < 50; ++k) {
    const Eigen::Vector3d place = DrawPlace(random);
    // The antisymmetric part of the finite differences.
    Eigen::Matrix3d jacobian;
    for (int axis = 0; axis < 3; ++axis) {
      const Eigen::Vector3d step = 1e-3 * Eigen::Vector3d::Unit(axis);
      jacobian.col(axis) =
          (drift.DisplacementAt(place + step) - drift.DisplacementAt(place - step)) / 2e-3;
    }
    const Eigen::Matrix3d spin = 0.5 * (jacobian - jacobian.transpose());
    const Eigen::Vector3d about = Eigen::Vector3d(0.3, -0.5, 0.8);
    EXPECT_LT((drift.RotationAt(place).cross(about) - spin * about).norm(), 1e-8);
  }
}

TEST(MapDriftTest, MovesEveryPointOfAMapOnAnyNumberOfThreads) {
  PointCloud map;
  Random random(3);
  for (int i = 0; i < 200000; ++i) {
    const Eigen::Vector3f place = DrawPlace(random).cast<float>();
    map.PushBack(place.x(), place.y(), place.z());
  }
  const MapDrift drift(Drifted(9));
  PointCloud one = map;
  PointCloud three = map;
  ThreadPool alone(1);
  ThreadPool pool(3);
  drift.Apply(alone, one);
  drift.Apply(pool, three);
  EXPECT_EQ(one.x, three.x);
  EXPECT_EQ(one.y, three.y);
  EXPECT_EQ(one.z, three.z);
  for (size_t i = 0; i < map.size(); i += 997) {
    EXPECT_LT((one.Point(i) - map.Point(i) - drift.DisplacementAt(map.Point(i))).norm(), 5e-5);
  }
  PointCloud other = map;
  MapDrift(Drifted(10)).Apply(pool, other);
  EXPECT_NE(one.x, other.x);
}

TEST(MapDriftTest, AbsurdOptionsAreRefusedByName) {
  MapDriftOptions options;
  options.sigma_m = 2.0;
  EXPECT_NE(Validate(options).message().find("map drift must be"), absl::string_view::npos);
  options = MapDriftOptions();
  options.wavelength_m = 1.0;
  EXPECT_NE(Validate(options).message().find("map drift wavelength"), absl::string_view::npos);
}

}  // namespace
}  // namespace voxloc::sim
