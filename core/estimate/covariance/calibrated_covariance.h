// SPDX-License-Identifier: Apache-2.0
//
// Calibrated covariances: full, marginal, and scaled by the scan's own residuals. The arithmetic is
// SandwichCovariance in cluster_covariance.h.
//
// The optimum of a score is an M-estimator, so its covariance is the sandwich H^-1 G H^-1 (Huber
// 1967) of the exact Hessian H and the variance G of the gradient. G is not modelled: the scan is
// cut into clusters of neighbouring points, whose gradients are taken for independent of each
// other, while points of one cluster may share any errors (cluster-robust: Liang
// and Zeger 1986). G = sum_k G_k G_k' with G_k = (I - H_k H^-1)^-1/2 g_k corrects for the leverage
// of clusters that hold much of what is known about a direction, and what few clusters measure of a
// variance is widened as Student's t is, by the effective number of clusters (Bell and McCaffrey
// 2002, CR2; Kish 1965). To that is added
//
//   a share of the mean noise in all directions, for directions that few clusters do not measure;
//   the square of the remaining Newton step, if the search ended beside its optimum;
//   the offset of a cell's mean from a curved surface.
//
// The Hessian includes the cells that points gain and lose as they move (ndt::ReachBoundary): along
// a uniform wall, the lost cells cancel the apparent information of the others.
//
// Directions with eigenvalues below a share of the largest one form the null space, which the scan
// does not observe. There the error is that of the guess plus the travel of the search. Each such
// direction gets an extent: sqrt(s^2 + t^2), with s the standard deviation of the guess (or
// kUnobservedSigmaM) and t the travel. Gating: a direction with slightly more information is
// treated as unobserved if the search went far along it, since in a corridor the guess is more
// likely right than an apparent optimum metres away. How the observed directions follow an extent
// is measured at its two ends, one standard deviation away. The common part of both ends is the
// bias by curvature; it is added, as is the residual that has not converged.

#ifndef VOXLOC_CORE_ESTIMATE_COVARIANCE_CALIBRATED_COVARIANCE_H_
#define VOXLOC_CORE_ESTIMATE_COVARIANCE_CALIBRATED_COVARIANCE_H_

#include <Eigen/Core>
#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/engine/align.h"
#include "core/engine/engine.h"
#include "core/geometry/covariance.h"
#include "core/parallel/thread_pool.h"

namespace voxloc {

// Which directions of motion a scan observes: the spectrum of its information matrix. Lengths and
// angles are made comparable by a length L, the radius at which a rotation moves the scan's points:
// rotations are counted as L times their angle.
enum class AxisObservation { kObserved, kWeak, kUnobserved };

struct DegeneracyLimits {
  // Shares of the largest eigenvalue up to which a direction is weakly or not at all observed.
  double weak_ratio = 0.0;
  double unobserved_ratio = 0.0;
};

struct Degeneracy {
  Vector6 eigenvalues = Vector6::Zero();       // ascending
  Matrix6 eigenvectors = Matrix6::Identity();  // column i belongs to eigenvalue i; scaled axes
  double condition = 0.0;                      // largest over smallest; infinite when that is <= 0
  double rotation_scale_m = 1.0;               // L
  int unobserved_directions = 6;  // so many, the first, have eigenvalues up to unobserved_ratio
  // x y z rx ry rz, fixed map axes: kUnobserved where at least a tenth of the axis, as a share of
  // its square, lies in the directions of eigenvalues up to unobserved_ratio times the largest;
  // else kWeak by weak_ratio likewise. All are kUnobserved where the information is not finite or
  // no eigenvalue is positive. It is the span of those directions that counts, so the verdict does
  // not depend on how the solver chose vectors within it.
  std::array<AxisObservation, 6> axes{};

  [[nodiscard]] bool degenerate() const;  // any axis unobserved
};

// `information` about fixed map axes, order x y z rx ry rz, per metre and radian; symmetric, may be
// indefinite. `rotation_scale_m` is over 0.
[[nodiscard]] Degeneracy AnalyzeDegeneracy(const Matrix6& information, double rotation_scale_m,
                                           const DegeneracyLimits& limits);

// A scan that was aligned: `job` as it was given to the engine, and its result, whose status is ok.
struct AlignedScan {
  const AlignJob* job = nullptr;
  const AlignResult* result = nullptr;
};

// Place of the pass over ClusterPoints() of the scan in a job, where the job has passes.
constexpr size_t kClusterPass = 0;

// The assumed standard deviation of guesses without a covariance along an unobserved direction,
// metres; rotations are scaled as in Degeneracy.
constexpr double kUnobservedSigmaM = 2.0;

// The limits that tell the directions of CalibratedCovariance::information apart. On the scenes for
// choosing (tests/bench/scenes), the smallest share is at most 1.7e-3 in corridors, tunnels and
// fields but for one scan of 180, and at least 1.8e-3 on motorways, but for two scans of 30, where
// poses are right to centimetres; 2e-2 and more in towns, halls, garages and forests.
constexpr DegeneracyLimits kDegeneracyLimits = {/*weak_ratio=*/1e-2, /*unobserved_ratio=*/1.75e-3};

// Up to this share of the largest information a direction is gated: it counts as not observed
// where the search went far along it. In simulated corridors and tunnels poses are wrong up to
// 3.1e-3, by metres; right ones in towns of few houses begin at 5.6e-3.
constexpr double kGatedRatio = 3.5e-3;

struct CalibrationRequest {
  // The profile of the job is the one that the result came from.
  AlignedScan scan;
  // Off: the information alone, without the evaluations that null-space extents take.
  bool covariance = true;
};

// What a scan alone says about its pose, about fixed map axes, order x y z rx ry rz.
struct CalibratedCovariance {
  absl::Status status;                    // what the engine says; otherwise the rest means nothing
  Matrix6 information = Matrix6::Zero();  // -H, before any widening; symmetric
  double rotation_scale_m = 1.0;          // see Degeneracy
  Matrix6 covariance = Matrix6::Zero();   // symmetric, positive definite; zero where not wanted
};

// One a request, in their order. What a regularisation adds to the score is not counted: the
// covariance is of the scan alone. The scans share the threads of the pool; null: the caller's
// alone.
[[nodiscard]] std::vector<CalibratedCovariance> CalibrateCovariances(
    Engine& engine, absl::Span<const CalibrationRequest> requests, ThreadPool* pool = nullptr);

// The same bits without the engine, of a scan whose alignment brought its clusters' sums along.
// nullopt: it did not, or a covariance is wanted and a direction is not observed.
[[nodiscard]] std::optional<CalibratedCovariance> CalibrateFromPasses(
    const CalibrationRequest& request);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_COVARIANCE_CALIBRATED_COVARIANCE_H_
