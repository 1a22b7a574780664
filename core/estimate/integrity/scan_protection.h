// SPDX-License-Identifier: Apache-2.0
//
// Protection levels of an aligned scan, from the clusters that its covariance was made of. Pure
// functions.

#ifndef VOXLOC_CORE_ESTIMATE_INTEGRITY_SCAN_PROTECTION_H_
#define VOXLOC_CORE_ESTIMATE_INTEGRITY_SCAN_PROTECTION_H_

#include <Eigen/Core>
#include <cstddef>
#include <limits>

#include "absl/status/statusor.h"
#include "core/engine/evaluation_pass.h"
#include "core/estimate/covariance/calibrated_covariance.h"
#include "core/geometry/covariance.h"
#include "core/geometry/pose.h"

namespace voxloc {

struct ScanProtectionOptions {
  double risk = 1e-3;         // that a level is exceeded; in (0, 1)
  double false_alarm = 1e-3;  // that a cluster without a fault is left out; in (0, 1)
  // That one of the clusters is wrong, whichever; in [0, 1]. 1: in every scan.
  double fault_probability = 1.0;
};

// InvalidArgument names the field, its value and its range.
[[nodiscard]] absl::Status ValidateScanProtectionOptions(const ScanProtectionOptions& options);

struct ScanProtection {
  // Bounds of the error of the position, metres; infinity: there is none at this risk.
  double horizontal_m = std::numeric_limits<double>::infinity();
  double vertical_m = std::numeric_limits<double>::infinity();
  bool fault_detected = false;
  // What the levels are about: the result, or where it is without the cluster that was left out.
  Pose map_T_base;
  size_t excluded_points = 0;
  Eigen::Vector3d excluded_center_map = Eigen::Vector3d::Zero();  // of these points
};

// `calibrated` is of the scan, whose result has the pass over its clusters. `scan_covariance` is of
// its noise and `systematic_covariance` of what all clusters share, both about fixed map axes.
// Along what the scan does not observe there is a level only where its job has a covariance of the
// guess. FailedPrecondition: the pass is missing, or the covariance has failed. InvalidArgument:
// the options.
[[nodiscard]] absl::StatusOr<ScanProtection> ProtectScan(const AlignedScan& scan,
                                                         const CalibratedCovariance& calibrated,
                                                         const Matrix6& scan_covariance,
                                                         const Matrix6& systematic_covariance,
                                                         const ScanProtectionOptions& options);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_INTEGRITY_SCAN_PROTECTION_H_
