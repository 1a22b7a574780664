// SPDX-License-Identifier: Apache-2.0
//
// Which directions of motion a scan observes: the spectrum of its information matrix. Pure
// functions.
//
// Lengths and angles are made comparable by a length L, the radius at which a rotation moves the
// scan's points: rotations are counted as L times their angle.

#ifndef VOXLOC_CORE_ESTIMATE_COVARIANCE_DEGENERACY_H_
#define VOXLOC_CORE_ESTIMATE_COVARIANCE_DEGENERACY_H_

#include <Eigen/Core>
#include <array>

#include "core/geometry/covariance.h"

namespace voxloc {

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

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_COVARIANCE_DEGENERACY_H_
