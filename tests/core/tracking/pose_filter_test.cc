// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/pose_filter.h"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>

#include "tests/core/tracking/refused_options.h"
#include "tests/support/diagonal_covariance.h"
#include "tests/support/random_numbers.h"

namespace voxloc {
namespace {

Vector6 NormalSix(RandomNumbers& random, double position_sigma_m, double rotation_sigma_rad) {
  Vector6 six;
  six << position_sigma_m * random.NormalVector(), rotation_sigma_rad * random.NormalVector();
  return six;
}

PoseObservation WholePose(const Pose& map_T_base, const Matrix6& covariance) {
  PoseObservation observation;
  observation.map_T_base = map_T_base;
  observation.axes = Matrix6::Identity();
  observation.directions = Matrix6::Identity();
  observation.covariance = covariance;
  return observation;
}

const Pose kSomewhere{
    {10.0, -3.0, 1.0},
    Eigen::Quaterniond(Eigen::AngleAxisd(0.8, Eigen::Vector3d(0.2, -0.1, 1.0).normalized()))};
const Pose kBend{
    {2.0, 0.3, -0.05},
    Eigen::Quaterniond(Eigen::AngleAxisd(0.2, Eigen::Vector3d(0.05, 0.02, 1.0).normalized()))};

// By 20,000 vehicles, each of which has true errors of its own.
TEST(PoseFilter, PredictsTheSpreadOfTrueVehicles) {
  OdometryErrors errors;
  errors.scale_sigma = 0.03;
  errors.position_sigma_per_metre = 0.02;
  errors.rotation_sigma_per_metre = 0.004;
  errors.rotation_sigma_per_radian = 0.03;
  errors.yaw_rate_bias_sigma_radps = 0.02;
  PoseFilter filter(errors);
  const Matrix6 start = DiagonalCovariance(0.05, 0.02);
  filter.Place(kSomewhere, start);
  BaseMotion motion;
  motion.from_T_to = kBend;
  motion.duration_s = 0.7;
  motion.extra_covariance(0, 0) = 0.04 * 0.04;  // along the base's x axis
  filter.Predict(motion);
  filter.Predict(motion);

  RandomNumbers random(7);
  Matrix6 spread = Matrix6::Zero();
  Vector6 mean = Vector6::Zero();
  constexpr int kVehicles = 20000;
  for (int vehicle = 0; vehicle < kVehicles; ++vehicle) {
    Pose truth = ApplyFixedAxesDifference(kSomewhere, NormalSix(random, 0.05, 0.02));
    const double scale = 1.0 + 0.03 * random.Normal();
    const double bias_radps = 0.02 * random.Normal();
    for (int step = 0; step < 2; ++step) {
      // Along a hundred short arcs, so that the bias turns the way as it does in truth.
      const double way_m = kBend.translation.norm();
      const double angle_rad = RotationDistance(Pose(), kBend);
      Pose driven;
      for (int arc = 0; arc < 100; ++arc) {
        const Eigen::Quaterniond turn(
            Eigen::AngleAxisd(-bias_radps * 0.7 / 100.0, Eigen::Vector3d::UnitZ()));
        driven = driven * Pose{scale / 100.0 * kBend.translation, turn};
      }
      driven.rotation = driven.rotation * kBend.rotation;
      Vector6 noise = NormalSix(random, 0.02 * std::sqrt(way_m),
                                std::hypot(0.004 * std::sqrt(way_m), 0.03 * std::sqrt(angle_rad)));
      noise[0] += 0.04 * random.Normal();
      truth = truth * ApplyFixedAxesDifference(driven, noise);
    }
    const Vector6 difference = FixedAxesDifference(filter.map_T_base(), truth);
    mean += difference / kVehicles;
    spread += difference * difference.transpose() / kVehicles;
  }
  const Matrix6 covariance = filter.pose_covariance();
  for (int i = 0; i < 6; ++i) {
    EXPECT_NEAR(mean[i], 0.0, 0.05 * std::sqrt(covariance(i, i))) << i;
    for (int j = 0; j < 6; ++j) {
      EXPECT_NEAR(spread(i, j), covariance(i, j),
                  0.05 * std::sqrt(covariance(i, i) * covariance(j, j)))
          << i << " " << j;
    }
  }
}

// By the information form, which inverts instead of weighing.
TEST(PoseFilter, UpdatesAsInformationAddsUp) {
  RandomNumbers random(3);
  Matrix6 root;
  for (double& entry : root.reshaped()) entry = 0.3 * random.Normal();
  const Matrix6 prior = root * root.transpose() + 0.01 * Matrix6::Identity();
  PoseFilter filter{OdometryErrors()};
  filter.Place(Pose(), prior);
  PoseObservation observation;
  observation.axes.resize(2, 6);
  observation.axes << 1.0, 0.5, 0.0, 0.0, 0.2, 0.0,  //
      0.0, 0.0, 1.0, -0.3, 0.0, 2.0;
  observation.covariance.resize(2, 2);
  observation.covariance << 0.02, 0.005, 0.005, 0.04;
  const Vector6 measured = (Vector6() << 0.1, -0.2, 0.05, 0.01, -0.02, 0.03).finished();
  observation.map_T_base = ApplyFixedAxesDifference(Pose(), measured);
  const Matrix6 weight =
      observation.axes.transpose() * observation.covariance.inverse() * observation.axes;
  const Matrix6 expected_covariance = (prior.inverse() + weight).inverse();
  const Vector6 expected = expected_covariance * weight * measured;
  const Eigen::Vector2d seen = observation.axes * measured;
  const Eigen::Matrix2d seen_covariance =
      observation.axes * prior * observation.axes.transpose() + observation.covariance;
  EXPECT_NEAR(filter.Distance(observation), seen.dot(seen_covariance.inverse() * seen), 1e-9);
  filter.Update(observation);
  EXPECT_TRUE(FixedAxesDifference(Pose(), filter.map_T_base()).isApprox(expected, 1e-9));
  EXPECT_TRUE(filter.pose_covariance().isApprox(expected_covariance, 1e-9));
}

TEST(PoseFilter, IgnoresAnObservationOfNothing) {
  PoseFilter filter{OdometryErrors()};
  filter.Place(kSomewhere, DiagonalCovariance(0.1, 0.01));
  PoseObservation nothing;
  EXPECT_EQ(filter.Distance(nothing), 0.0);
  filter.Update(nothing);
  EXPECT_EQ(filter.map_T_base().translation, kSomewhere.translation);
  EXPECT_EQ(filter.pose_covariance(), DiagonalCovariance(0.1, 0.01));
}

// Drives by odometry whose wheels count 1 % too much and whose gyro turns 2 mrad/s too fast, with
// scans of centimetres.
TEST(PoseFilter, LearnsScaleAndBias) {
  RandomNumbers random(11);
  OdometryErrors errors;
  errors.rotation_sigma_per_metre = 2e-4;
  errors.rotation_sigma_per_radian = 1e-3;
  PoseFilter filter(errors);
  Pose truth = kSomewhere;
  const Matrix6 scan = DiagonalCovariance(0.02, 0.002);
  filter.Place(truth, scan);
  const double first_sigma = filter.scale_sigma();
  for (int step = 0; step < 800; ++step) {
    const double turn_rad = step % 200 < 100 ? 0.01 : -0.01;
    const Pose driven{{0.5, 0.0, 0.0},
                      Eigen::Quaterniond(Eigen::AngleAxisd(turn_rad, Eigen::Vector3d::UnitZ()))};
    truth = truth * driven;
    BaseMotion motion;
    motion.duration_s = 0.1;
    motion.from_T_to = {
        {1.01 * 0.5 + 0.001 * random.Normal(), 0.001 * random.Normal(), 0.001 * random.Normal()},
        driven.rotation * Eigen::Quaterniond(Eigen::AngleAxisd(2e-3 * 0.1 + 1e-4 * random.Normal(),
                                                               Eigen::Vector3d::UnitZ()))};
    filter.Predict(motion);
    filter.Update(WholePose(ApplyFixedAxesDifference(truth, NormalSix(random, 0.02, 0.002)), scan));
  }
  EXPECT_LT(filter.scale_sigma(), 0.1 * first_sigma);
  EXPECT_NEAR(filter.scale(), 1.0 / 1.01, 3.0 * filter.scale_sigma());
  EXPECT_LT(filter.yaw_rate_bias_sigma_radps(), 4e-4);
  EXPECT_NEAR(filter.yaw_rate_bias_radps(), 2e-3, 3.0 * filter.yaw_rate_bias_sigma_radps());
  EXPECT_LT(TranslationDistance(filter.map_T_base(), truth), 0.03);
}

TEST(PoseFilter, ForgetsAlongTheObservedDirectionsAlone) {
  PoseFilter filter{OdometryErrors()};
  filter.Place(kSomewhere, DiagonalCovariance(0.1, 0.01));
  PoseObservation observation;
  observation.axes.resize(1, 6);
  observation.axes << 0.6, 0.8, 0.0, 0.0, 0.0, 0.0;
  observation.directions = observation.axes.transpose();
  filter.Forget(observation, 4.0);
  const Matrix6 covariance = filter.pose_covariance();
  const Vector6 along = observation.axes.transpose();
  const Vector6 across = (Vector6() << -0.8, 0.6, 0.0, 0.0, 0.0, 0.0).finished();
  EXPECT_NEAR(along.dot(covariance * along), 4.01, 1e-12);
  EXPECT_NEAR(across.dot(covariance * across), 0.01, 1e-12);
  EXPECT_NEAR(covariance(5, 5), 1e-4, 1e-15);
}

TEST(PoseFilter, KeepsWhatItKnowsOfTheOdometryWhereThePoseStartsAnew) {
  PoseFilter filter{OdometryErrors()};
  filter.Place(Pose(), DiagonalCovariance(0.01, 0.001));
  for (int step = 1; step <= 50; ++step) {
    BaseMotion motion;
    motion.from_T_to.translation.x() = 1.02;
    filter.Predict(motion);
    filter.Update(WholePose(Pose{{1.0 * step, 0.0, 0.0}, {1.0, 0.0, 0.0, 0.0}},
                            DiagonalCovariance(0.01, 0.001)));
  }
  const double scale = filter.scale();
  const double sigma = filter.scale_sigma();
  EXPECT_LT(scale, 0.99);
  filter.Place(kSomewhere, DiagonalCovariance(0.5, 0.05));
  EXPECT_EQ(filter.scale(), scale);
  EXPECT_EQ(filter.scale_sigma(), sigma);
  EXPECT_EQ(filter.pose_covariance(), DiagonalCovariance(0.5, 0.05));
}

TEST(OdometryErrors, AreChecked) {
  const double nan = std::nan("");
  ExpectRefused<OdometryErrors>(
      ValidateOdometryErrors,
      {{[](OdometryErrors& e) { e.scale_sigma = 0.6; }, "scale_sigma must be from 0 to 0.5"},
       {[](OdometryErrors& e) { e.position_sigma_per_metre = -1.0; }, "(got -1)"},
       {[&](OdometryErrors& e) { e.rotation_sigma_per_metre = nan; }, "rotation_sigma_per_metre"},
       {[](OdometryErrors& e) { e.rotation_sigma_per_radian = 2.0; }, "rotation_sigma_per_radian"},
       {[](OdometryErrors& e) { e.yaw_rate_bias_sigma_radps = 2.0; },
        "yaw_rate_bias_sigma_radps must be from 0 to 1 rad/s"}});
}

}  // namespace
}  // namespace voxloc
