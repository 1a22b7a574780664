// SPDX-License-Identifier: Apache-2.0

#include "server/convert/score_colors.h"

#include <cmath>

namespace voxloc::server {
namespace {

constexpr double kBlueScore = 1.0;
constexpr double kRedScore = 3.5;
constexpr double kLargestShare = 0.9999;

// From a colour's component in [0, 1], which is float32 where it comes from.
uint8_t ByteOf(double component) {
  return static_cast<uint8_t>(255.0F * static_cast<float>(component));
}

}  // namespace

Rgb ColorOfScore(double score) {
  // fmax and fmin return the other argument where the score is NaN.
  const double share =
      std::fmin(std::fmax((score - kBlueScore) / (kRedScore - kBlueScore), 0.0), kLargestShare);
  const double wave = std::sin(2.0 * M_PI * share);
  if (share <= 0.25) return {0, ByteOf(wave), 255};
  if (share <= 0.5) return {0, 255, ByteOf(wave)};
  if (share <= 0.75) return {ByteOf(-wave), 255, 0};
  return {255, ByteOf(-wave), 0};
}

std::vector<uint8_t> ColorsOfScores(absl::Span<const float> point_scores) {
  std::vector<uint8_t> colors;
  colors.reserve(3 * point_scores.size());
  for (const float score : point_scores) {
    const Rgb color = score == 0.0F ? Rgb{} : ColorOfScore(static_cast<double>(score));
    colors.insert(colors.end(), {color.red, color.green, color.blue});
  }
  return colors;
}

}  // namespace voxloc::server
