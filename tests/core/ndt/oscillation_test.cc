// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/ndt/stage_search.h"

namespace voxloc::ndt {
namespace {

int LongestRun(const std::vector<Vector3<double>>& positions) {
  OscillationCounter counter;
  for (const Vector3<double>& position : positions) counter.Visit(position);
  return counter.LongestRun();
}

// Positions along x.
int LongestAlong(const std::vector<double>& xs) {
  std::vector<Vector3<double>> positions;
  for (const double x : xs) positions.push_back({x, 5.0, -2.0});
  return LongestRun(positions);
}

TEST(OscillationTest, TheLongestRunOfReversalsCounts) {
  EXPECT_EQ(LongestAlong({}), 0);
  EXPECT_EQ(LongestAlong({0}), 0);
  EXPECT_EQ(LongestAlong({0, 1}), 0);
  EXPECT_EQ(LongestAlong({0, 1, 2, 3}), 0);
  EXPECT_EQ(LongestAlong({0, 1, 0}), 1);
  EXPECT_EQ(LongestAlong({0, 1, 0, 1, 0}), 3);
  // Runs of one and of two reversals with a plain step in between.
  EXPECT_EQ(LongestAlong({0, 1, 0, -1, 0, -1}), 2);
  EXPECT_EQ(LongestAlong({0, 1, 0, 1, 0, -1, -2, -1}), 3);
  // Steps of different lengths reverse as well.
  EXPECT_EQ(LongestAlong({0, 1, 0.9, 0.91}), 2);
}

TEST(OscillationTest, AStepOfNoLengthEndsARun) {
  EXPECT_EQ(LongestAlong({0, 1, 0, 0, 1}), 1);
  EXPECT_EQ(LongestAlong({0, 0, 0}), 0);
  EXPECT_EQ(LongestAlong({0, 1, 1, 0}), 0);
}

TEST(OscillationTest, TheAngleDecides) {
  const auto turned = [](double cosine) {
    const double sine = std::sqrt(1.0 - cosine * cosine);
    return LongestRun({{0, 0, 0}, {1, 0, 0}, {1 + cosine, sine, 0}});
  };
  EXPECT_EQ(turned(-1.0), 1);
  EXPECT_EQ(turned(-0.91), 1);
  EXPECT_EQ(turned(-0.89), 0);
  EXPECT_EQ(turned(0.0), 0);
  EXPECT_EQ(turned(1.0), 0);
}

TEST(OscillationTest, OnePathMayOscillateInAnyDirection) {
  EXPECT_EQ(LongestRun({{0, 0, 0}, {1, 2, 3}, {0, 0, 0}, {1, 2, 3}}), 2);
}

}  // namespace
}  // namespace voxloc::ndt
