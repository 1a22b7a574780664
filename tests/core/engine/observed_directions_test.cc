// SPDX-License-Identifier: Apache-2.0
//
// Alignments that keep to the directions a scan observes: in a corridor, which says nothing about
// the way along it, and in a street, which says everything.

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <utility>

#include "core/geometry/euler.h"
#include "tests/support/engine_test.h"
#include "tests/support/random_numbers.h"

namespace voxloc {
namespace {

// Floor and two walls without end, along `heading` through the map's zero. Points of the stretch
// from `from_m` to `to_m`.
PointCloud CorridorPoints(double heading, double from_m, double to_m, size_t points,
                          uint64_t seed) {
  constexpr double kHalfWidth = 3.3;
  constexpr double kHeight = 4.0;
  RandomNumbers random(seed);
  const Eigen::AngleAxisd turn(heading, Eigen::Vector3d::UnitZ());
  PointCloud cloud;
  for (size_t i = 0; i < points; ++i) {
    Eigen::Vector3d p(random.Uniform(from_m, to_m), 0.0, 0.0);
    if (i % 3 == 0) {
      p.y() = random.Uniform(-kHalfWidth, kHalfWidth);
    } else {
      p.y() = i % 3 == 1 ? kHalfWidth : -kHalfWidth;
      p.z() = random.Uniform(0.0, kHeight);
    }
    p = turn * p + 0.01 * random.NormalVector();
    cloud.PushBack(static_cast<float>(p.x()), static_cast<float>(p.y()), static_cast<float>(p.z()));
  }
  return cloud;
}

struct CorridorScan {
  double heading = 0.0;
  Pose truth;
  AlignJob job;  // from the truth
  Eigen::Vector3d Along() const { return {std::cos(heading), std::sin(heading), 0.0}; }
};

Profile Observing(Profile profile, double ratio) {
  for (Stage& stage : profile.stages) stage.observed_ratio = ratio;
  return profile;
}

// Ratios that tell the directions of a narrow corridor apart.
Profile InNarrowCorridors(Profile profile) {
  profile = AlongObservedDirections(std::move(profile));
  for (Stage& stage : profile.stages) {
    stage.rotation_scale_m = 3.0;
    stage.observed_ratio = stage.cells.gaussian.identity_seed ? 0.006 : 0.001;
  }
  return profile;
}

struct CorridorError {
  double along_m = 0.0;
  double across_m = 0.0;
  double rotation_rad = 0.0;
};

class ObservedDirectionsTest : public EngineTest {
 protected:
  static CorridorScan MakeCorridor(double heading, const Profile& profile) {
    CorridorScan corridor;
    corridor.heading = heading;
    corridor.truth.translation.z() = 1.5;
    corridor.truth.rotation = RotationFromRosAngles(0.01, -0.02, heading + 0.1);
    corridor.job.map =
        LoadMap(engine(), {CorridorPoints(heading, -45, 45, 60000, 1)}, AllStatistics());
    corridor.job.scan = std::make_shared<const PointCloud>(
        Transform(corridor.truth.Inverse(), CorridorPoints(heading, -20, 20, 1500, 2)));
    corridor.job.map_T_base_guess = corridor.truth;
    corridor.job.profile = profile;
    return corridor;
  }

