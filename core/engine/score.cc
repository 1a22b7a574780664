// SPDX-License-Identifier: Apache-2.0

#include "core/engine/score.h"

#include <cstddef>
#include <new>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace voxloc {

absl::StatusOr<ScoreResult> MakeScoreResult(const ScoreRequest& request) {
  const size_t poses = request.map_T_base.size();
  const size_t points = request.scan == nullptr ? 0 : request.scan->size();
  ScoreResult result;
  try {
    result.poses.resize(poses);
    if (request.want_point_scores) result.point_scores.assign(poses * points, 0.0F);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for the scores of ", poses, " poses and ", points, " points"));
  }
  return result;
}

}  // namespace voxloc
