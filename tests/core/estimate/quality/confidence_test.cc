// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/quality/confidence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace voxloc {
namespace {

// As a scan has them that is right: medians of the tracked poses of the choosing list.
QualitySignals RightSignals(double cell_size_m) {
  QualitySignals signals;
  signals.matched_points = 1480;
  signals.sharp_ratio = cell_size_m < 1.0 ? 0.65 : 0.96;
  signals.raised_points = 500;
  signals.raised_ratio = 0.95;
  signals.rays = 60;
  signals.seen_through_ratio = 0.01;
  signals.pull = {0.02, 0.001, 0.03, 0.001};
  signals.answer_cell_size_m = cell_size_m;
  return signals;
}

// The cells of the answers of both profiles.
constexpr double kCellSizesM[] = {0.5, 2.0};

TEST(ConfidenceTest, IsHighWhereAllSignalsAreGoodAndFallsWithThoseThatWorsen) {
  for (const double cell_m : kCellSizesM) {
    const double right = ConfidenceOf(RightSignals(cell_m));
    EXPECT_GT(right, 0.9) << cell_m;
    EXPECT_LE(right, 1.0) << cell_m;
    const auto worse = [&](auto change) {
      QualitySignals signals = RightSignals(cell_m);
      change(signals);
      return ConfidenceOf(signals);
    };
    EXPECT_LT(worse([](QualitySignals& s) { s.raised_ratio = 0.4; }), right);
    EXPECT_LT(worse([](QualitySignals& s) { s.sharp_ratio *= 0.5; }), right);
    EXPECT_LT(worse([](QualitySignals& s) { s.seen_through_ratio = 0.3; }), right);
    EXPECT_LT(worse([](QualitySignals& s) { s.pull.step_m = 0.3; }), right);
    EXPECT_LT(worse([](QualitySignals& s) { s.pull.step_rad = 0.02; }), right);
    EXPECT_LT(worse([](QualitySignals& s) { s.pull.spread_m = 0.3; }), right);
    EXPECT_LT(worse([](QualitySignals& s) { s.innovation = 8.0; }), right);
    EXPECT_EQ(worse([](QualitySignals& s) { s.innovation = 3.0; }), right);
    EXPECT_EQ(worse([](QualitySignals& s) { s.matched_points = 0; }), 0.0);
  }
}

// Half a metre beside the truth, or in another street: what the medians of the choosing list are
// there.
TEST(ConfidenceTest, IsLowWhereSignalsAreThoseOfWrongPoses) {
  for (const double cell_m : kCellSizesM) {
    QualitySignals signals = RightSignals(cell_m);
    signals.raised_ratio = 0.5;
    signals.sharp_ratio = cell_m < 1.0 ? 0.15 : 0.65;
    signals.pull = {0.5, 0.02, 0.2, 0.01};
    EXPECT_LT(ConfidenceOf(signals), 0.1) << cell_m;
  }
}

TEST(ConfidenceTest, TrustsFewRaisedPointsLessThanMany) {
  QualitySignals few = RightSignals(0.5);
  few.raised_ratio = 0.2;
  QualitySignals many = few;
  few.raised_points = 3;
  EXPECT_GT(ConfidenceOf(few), ConfidenceOf(many));
}

TEST(ConfidenceTest, TermsStayBoundedWhateverTheSignals) {
  QualitySignals signals = RightSignals(0.5);
  signals.pull = {std::numeric_limits<double>::infinity(), std::nan(""), 1e300, 1e300};
  for (const ConfidenceTerm& term : ConfidenceTerms(signals)) {
    EXPECT_LE(std::abs(term.value), 1.0) << term.name;
  }
  EXPECT_GE(ConfidenceOf(signals), 0.0);
  EXPECT_LE(ConfidenceOf(signals), 1.0);
  signals.innovation = 1e9;
  EXPECT_GE(ConfidenceOf(signals), 0.0);
  EXPECT_LT(ConfidenceOf(signals), 1e-6);
}

}  // namespace
}  // namespace voxloc
