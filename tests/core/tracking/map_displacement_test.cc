// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/map_displacement.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/support/random_numbers.h"

namespace voxloc {
namespace {

const Eigen::Vector3d kStartSigmaM = {0.04, 0.04, 0.04};

Pose InMap(const Eigen::Vector3d& position, double yaw_rad) {
  return {position, Eigen::Quaterniond(Eigen::AngleAxisd(yaw_rad, Eigen::Vector3d::UnitZ()))};
}

// Drives 3 km in steps of 0.7 m, along a road that bends, through a map that is displaced along and
// across it by independent amounts every 5 m, linear between them.
Eigen::Vector3d SigmaAfterDrive(double along_sigma_m, double across_sigma_m) {
  RandomNumbers random(5);
  std::vector<Eigen::Vector3d> displacements_base(700);
  for (Eigen::Vector3d& displacement : displacements_base) {
    displacement = {along_sigma_m * random.Normal(), across_sigma_m * random.Normal(), 0.0};
  }
  MapDisplacement estimate;
  Pose truth = InMap({100.0, 50.0, 3.0}, 0.3);
  const Pose step = InMap({0.7, 0.0, 0.0}, 0.002);
  for (int i = 0; i < 4200; ++i) {
    const double place = 0.7 * i / 5.0;
    const auto before = static_cast<size_t>(place);
    const double share = place - std::floor(place);
    const Eigen::Vector3d displacement_base =
        (1.0 - share) * displacements_base[before] + share * displacements_base[before + 1];
    estimate.Observe(truth * Pose{displacement_base, Eigen::Quaterniond::Identity()});
    truth = truth * step;
    estimate.Move(step);
  }
  return estimate.Sigma(kStartSigmaM);
}

TEST(MapDisplacement, IsTheStartBeforeAnythingIsSeen) {
  MapDisplacement estimate;
  EXPECT_EQ(estimate.Sigma(kStartSigmaM), kStartSigmaM);
  estimate.Observe(Pose());
  EXPECT_EQ(estimate.Sigma(kStartSigmaM), kStartSigmaM);
}

// Linear between independent values, a displacement has 2/3 of their variance.
TEST(MapDisplacement, FindsTheDisplacementAlongEachAxis) {
  const Eigen::Vector3d sigma_m = SigmaAfterDrive(0.03, 0.02);
  EXPECT_NEAR(sigma_m.x(), 0.03 * std::sqrt(2.0 / 3.0), 0.002);
  EXPECT_NEAR(sigma_m.y(), 0.02 * std::sqrt(2.0 / 3.0), 0.002);
}

TEST(MapDisplacement, StaysWithinItsBounds) {
  EXPECT_EQ(SigmaAfterDrive(0.2, 0.2).x(), kStartSigmaM.x());
  // Along z, the map is right.
  EXPECT_EQ(SigmaAfterDrive(0.0, 0.0).z(), 0.25 * kStartSigmaM.z());
}

TEST(MapDisplacement, ComparesNothingAcrossAJump) {
  MapDisplacement estimate;
  const Pose step = InMap({1.0, 0.0, 0.0}, 0.0);
  for (int i = 0; i < 200; ++i) {
    if (i % 15 == 0) estimate.Restart();
    estimate.Observe(InMap({1.0 * i + 10.0 * (i / 15), 0.0, 0.0}, 0.0));
    estimate.Move(step);
  }
  EXPECT_EQ(estimate.Sigma(kStartSigmaM), kStartSigmaM);
}

}  // namespace
}  // namespace voxloc
