// SPDX-License-Identifier: Apache-2.0

#include "core/ndt/chart.h"

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <cmath>

#include "tests/support/random_numbers.h"
#include "tests/support/reference_ndt.h"

namespace voxloc::ndt {
namespace {

constexpr int kSamples = 200;

Eigen::Matrix3d RotationOf(const Eigen::Vector3d& angles) {
  return (Eigen::AngleAxisd(angles[0], Eigen::Vector3d::UnitX()) *
          Eigen::AngleAxisd(angles[1], Eigen::Vector3d::UnitY()) *
          Eigen::AngleAxisd(angles[2], Eigen::Vector3d::UnitZ()))
      .toRotationMatrix();
}

AngleTerms<double> TermsOf(const Eigen::Vector3d& angles) {
  return ComputeAngleTerms(angles[0], angles[1], angles[2]);
}

Eigen::RowVector3d Row(const double (&row)[3]) { return {row[0], row[1], row[2]}; }

// The stored rows with the ones that vanish put back: derivatives of R itself.
std::array<Eigen::Matrix3d, 3> FirstDerivatives(const ChartDerivatives<double>& d) {
  std::array<Eigen::Matrix3d, 3> first;
  first[0] << Eigen::RowVector3d::Zero(), Row(d.first[0]), Row(d.first[1]);
  first[1] << Row(d.first[2]), Row(d.first[3]), Row(d.first[4]);
  first[2] << Row(d.first[5]), Row(d.first[6]), Row(d.first[7]);
  return first;
}

struct SecondDerivative {
  size_t a;
  size_t b;
  Eigen::Matrix3d matrix;
};

std::array<SecondDerivative, 6> SecondDerivatives(const ChartDerivatives<double>& d) {
  std::array<SecondDerivative, 6> second = {
      {{0, 0, {}}, {0, 1, {}}, {0, 2, {}}, {1, 1, {}}, {1, 2, {}}, {2, 2, {}}}};
  for (size_t i = 0; i < 3; ++i) {
    second[i].matrix << Eigen::RowVector3d::Zero(), Row(d.second[2 * i]), Row(d.second[2 * i + 1]);
    second[3 + i].matrix << Row(d.second[6 + 3 * i]), Row(d.second[7 + 3 * i]),
        Row(d.second[8 + 3 * i]);
  }
  return second;
}

TEST(ChartTest, TheRotationIsTheProductOfRotationsAboutXYAndZ) {
  RandomNumbers random(1);
  for (int i = 0; i < kSamples; ++i) {
    const Eigen::Vector3d angles = random.InBox(M_PI);
    const Rotation<double> rotation = ComputeRotation(TermsOf(angles));
    const Eigen::Matrix3d expected = RotationOf(angles);
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < 3; ++c) EXPECT_NEAR(rotation.m[r][c], expected(r, c), 1e-15);
    }
  }
}

TEST(ChartTest, FirstOrderRowsMatchCentralDifferences) {
  constexpr double kStep = 1e-5;
  RandomNumbers random(2);
  double largest = 0.0;
  for (int i = 0; i < kSamples; ++i) {
    const Eigen::Vector3d angles = random.InBox(M_PI);
    const Eigen::Vector3d x = random.InBox(50.0);
    const auto first = FirstDerivatives(ComputeChartDerivatives(TermsOf(angles), true));
    for (int a = 0; a < 3; ++a) {
      const Eigen::Vector3d h = kStep * Eigen::Vector3d::Unit(a);
      const Eigen::Vector3d difference =
          (RotationOf(angles + h) * x - RotationOf(angles - h) * x) / (2.0 * kStep);
      const double error = (first[static_cast<size_t>(a)] * x - difference).norm() / x.norm();
      largest = std::max(largest, error);
      EXPECT_LE(error, 1e-9) << "angle " << a << " at " << angles.transpose();
    }
  }
  RecordProperty("largest_error", std::to_string(largest));
}

