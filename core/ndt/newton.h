// SPDX-License-Identifier: Apache-2.0
//
// One Newton iteration between two evaluations: direction, slope, step length, and when to stop.
//
// The score is maximised; phi(a) = -score(p + a d) is what falls along the unit direction d.

#ifndef VOXLOC_CORE_NDT_NEWTON_H_
#define VOXLOC_CORE_NDT_NEWTON_H_

#include <cmath>

#include "core/ndt/host_device.h"

namespace voxloc::ndt {

// The Newton step: H d = -g for a symmetric 6x6 H that may be indefinite or singular.
//
// The reference solves it by the pseudo-inverse of a singular value decomposition: directions whose
// singular value is below 6 eps of the largest are left alone. A well-conditioned H has no such
// direction and is factored as L D L'; any other is diagonalised by Jacobi rotations, whose
// eigenvalues are the singular values up to their signs.
//
// With ObservedDirections the step is restricted to these; H is then always diagonalised.
struct Matrix6x6 {
  double m[6][6];
};

// Directions that a step may take: eigenvectors of H with a large eigenvalue of either sign.
struct ObservedDirections {
  // Directions whose eigenvalue exceeds this fraction of the largest. Along each of them the step
  // climbs, even where the plain Newton step would descend to a minimum. 0: all that are not
  // singular.
  double ratio = 0.0;
  // With a ratio, a radian counts as this many metres; over 0.
  double rotation_scale_m = 1.0;
};

// Pivots of L D L' (without pivoting) must exceed this fraction of their original diagonal entry
// and of the entries below them, or the factorisation has lost too many digits.
constexpr double kMinRelativePivot = 1e-6;

// 1 / x for a pivot: on the device without the branches of a division.
VOXLOC_HD double Reciprocal(double x) {
#if defined(__CUDA_ARCH__)
  double inverse;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(inverse) : "d"(x));  // 20 bits
  const double error = fma(-x, inverse, 1.0);
  return fma(inverse, fma(error, error, error), inverse);  // its third power is less than a bit
#else
  return 1.0 / x;
#endif
}

// Of a vector with this squared length, over 0; on the device likewise.
struct VectorLength {
  double length;
  double inverse;
};
VOXLOC_HD VectorLength LengthOf(double squared) {
#if defined(__CUDA_ARCH__)
  double inverse;
  asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(inverse) : "d"(squared));  // 20 bits
  // With x y^2 = 1 - e, y / sqrt(1 - e) is y (1 + e / 2 + 3 e^2 / 8 + ...).
  const double error = fma(-squared * inverse, inverse, 1.0);
  inverse = fma(inverse * error, fma(0.375, error, 0.5), inverse);
  return {squared * inverse, inverse};
#else
  const double length = std::sqrt(squared);
  return {length, 1.0 / length};
#endif
}

// Solves H d = -g by L D L'. False if a pivot is too small or, for a matrix that must be positive
// definite, not over 0; d is then undefined. Right-looking: each pivot's column is subtracted from
// the whole remainder at once, to keep dependency chains short.
enum class Definite { kAny, kPositive };
template <Definite kDefinite = Definite::kAny>
VOXLOC_HD bool SolveByFactorization(const Matrix6x6& hessian, const double (&gradient)[6],
                                    double (&step)[6]) {
  double a[6][6];  // its lower triangle: what is left of H, and below finished pivots L
  double y[6];
  for (int i = 0; i < 6; ++i) {
    y[i] = -gradient[i];
    for (int j = 0; j <= i; ++j) a[i][j] = hessian.m[i][j];
  }
  double inverse[6];
  bool accurate = true;
  for (int j = 0; j < 6; ++j) {
    const double pivot = a[j][j];
    const double size = std::abs(pivot);
    accurate = accurate && (kDefinite == Definite::kPositive
                                ? pivot > 0.0
                                : size > kMinRelativePivot * std::abs(hessian.m[j][j]));
    inverse[j] = Reciprocal(pivot);
    double column[6];
    for (int i = j + 1; i < 6; ++i) {
      column[i] = a[i][j];
      accurate = accurate && (kDefinite == Definite::kPositive ||
                              std::abs(column[i]) * kMinRelativePivot < size);
      a[i][j] *= inverse[j];
      for (int k = j + 1; k <= i; ++k) a[i][k] -= a[i][j] * column[k];
      y[i] -= a[i][j] * y[j];
    }
  }
  if (!accurate) return false;
  for (int i = 5; i >= 0; --i) {
    double value = y[i] * inverse[i];
    for (int k = i + 1; k < 6; ++k) value -= a[k][i] * step[k];
    step[i] = value;
  }
  return true;
}

