// SPDX-License-Identifier: Apache-2.0
//
// The covariances of a batch of results, by the method of each request. Engine work of the same
// kind is one call: all offset poses of all scans are aligned as one batch. Thread-safe: no shared
// state.

#ifndef VOXLOC_CORE_ESTIMATE_COVARIANCE_COVARIANCE_ESTIMATOR_H_
#define VOXLOC_CORE_ESTIMATE_COVARIANCE_COVARIANCE_ESTIMATOR_H_

#include <Eigen/Core>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/engine/engine.h"
#include "core/estimate/covariance/calibrated_covariance.h"
#include "core/estimate/covariance/covariance_options.h"

namespace voxloc {

// What a calibrated covariance is the sum of: variances along and about the base's axes, order x y
// z rx ry rz, square metres and square radians.
struct VarianceShares {
  using Vector6 = voxloc::Vector6;
  Vector6 scan = Vector6::Zero();              // what the scan's own residuals show
  Vector6 map_and_mounting = Vector6::Zero();  // the parts of SystematicParts
  Vector6 time = Vector6::Zero();
  Vector6 sweep = Vector6::Zero();
};

struct CovarianceReport {
  // Not ok: the method failed, and the rest is that of the fixed method. The engine's status;
  // Cancelled or DeadlineExceeded: an alignment from an offset pose was interrupted;
  // FailedPrecondition: the Hessian's x, y block is singular.
  absl::Status status;
  CovarianceMethod method = CovarianceMethod::kFixed;
  // About fixed map axes, order x y z rx ry rz. Symmetric; positive definite for kCalibrated, and
  // for kFixed where its matrix does not couple position and rotation. The other methods give what
  // the reference gives, which need not be.
  Matrix6 covariance = Matrix6::Zero();
  std::optional<VarianceShares> shares;  // of kCalibrated
  std::vector<Pose> offset_map_T_base;   // MULTI_NDT and MULTI_NDT_SCORE
  std::vector<Pose> aligned_map_T_base;  // MULTI_NDT: where alignments from them ended
  std::vector<double> nvtl;  // MULTI_NDT: at their ends; MULTI_NDT_SCORE: at the offsets
};

struct CovarianceRequest {
  AlignedScan scan;
  const CovarianceOptions* options = nullptr;  // valid
  std::optional<Twist> base_twist;             // when the scan was taken; nullopt: not known
  // Of the scan, for kCalibrated; null: it is calibrated here.
  const CalibratedCovariance* calibrated = nullptr;
};

// One report a request, in their order.
[[nodiscard]] std::vector<CovarianceReport> EstimateCovariances(
    Engine& engine, absl::Span<const CovarianceRequest> requests);

// The same report without the engine; nullopt: the method needs it.
[[nodiscard]] std::optional<CovarianceReport> EstimateWithoutEngine(
    const CovarianceRequest& request);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_COVARIANCE_COVARIANCE_ESTIMATOR_H_
