// SPDX-License-Identifier: Apache-2.0
//
// Solution separation: how far the solution of a scan moves when one cluster of its points is left
// out, and how much of that is noise. The statistics behind a receiver's autonomous integrity
// monitoring in aviation: J. Blanch et al., Baseline Advanced RAIM User Algorithm and Possible
// Improvements, IEEE Transactions on Aerospace and Electronic Systems 51(1), 2015; M. Joerger,
// F.-C. Chan, B. Pervan, Solution Separation Versus Residual-Based RAIM, Navigation 61(4), 2014.
//
// All is linear about the final pose. With the gradients g_k and informations H_k of the clusters,
// g and H their sums, the scan's solution is the step H^-1 g away from the final pose, and the one
// without cluster k is (H - H_k)^-1 (g - g_k) away. The noise of a cluster's gradient is taken to
// be in proportion to the cluster's information (they are equal, but for a factor, where the score
// is a likelihood), but for a share that is the same for all, and such that the noise of all
// clusters makes the scan's covariance.
//
// Pure functions, in the axes of ScoreTerms: the first three are x, y and z of the map, metres.

#ifndef VOXLOC_CORE_ESTIMATE_INTEGRITY_SOLUTION_SEPARATION_H_
#define VOXLOC_CORE_ESTIMATE_INTEGRITY_SOLUTION_SEPARATION_H_

#include <Eigen/Core>
#include <array>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "core/estimate/covariance/cluster_covariance.h"

namespace voxloc {

// What was known of the pose before the scan was aligned.
struct PosePrior {
  Vector6 offset = Vector6::Zero();  // from the final pose to the prior one
  Matrix6 covariance = Matrix6::Identity();
};

struct SeparationOptions {
  // Share of the scan's largest information up to which a direction is not observed; in [0, 1). The
  // default removes roundings alone: callers that know better what a scan observes give their own.
  double unobserved_ratio = 1e-6;
  // If less than this share of a direction's information remains without a cluster, the direction
  // counts as unobserved without it: at 0.01 the solution is ten times as uncertain as the scan's
  // own, and too far away for the linear model. In (0, 1).
  double min_remaining = 0.01;
  // Share of the noise that is the same for all clusters, whatever their information; in [0, 1].
  double even_noise_share = 0.0;
  // By how much the normal distribution that bounds a separation is wider than its own standard
  // deviation; at least 1.
  double tail_factor = 1.0;
};

// A solution of the scan, or of all but one of its clusters, along one axis.
struct AxisSolution {
  double step_m = 0.0;   // from the final pose to the solution
  double sigma_m = 0.0;  // of the solution's noise, and of the prior's where it is from the prior
  // Whether the points determine it. Otherwise the prior does where there is one: sigma_m is then
  // infinite only without a prior.
  bool observed = true;
  // Of a solution without a cluster: to the scan's own, and its standard deviation if there is no
  // fault. 0 where not observed.
  double separation_m = 0.0;
  double separation_sigma_m = 0.0;  // of the normal distribution that bounds it
};

using Axes = Eigen::Matrix<double, 3, 3>;  // column i: axis i, of unit length

struct Separations {
  std::array<AxisSolution, 3> all;                   // with every cluster, by axis
  std::vector<std::array<AxisSolution, 3>> without;  // by cluster, by axis
  // By cluster: the step from the final pose to the solution without it, and the covariance of that
  // solution; 0 along what is not observed.
  std::vector<Vector6> steps_without;
  std::vector<Matrix6> covariances_without;
};

// `clusters` and matrices are finite. Axes of the position along which the solutions are compared.
[[nodiscard]] Separations SeparateSolutions(absl::Span<const ScoreTerms> clusters,
                                            const Matrix6& scan_covariance,
                                            const std::optional<PosePrior>& prior, const Axes& axes,
                                            const SeparationOptions& options);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_INTEGRITY_SOLUTION_SEPARATION_H_
