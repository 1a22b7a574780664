// SPDX-License-Identifier: Apache-2.0
//
// Covariances that are true: full, marginal, and scaled by the scan's own residuals.

#ifndef VOXLOC_CORE_ESTIMATE_COVARIANCE_CALIBRATED_COVARIANCE_H_
#define VOXLOC_CORE_ESTIMATE_COVARIANCE_CALIBRATED_COVARIANCE_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/engine/engine.h"
#include "core/estimate/covariance/aligned_scan.h"
#include "core/geometry/covariance.h"

namespace voxloc {

struct CalibratedCovariance {
  absl::Status status;  // what the engine says; otherwise the rest means nothing
  // About fixed map axes, order x y z rx ry rz.
  Matrix6 covariance = Matrix6::Zero();   // symmetric, positive definite
  Matrix6 information = Matrix6::Zero();  // of the scan alone, before any widening; symmetric
  double rotation_scale_m = 1.0;          // see degeneracy.h
};

// One a scan, in their order. The profile of each job is the one that its result came from.
[[nodiscard]] std::vector<CalibratedCovariance> CalibrateCovariances(
    Engine& engine, absl::Span<const AlignedScan> scans);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_COVARIANCE_CALIBRATED_COVARIANCE_H_
