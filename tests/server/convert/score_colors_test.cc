// SPDX-License-Identifier: Apache-2.0

#include "server/convert/score_colors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace voxloc::server {
namespace {

void ExpectColor(double score, const Rgb& expected) {
  const Rgb color = ColorOfScore(score);
  EXPECT_EQ(color.red, expected.red) << score;
  EXPECT_EQ(color.green, expected.green) << score;
  EXPECT_EQ(color.blue, expected.blue) << score;
}

// Scores are 1 + 2.5 x. Sines of whole and half multiples of pi / 6 and pi / 4 by hand.
TEST(ScoreColorsTest, EveryStretchOfTheScaleHasItsColours) {
  const struct {
    double x;
    Rgb color;
  } rows[] = {
      // Up to 1/4: blue full, green rises with sin(2 pi x). sin 30 = 0.5: 127.5 is cut off.
      {0.0, {0, 0, 255}},
      {1.0 / 12.0, {0, 127, 255}},
      {0.125, {0, 180, 255}},
      {0.25, {0, 255, 255}},
      // Up to 1/2: green full, blue falls. sin = 6.3e-4: 0.16.
      {0.375, {0, 255, 180}},
      {5.0 / 12.0, {0, 255, 127}},
      {0.4999, {0, 255, 0}},
      {0.5, {0, 255, 0}},
      // Up to 3/4: green full, red rises with -sin(2 pi x).
      {7.0 / 12.0, {127, 255, 0}},
      {0.625, {180, 255, 0}},
      {0.75, {255, 255, 0}},
      // Beyond: red full, green falls.
      {0.875, {255, 180, 0}},
      {11.0 / 12.0, {255, 127, 0}},
      {0.9999, {255, 0, 0}},
      {1.0, {255, 0, 0}},
  };
  for (const auto& row : rows) ExpectColor(1.0 + 2.5 * row.x, row.color);
}

TEST(ScoreColorsTest, BeyondTheScaleTheEndsColoursHold) {
  for (const double score : {0.999, -5.0, -HUGE_VAL, std::nan("")}) {
    ExpectColor(score, {0, 0, 255});
  }
  for (const double score : {3.5, 3.6, HUGE_VAL}) ExpectColor(score, {255, 0, 0});
}

TEST(ScoreColorsTest, PointsHaveThreeBytesAndUnmatchedOnesAreBlack) {
  const std::vector<uint8_t> colors = ColorsOfScores(std::vector<float>{0.0F, 1.0F, 2.25F, 0.5F});
  EXPECT_EQ(colors, (std::vector<uint8_t>{0, 0, 0, 0, 0, 255, 0, 255, 0, 0, 0, 255}));
  EXPECT_TRUE(ColorsOfScores({}).empty());
}

}  // namespace
}  // namespace voxloc::server
