// SPDX-License-Identifier: Apache-2.0
//
// Which estimates are computed for a result.

#ifndef VOXLOC_CORE_ESTIMATE_ESTIMATE_OPTIONS_H_
#define VOXLOC_CORE_ESTIMATE_ESTIMATE_OPTIONS_H_

#include <optional>

#include "core/estimate/covariance/covariance_options.h"
#include "core/estimate/integrity/scan_protection.h"

namespace voxloc {

struct EstimateOptions {
  CovarianceOptions covariance;
  bool confidence = true;
  // Rival poses are searched around accepted results with a confidence below this. 0 to 1; 0:
  // never.
  double rival_confidence = 0.0;
  std::optional<double> no_ground_z_margin_m;  // nullopt: no scores without the ground
  // With kCalibrated only. nullopt: no protection levels, which cost more than the covariance.
  std::optional<ScanProtectionOptions> protection;
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_ESTIMATE_OPTIONS_H_
