// SPDX-License-Identifier: Apache-2.0

#include "core/engine/score.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "core/engine/out_of_memory.h"

namespace voxloc {

absl::StatusOr<ScoreResult> MakeScoreResult(const ScoreRequest& request) {
  const size_t poses = request.map_T_base.size();
  const size_t points = request.scan == nullptr ? 0 : request.scan->size();
  return CatchOutOfMemory(
      [&]() -> absl::StatusOr<ScoreResult> {
        ScoreResult result;
        result.poses.resize(poses);
        if (request.want_point_scores) result.point_scores.assign(poses * points, 0.0F);
        return result;
      },
      [&] {
        return absl::StrCat("no memory for the scores of ", poses, " poses and ", points,
                            " points");
      });
}

}  // namespace voxloc