TEST(ChartTest, SecondOrderRowsMatchCentralDifferences) {
  constexpr double kStep = 1e-3;
  RandomNumbers random(3);
  for (int i = 0; i < kSamples; ++i) {
    const Eigen::Vector3d angles = random.InBox(M_PI);
    const Eigen::Vector3d x = random.InBox(50.0);
    const auto difference = [&](size_t a, size_t b, double step) -> Eigen::Vector3d {
      const Eigen::Vector3d ha = step * Eigen::Vector3d::Unit(static_cast<int>(a));
      const Eigen::Vector3d hb = step * Eigen::Vector3d::Unit(static_cast<int>(b));
      return (RotationOf(angles + ha + hb) * x - RotationOf(angles + ha - hb) * x -
              RotationOf(angles - ha + hb) * x + RotationOf(angles - ha - hb) * x) /
             (4.0 * step * step);
    };
    for (const SecondDerivative& second :
         SecondDerivatives(ComputeChartDerivatives(TermsOf(angles), true))) {
      // Two steps, extrapolated: the error of fourth order is left.
      const Eigen::Vector3d extrapolated = (4.0 * difference(second.a, second.b, kStep) -
                                            difference(second.a, second.b, 2.0 * kStep)) /
                                           3.0;
      EXPECT_LE((second.matrix * x - extrapolated).norm(), 1e-8 * x.norm())
          << "angles " << second.a << " " << second.b << " at " << angles.transpose();
    }
  }
}

TEST(ChartTest, AllRowsMatchProductsOfDifferentiatedRotations) {
  RandomNumbers random(4);
  for (int i = 0; i < kSamples; ++i) {
    const Eigen::Vector3d angles = random.InBox(M_PI);
    const reference::RotationDerivatives expected = reference::DifferentiateRotation(angles);
    const ChartDerivatives<double> rows = ComputeChartDerivatives(TermsOf(angles), true);
    const auto first = FirstDerivatives(rows);
    for (size_t a = 0; a < 3; ++a) {
      EXPECT_LE((first[a] - expected.first[a]).cwiseAbs().maxCoeff(), 1e-15);
    }
    for (const SecondDerivative& second : SecondDerivatives(rows)) {
      EXPECT_LE((second.matrix - expected.second[second.a][second.b]).cwiseAbs().maxCoeff(), 1e-15);
    }
  }
}

TEST(ChartTest, TheOldSignOfThePitchCurvatureChangesOneEntryOnly) {
  RandomNumbers random(5);
  for (int i = 0; i < kSamples; ++i) {
    const Eigen::Vector3d angles = random.InBox(M_PI);
    const ChartDerivatives<double> exact = ComputeChartDerivatives(TermsOf(angles), true);
    const ChartDerivatives<double> old = ComputeChartDerivatives(TermsOf(angles), false);
    for (int row = 0; row < 15; ++row) {
      for (int column = 0; column < 3; ++column) {
        if (row < 8) {
          EXPECT_EQ(old.first[row][column], exact.first[row][column]);
        }
        if (row == 6 && column == 2) continue;
        EXPECT_EQ(old.second[row][column], exact.second[row][column]);
      }
    }
    EXPECT_DOUBLE_EQ(exact.second[6][2], -std::sin(angles[1]));
    EXPECT_DOUBLE_EQ(old.second[6][2], std::sin(angles[1]));
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

TEST(ChartTest, DroppingTheSecondOrderLeavesTheFirst) {
  const AngleTerms<double> terms = ComputeAngleTerms(0.3, -0.2, 1.1);
  const ChartDerivatives<double> exact = ComputeChartDerivatives(terms, true);
  ChartDerivatives<double> dropped = exact;
  DropSecondOrder(dropped);
  for (int row = 0; row < 15; ++row) {
    for (int column = 0; column < 3; ++column) {
      EXPECT_EQ(dropped.second[row][column], 0.0);
      if (row < 8) {
        EXPECT_EQ(dropped.first[row][column], exact.first[row][column]);
      }
    }
  }
}

}  // namespace
}  // namespace voxloc::ndt
