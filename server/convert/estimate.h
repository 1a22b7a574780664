// SPDX-License-Identifier: Apache-2.0
//
// Estimates on the wire: covariance, degeneracy, confidence, scores without the ground, the check
// of sweeps. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_CONVERT_ESTIMATE_H_
#define VOXLOC_SERVER_CONVERT_ESTIMATE_H_

#include "core/estimate/scan_estimate.h"
#include "core/geometry/pose.h"
#include "core/tracking/sweep_check.h"
#include "server/convert/scan_recipe.h"
#include "voxloc/v1/alignment.pb.h"

namespace voxloc::server {

void ConfidenceToProto(const Confidence& confidence, v1::Confidence& proto);

// `estimate` is of a result that ended at `map_T_base`, and for which `asked` was the method.
void EstimateToProto(const ScanEstimate& estimate, const Pose& map_T_base, CovarianceMethod asked,
                     const OutputChoice& output, v1::AlignmentResult& proto);

void SweepReportToProto(const SweepReport& report, v1::SweepCheck& proto);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONVERT_ESTIMATE_H_
