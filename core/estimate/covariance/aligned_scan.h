// SPDX-License-Identifier: Apache-2.0
//
// A scan that was aligned: `job` as it was given to the engine, and its result, whose status is ok.

#ifndef VOXLOC_CORE_ESTIMATE_COVARIANCE_ALIGNED_SCAN_H_
#define VOXLOC_CORE_ESTIMATE_COVARIANCE_ALIGNED_SCAN_H_

#include <cstddef>

#include "core/engine/align.h"

namespace voxloc {

struct AlignedScan {
  const AlignJob* job = nullptr;
  const AlignResult* result = nullptr;
};

// Place of the pass over ClusterPoints() of the scan in a job, where the job has passes.
constexpr size_t kClusterPass = 0;

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_COVARIANCE_ALIGNED_SCAN_H_
