// SPDX-License-Identifier: Apache-2.0
//
// Measures the signals of a scan at a pose. Thread-safe: no shared state.

#ifndef VOXLOC_CORE_ESTIMATE_QUALITY_QUALITY_SIGNALS_H_
#define VOXLOC_CORE_ESTIMATE_QUALITY_QUALITY_SIGNALS_H_

#include <Eigen/Core>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/engine/engine.h"
#include "core/estimate/quality/confidence.h"

namespace voxloc {

struct QualityRequest {
  const AlignJob* job = nullptr;                                   // run with want_point_scores
  const AlignResult* result = nullptr;                             // its status is ok
  Eigen::Vector3d sensor_position_base = Eigen::Vector3d::Zero();  // where the rays leave from
};

// All but innovation and condition, which are left as they are. FailedPrecondition: the result has
// no point scores. What the engine says.
[[nodiscard]] absl::StatusOr<QualitySignals> MeasureQuality(Engine& engine,
                                                            const QualityRequest& request);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_QUALITY_QUALITY_SIGNALS_H_