  // From a metre along the corridor, a fifth of a metre across it, and a degree of yaw.
  static CorridorError AlignInCorridor(const Profile& profile, double heading) {
    CorridorScan corridor = MakeCorridor(heading, profile);
    const Eigen::Vector3d across = Eigen::Vector3d::UnitZ().cross(corridor.Along());
    corridor.job.map_T_base_guess =
        Displaced(corridor.truth, corridor.Along() + 0.2 * across + Eigen::Vector3d(0, 0, 0.1),
                  kRadiansPerDegree);
    const AlignResult result = AlignOne(engine(), corridor.job);
    EXPECT_TRUE(result.status.ok()) << result.status;
    EXPECT_EQ(result.termination, Termination::kConverged);
    const Eigen::Vector3d error = result.map_T_base.translation - corridor.truth.translation;
    EXPECT_LE(std::abs(error.z()), 0.03);
    return {error.dot(corridor.Along()), error.dot(across),
            RotationDistance(result.map_T_base, corridor.truth)};
  }
};
VOXLOC_INSTANTIATE_ON_ENGINES(ObservedDirectionsTest);

TEST_P(ObservedDirectionsTest, AlongACorridorThePriorStaysAcrossItTheScanDecides) {
  for (const Profile& profile : {AutowareProfile(), PreciseProfile()}) {
    for (const double heading : {0.0, 0.6}) {
      SCOPED_TRACE(profile.name);
      SCOPED_TRACE(heading);
      const CorridorError error = AlignInCorridor(InNarrowCorridors(profile), heading);
      EXPECT_NEAR(error.along_m, 1.0, 0.02);
      EXPECT_LE(std::abs(error.across_m), 0.02);
      // The step floor of the autoware profile overshoots by up to 0.29 degrees.
      EXPECT_LE(error.rotation_rad, 0.3 * kRadiansPerDegree);
    }
  }
}

// What the option is for: chance patterns on the walls pull, above all where no stage is judged.
TEST_P(ObservedDirectionsTest, WithoutItAPoseDriftsAlongTheCorridor) {
  Profile believing = PreciseProfile();
  believing.judged = false;
  for (Stage& stage : believing.stages) stage.point_voxel_m = 0.0;
  EXPECT_GT(std::abs(AlignInCorridor(believing, 0.6).along_m - 1.0), 0.1);
}

TEST_P(ObservedDirectionsTest, OnOpenGroundThePriorStaysAndTheScanDecidesHeightAndTilt) {
  const auto ground = [](double reach_m, size_t points, uint64_t seed) {
    RandomNumbers random(seed);
    PointCloud cloud;
    for (size_t i = 0; i < points; ++i) {
      cloud.PushBack(static_cast<float>(random.Uniform(-reach_m, reach_m)),
                     static_cast<float>(random.Uniform(-reach_m, reach_m)),
                     static_cast<float>(0.01 * random.NormalVector().z()));
    }
    return cloud;
  };
  Pose truth;
  truth.translation.z() = 1.5;
  AlignJob job;
  job.map = LoadMap(engine(), {ground(40.0, 640'000, 5)}, AllStatistics());
  job.scan = std::make_shared<const PointCloud>(Transform(truth.Inverse(), ground(30.0, 1500, 6)));
  for (const Profile& profile : {AutowareProfile(), PreciseProfile()}) {
    SCOPED_TRACE(profile.name);
    job.profile = AlongObservedDirections(profile);
    job.map_T_base_guess = Displaced(truth, {0.3, -0.2, 0.1}, kRadiansPerDegree);
    const AlignResult result = AlignOne(engine(), job);
    ASSERT_TRUE(result.status.ok()) << result.status;
    const Eigen::Vector3d moved = result.map_T_base.translation - job.map_T_base_guess.translation;
    EXPECT_LE(moved.head<2>().norm(), 0.02);
    EXPECT_NEAR(result.map_T_base.translation.z(), 1.5, 0.01);
    EXPECT_LE(RotationDistance(result.map_T_base, truth), 1.3 * kRadiansPerDegree);
  }
}

TEST_P(ObservedDirectionsTest, AStreetIsFoundAsExactlyAsWithoutIt) {
  for (const Profile& profile : {AutowareProfile(), PreciseProfile()}) {
    SCOPED_TRACE(profile.name);
    for (const AlignJob& job : PerturbedSceneJobs(SceneJob(AlongObservedDirections(profile)))) {
      const AlignResult result = AlignOne(engine(), job);
      ASSERT_TRUE(result.status.ok()) << result.status;
      EXPECT_EQ(Judge(result, profile), Acceptance::kAccepted);
      EXPECT_LE(TranslationDistance(result.map_T_base, ScenePose()),
                profile.name == "precise" ? 0.005 : 0.02);
    }
  }
}

TEST_P(ObservedDirectionsTest, WhateverTheShareAResultIsFinite) {
  for (const Profile& profile : {AutowareProfile(), PreciseProfile()}) {
    for (const double ratio : {1e-300, 0.1, 0.999}) {
      for (const double reach : {0.5, 5.0, 500.0}) {
        AlignJob job = SceneJob(Observing(profile, ratio));
        job.map_T_base_guess = Displaced(ScenePose(), {reach, 0.0, 0.0}, 0.5);
        const AlignResult result = AlignOne(engine(), job);
        ASSERT_TRUE(result.status.ok()) << result.status;
        EXPECT_NE(result.termination, Termination::kNotFinite);
        EXPECT_TRUE(result.map_T_base.translation.allFinite());
        EXPECT_TRUE(result.map_T_base.rotation.coeffs().allFinite());
      }
    }
  }
}

}  // namespace
}  // namespace voxloc
