// SPDX-License-Identifier: Apache-2.0
//
// ScoreWork: scores poses of one scan on one map, in slices short enough for tracking to use the
// engine in between. Score blocks on the engine. Used by one thread at a time.

#ifndef VOXLOC_SERVER_LOCALIZATION_SCORE_WORK_H_
#define VOXLOC_SERVER_LOCALIZATION_SCORE_WORK_H_

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/engine/align.h"
#include "server/localization/scan_inputs.h"
#include "voxloc/v1/localization_service.pb.h"

namespace voxloc::server {

class ScoreWork {
 public:
  explicit ScoreWork(const WorkParts& parts) : parts_(parts) {}

  // The first call. Errors: those that ScorePoses gives for `setup`.
  [[nodiscard]] absl::Status Open(const v1::ScoreSetup& setup, const StopToken& stop);

  // InvalidArgument: a malformed set.
  [[nodiscard]] absl::StatusOr<std::vector<Pose>> ParsePoses(const v1::PoseSet& set) const;

  // How many poses to score in one call.
  [[nodiscard]] size_t SliceSize() const;

  // Appends the scores of `poses` to `scores`.
  [[nodiscard]] absl::Status Score(absl::Span<const Pose> poses, v1::PoseScores& scores);

  void DescribeTo(v1::ScoreReady& ready) const;

 private:
  const WorkParts parts_;
  MapView map_;
  PreparedScan scan_;
  ScoreRequest request_;  // all but the poses
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_LOCALIZATION_SCORE_WORK_H_