// The least-norm solution of H d = -g by the eigen decomposition.
VOXLOC_HD_RARE void SolveByEigenvalues(const Matrix6x6& hessian, const double (&gradient)[6],
                                       double (&step)[6], const ObservedDirections& observed = {}) {
  const bool selective = observed.ratio > 0.0;
  // Angles are multiplied by the rotation scale, so derivatives by its inverse.
  const double inverse_scale = selective ? 1.0 / observed.rotation_scale_m : 1.0;
  double a[6][6];
  double v[6][6];
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 6; ++j) {
      a[i][j] = hessian.m[i][j] * (i < 3 ? 1.0 : inverse_scale) * (j < 3 ? 1.0 : inverse_scale);
      v[i][j] = i == j ? 1.0 : 0.0;
    }
  }
  constexpr int kMaxSweeps = 30;
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    bool rotated = false;
    for (int p = 0; p < 5; ++p) {
      for (int q = p + 1; q < 6; ++q) {
        const double apq = a[p][q];
        const double small = 1e-18 * std::sqrt(std::abs(a[p][p] * a[q][q]));
        if (!(std::abs(apq) > small) || apq == 0.0) continue;
        rotated = true;
        const double theta = (a[q][q] - a[p][p]) / (2.0 * apq);
        const double t =
            (theta >= 0.0 ? 1.0 : -1.0) / (std::abs(theta) + std::sqrt(theta * theta + 1.0));
        const double c = 1.0 / std::sqrt(t * t + 1.0);
        const double s = t * c;
        a[p][p] -= t * apq;
        a[q][q] += t * apq;
        a[p][q] = a[q][p] = 0.0;
        for (int r = 0; r < 6; ++r) {
          if (r != p && r != q) {
            const double arp = a[r][p];
            const double arq = a[r][q];
            a[r][p] = a[p][r] = c * arp - s * arq;
            a[r][q] = a[q][r] = s * arp + c * arq;
          }
          const double vrp = v[r][p];
          const double vrq = v[r][q];
          v[r][p] = c * vrp - s * vrq;
          v[r][q] = s * vrp + c * vrq;
        }
      }
    }
    if (!rotated) break;
  }
  double largest = 0.0;
  for (int i = 0; i < 6; ++i) largest = std::fmax(largest, std::abs(a[i][i]));
  const double threshold = std::fmax(observed.ratio, 6.0 * 2.220446049250313e-16) * largest;
  for (int i = 0; i < 6; ++i) step[i] = 0.0;
  for (int k = 0; k < 6; ++k) {
    const double size = std::abs(a[k][k]);
    if (!(size > threshold)) continue;
    double projection = 0.0;
    for (int i = 0; i < 6; ++i) {
      projection += v[i][k] * (i < 3 ? gradient[i] : inverse_scale * gradient[i]);
    }
    const double factor = -projection / (selective ? -size : a[k][k]);
    for (int i = 0; i < 6; ++i) step[i] += factor * v[i][k];
  }
  for (int i = 3; i < 6; ++i) step[i] *= inverse_scale;
}

VOXLOC_HD void SolveNewtonStep(const Matrix6x6& hessian, const double (&gradient)[6],
                               double (&step)[6], const ObservedDirections& observed = {}) {
  if (observed.ratio > 0.0 || !SolveByFactorization(hessian, gradient, step)) {
    double least_norm[6];  // an array whose address is taken lies in memory, on the device
    SolveByEigenvalues(hessian, gradient, least_norm, observed);
    for (int i = 0; i < 6; ++i) step[i] = least_norm[i];
  }
}

// Score and its derivatives in the chart at one pose. The score is maximised.
struct Derivatives {
  double score = 0.0;
  double gradient[6] = {};
  Matrix6x6 hessian = {};
};

struct NewtonDirection {
  double unit[6] = {};    // along which phi falls
  double norm = 0.0;      // length of the full Newton step, metres and radians mixed
  double slope = 0.0;     // phi'(0) along `unit`, never positive
  bool reversed = false;  // the Newton step pointed uphill in phi and was negated
};

VOXLOC_HD bool IsFinite(const Derivatives& d) {
  double sum = d.score;
  for (int i = 0; i < 6; ++i) {
    sum += d.gradient[i];
    for (int j = 0; j < 6; ++j) sum += d.hessian.m[i][j];
  }
  return std::isfinite(sum);
}

VOXLOC_HD NewtonDirection ComputeNewtonDirection(const Derivatives& at_pose,
                                                 const ObservedDirections& observed = {}) {
  NewtonDirection direction;
  double step[6];
  SolveNewtonStep(at_pose.hessian, at_pose.gradient, step, observed);
  double squared = 0.0;
  for (int i = 0; i < 6; ++i) squared += step[i] * step[i];
  if (!(squared > 0.0)) return direction;
  const auto [length, inverse] = LengthOf(squared);
  direction.norm = length;
  for (int i = 0; i < 6; ++i) {
    direction.unit[i] = step[i] * inverse;
    direction.slope -= at_pose.gradient[i] * direction.unit[i];
  }
  if (direction.slope > 0.0) {
    direction.reversed = true;
    direction.slope = -direction.slope;
    for (int i = 0; i < 6; ++i) direction.unit[i] = -direction.unit[i];
  }
  return direction;
}

// min(norm, max_step), raised to min_step. A positive min_step is the reference's floor of half its
// epsilon: short steps near the optimum are stretched to it.
VOXLOC_HD double ClampStepLength(double norm, double min_step, double max_step) {
  return std::fmax(std::fmin(norm, max_step), min_step);
}

}  // namespace voxloc::ndt

#endif  // VOXLOC_CORE_NDT_NEWTON_H_
