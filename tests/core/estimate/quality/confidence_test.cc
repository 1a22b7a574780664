// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/quality/confidence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace voxloc {
namespace {

// As a scan has them that is right.
QualitySignals RightSignals() {
  QualitySignals signals;
  signals.matched_ratio = 0.99;
  signals.matched_points = 1480;
  signals.nvtl = 3.15;
  signals.mean_fit = 0.74;
  signals.residual_ratio = 1.0;
  signals.sharp_ratio = 0.7;
  signals.raised_points = 500;
  signals.raised_ratio = 0.91;
  signals.sector_coverage = 1.0;
  signals.sector_agreement = 1.0;
  signals.rays = 120;
  signals.seen_through_ratio = 0.01;
  signals.condition = 20.0;
  return signals;
}

TEST(ConfidenceTest, IsHighWhereAllSignalsAreGood) {
  EXPECT_GT(ConfidenceOf(RightSignals()), 0.9);
  EXPECT_LE(ConfidenceOf(RightSignals()), 1.0);
}

TEST(ConfidenceTest, IsZeroWithoutAMatchedPoint) {
  EXPECT_EQ(ConfidenceOf(QualitySignals()), 0.0);
  QualitySignals signals = RightSignals();
  signals.matched_points = 0;
  EXPECT_EQ(ConfidenceOf(signals), 0.0);
}

TEST(ConfidenceTest, FallsWithEverySignalThatWorsens) {
  const double right = ConfidenceOf(RightSignals());
  const auto worse = [](auto change) {
    QualitySignals signals = RightSignals();
    change(signals);
    return ConfidenceOf(signals);
  };
  EXPECT_LT(worse([](QualitySignals& s) { s.matched_ratio = 0.5, s.mean_fit *= 0.5; }), right);
  EXPECT_LT(worse([](QualitySignals& s) { s.mean_fit = 0.5; }), right);
  EXPECT_LT(worse([](QualitySignals& s) { s.raised_ratio = 0.4; }), right);
  EXPECT_LT(worse([](QualitySignals& s) { s.residual_ratio = 4.0; }), right);
  EXPECT_LT(worse([](QualitySignals& s) { s.sector_agreement = 0.4; }), right);
  EXPECT_LT(worse([](QualitySignals& s) { s.seen_through_ratio = 0.3; }), right);
  EXPECT_LT(worse([](QualitySignals& s) { s.condition = 1e3; }), right);
  EXPECT_LT(worse([](QualitySignals& s) { s.innovation = 8.0; }), right);
  EXPECT_EQ(worse([](QualitySignals& s) { s.innovation = 3.0; }), right);
}

TEST(ConfidenceTest, TrustsFewRaisedPointsLessThanMany) {
  QualitySignals few = RightSignals();
  few.raised_ratio = 0.2;
  QualitySignals many = few;
  few.raised_points = 3;
  EXPECT_GT(ConfidenceOf(few), ConfidenceOf(many));
}

TEST(ConfidenceTest, StaysInItsRangeWhateverTheSignals) {
  QualitySignals signals = RightSignals();
  signals.condition = std::numeric_limits<double>::infinity();
  signals.residual_ratio = 0.0;
  EXPECT_GE(ConfidenceOf(signals), 0.0);
  EXPECT_LE(ConfidenceOf(signals), 1.0);
  signals.innovation = 1e9;
  EXPECT_GE(ConfidenceOf(signals), 0.0);
  EXPECT_LT(ConfidenceOf(signals), 1e-6);
}

}  // namespace
}  // namespace voxloc
