// SPDX-License-Identifier: Apache-2.0
//
// The signals of a scan at a pose, from what its alignment evaluated there. Pure functions.

#ifndef VOXLOC_CORE_ESTIMATE_QUALITY_QUALITY_SIGNALS_H_
#define VOXLOC_CORE_ESTIMATE_QUALITY_QUALITY_SIGNALS_H_

#include "absl/status/statusor.h"
#include "core/engine/align.h"
#include "core/estimate/quality/confidence.h"
#include "core/estimate/quality/scan_shape.h"

namespace voxloc {

// Scores of points at the pose.
struct QualityRequest {
  const AlignJob* job = nullptr;
  const AlignResult* result = nullptr;  // run with with_point_scores; its status is ok
  const ScanShape* shape = nullptr;     // of the job's scan
  // Of the scan's points, under the cells of the answer's stage.
  const std::vector<float>* answer_scores = nullptr;
  // Of the points of the free space, under the cells of the score stage.
  const std::vector<float>* free_space_scores = nullptr;
};

// All but innovation and pull, which are left as they are. FailedPrecondition: there are not
// as many scores as points.
[[nodiscard]] absl::StatusOr<QualitySignals> MeasureQuality(const QualityRequest& request);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_QUALITY_QUALITY_SIGNALS_H_
