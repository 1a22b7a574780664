// SPDX-License-Identifier: Apache-2.0
//
// Colours of point scores, those of Autoware's voxel_score_points. Pure functions.

#ifndef VOXLOC_SERVER_CONVERT_SCORE_COLORS_H_
#define VOXLOC_SERVER_CONVERT_SCORE_COLORS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace voxloc::server {

struct Rgb {
  uint8_t red = 0;
  uint8_t green = 0;
  uint8_t blue = 0;
};

// From blue at a score of 1.0 to red at 3.5; scores beyond have the colour of the end.
[[nodiscard]] Rgb ColorOfScore(double score);

// Three bytes a point; black where its score is 0, which an unmatched point's is.
[[nodiscard]] std::vector<uint8_t> ColorsOfScores(absl::Span<const float> point_scores);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONVERT_SCORE_COLORS_H_
