// SPDX-License-Identifier: Apache-2.0
//
// From the points of a cell to its Gaussian.
//
// CellMoments are what a map keeps of its points: count, sum and sum of outer products relative to
// the cell's centre, in double. Moments of the same cell add exactly, so a cell does not depend on
// how its points were cut into tiles. A CellGaussian is what a scan is matched against;
// GaussianOptions are the choices on the way from one to the other.

#ifndef VOXLOC_CORE_NDT_CELL_GAUSSIAN_H_
#define VOXLOC_CORE_NDT_CELL_GAUSSIAN_H_

#include <cmath>
#include <cstdint>

#include "core/ndt/host_device.h"
#include "core/ndt/symmetric3.h"

namespace voxloc::ndt {

struct CellMoments {
  uint64_t count = 0;
  Vector3<double> sum;       // of (p - centre), m
  Symmetric3<double> outer;  // of (p - centre)(p - centre)', m^2
};

VOXLOC_HD void AddPoint(const Vector3<double>& point_from_centre, CellMoments& moments) {
  const Vector3<double>& p = point_from_centre;
  ++moments.count;
  moments.sum.x += p.x;
  moments.sum.y += p.y;
  moments.sum.z += p.z;
  moments.outer = AddOuter(moments.outer, 1.0, p);
}

VOXLOC_HD void AddMoments(const CellMoments& more, CellMoments& moments) {
  moments.count += more.count;
  moments.sum.x += more.sum.x;
  moments.sum.y += more.sum.y;
  moments.sum.z += more.sum.z;
  moments.outer.xx += more.outer.xx;
  moments.outer.xy += more.outer.xy;
  moments.outer.xz += more.outer.xz;
  moments.outer.yy += more.outer.yy;
  moments.outer.yz += more.outer.yz;
  moments.outer.zz += more.outer.zz;
}

// The moments of the same points about another centre; `old_centre` is the old centre minus the
// new.
VOXLOC_HD CellMoments RecenterMoments(const CellMoments& moments,
                                      const Vector3<double>& old_centre) {
  const Vector3<double>& d = old_centre;
  const Vector3<double>& s = moments.sum;
  const auto n = static_cast<double>(moments.count);
  CellMoments moved = moments;
  moved.sum = {s.x + n * d.x, s.y + n * d.y, s.z + n * d.z};
  // sum of (q + d)(q + d)' = sum of q q' + s d' + d s' + n d d'
  moved.outer.xx += 2.0 * s.x * d.x;
  moved.outer.xy += s.x * d.y + d.x * s.y;
  moved.outer.xz += s.x * d.z + d.x * s.z;
  moved.outer.yy += 2.0 * s.y * d.y;
  moved.outer.yz += s.y * d.z + d.y * s.z;
  moved.outer.zz += 2.0 * s.z * d.z;
  moved.outer = AddOuter(moved.outer, n, d);
  return moved;
}

struct GaussianOptions {
  // Cells of fewer points have no Gaussian. At least 3: fewer points determine no covariance.
  uint32_t min_points = 6;
  // Adds I / (n - 1) m^2 to the covariance, as an accumulator that starts at the identity does.
  // Softens cells of few points (sigma 0.45 m at 6 points, 0.1 m at 100).
  bool identity_seed = false;
  // Eigenvalues below this fraction of the largest are raised to it.
  double eigenvalue_ratio = 0.01;
};

// Trace of the covariance, (0.1 mm)^2. Cells below it count as one point: their covariance is
// rounding error.
constexpr double kMinTotalVariance = 1e-8;  // m^2
// Larger values, in cells that a tiny eigenvalue ratio leaves flat, would overflow when squared in
// float32.
constexpr double kMaxInformation = 1e15;  // 1/m^2

struct CellGaussian {
  Vector3<double> mean_from_centre;  // m
  Symmetric3<double> covariance;     // m^2, regularised
  Symmetric3<double> information;    // its inverse, 1/m^2
};

// False when the cell has too few points, when they coincide, or when the covariance has no finite
// inverse: such a cell is not matched.
VOXLOC_HD bool ComputeGaussian(const CellMoments& moments, const GaussianOptions& options,
                               CellGaussian& gaussian) {
  if (moments.count < options.min_points || moments.count < 2) return false;
  const double n = static_cast<double>(moments.count);
  const Vector3<double> mean = {moments.sum.x / n, moments.sum.y / n, moments.sum.z / n};
  Symmetric3<double> scatter = AddOuter(moments.outer, -n, mean);
  const double seed = options.identity_seed ? 1.0 : 0.0;
  const double scale = 1.0 / (n - 1.0);
  Symmetric3<double> covariance = {(scatter.xx + seed) * scale, scatter.xy * scale,
                                   scatter.xz * scale,          (scatter.yy + seed) * scale,
                                   scatter.yz * scale,          (scatter.zz + seed) * scale};
  // The trace bounds the largest eigenvalue: this test spares most cells, which need no
  // regularisation, the eigen decomposition.
  const double trace = covariance.xx + covariance.yy + covariance.zz;
  if (!(trace > kMinTotalVariance)) return false;
  if (!EigenvaluesExceed(covariance, options.eigenvalue_ratio * trace)) {
    Eigen3<double> eigen = EigenDecompose(covariance);
    const double floor = options.eigenvalue_ratio * eigen.value[2];
    for (int i = 0; i < 2; ++i) {
      if (eigen.value[i] < floor) {
        covariance = AddOuter(covariance, floor - eigen.value[i], eigen.vector[i]);
      }
    }
  }
  const Symmetric3<double> information = Inverse(covariance);
  const double magnitude = std::abs(information.xx) + std::abs(information.xy) +
                           std::abs(information.xz) + std::abs(information.yy) +
                           std::abs(information.yz) + std::abs(information.zz);
  // Also false for NaN: a ratio of zero leaves flat cells singular.
  if (!(magnitude < kMaxInformation) || !(information.xx > 0.0)) return false;
  gaussian.mean_from_centre = mean;
  gaussian.covariance = covariance;
  gaussian.information = information;
  return true;
}

}  // namespace voxloc::ndt

#endif  // VOXLOC_CORE_NDT_CELL_GAUSSIAN_H_
