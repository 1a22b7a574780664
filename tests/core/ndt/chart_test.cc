// SPDX-License-Identifier: Apache-2.0

#include "core/ndt/chart.h"

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <cmath>

#include "tests/support/random_numbers.h"
#include "tests/support/reference_ndt.h"

namespace voxloc::ndt {
namespace {

constexpr int kSamples = 200;

AngleTerms<double> TermsOf(const Eigen::Vector3d& angles) {
  return ComputeAngleTerms(angles[0], angles[1], angles[2]);
}

TEST(ChartTest, EachAngleTurnsTheScanAboutItsAxis) {
  RandomNumbers random(2);
  for (int i = 0; i < kSamples; ++i) {
    const Eigen::Vector3d angles = random.InBox(M_PI);
    const reference::RotationDerivatives expected = reference::DifferentiateRotation(angles);
    const ChartAxes<double> axes = ComputeChartAxes(TermsOf(angles));
    for (size_t a = 0; a < 3; ++a) {
      const double(&of_angle)[3] = axes.axis[3 + a];
      const Eigen::Vector3d axis(of_angle[0], of_angle[1], of_angle[2]);
      for (int column = 0; column < 3; ++column) {
        const Eigen::Vector3d turned = axis.cross(expected.rotation.col(column));
        EXPECT_LE((turned - expected.first[a].col(column)).cwiseAbs().maxCoeff(), 1e-15);
      }
    }
  }
}

TEST(ChartTest, TheShortcutTakesAnglesBelowItsLimitForZero) {
  constexpr double kBelow = 0.99e-4;
  constexpr double kAbove = 1.01e-4;
  for (int kept = 0; kept < 8; ++kept) {
    for (const double sign : {-1.0, 1.0}) {
      Eigen::Vector3d angles;
      Eigen::Vector3d expected_angles;
      for (int a = 0; a < 3; ++a) {
        const bool keep = ((kept >> a) & 1) != 0;
        angles[a] = sign * (keep ? kAbove : kBelow);
        expected_angles[a] = keep ? angles[a] : 0.0;
      }
      const AngleTerms<double> terms = ComputeShortcutAngleTerms(angles[0], angles[1], angles[2]);
      EXPECT_EQ(terms.sr, std::sin(expected_angles[0]));
      EXPECT_EQ(terms.cr, std::cos(expected_angles[0]));
      EXPECT_EQ(terms.sp, std::sin(expected_angles[1]));
      EXPECT_EQ(terms.cp, std::cos(expected_angles[1]));
      EXPECT_EQ(terms.sy, std::sin(expected_angles[2]));
      EXPECT_EQ(terms.cy, std::cos(expected_angles[2]));
    }
  }
}

}  // namespace
}  // namespace voxloc::ndt
