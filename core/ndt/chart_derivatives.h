// SPDX-License-Identifier: Apache-2.0
//
// From the derivatives of a score in the map's axes (point_terms.h) to those in the chart.
//
// A step of the angles turns the scan by u = sum a_i dp_i, to first order, about the chart's axes
// a_i. The second derivatives of R x are a_i x (a_j x R x) for i <= j: what is symmetric in i and j
// of that is in the Hessian H of the map's axes, and the rest is half of (a_i x a_j) x R x. So
//
//   gradient  a_i'g
//   Hessian   a_i'H a_j + (a_i x a_j)'g / 2   for rotations i < j; a_i'H a_i on the diagonal
//
// with g the rotational part of the gradient.

#ifndef VOXLOC_CORE_NDT_CHART_DERIVATIVES_H_
#define VOXLOC_CORE_NDT_CHART_DERIVATIVES_H_

#include "core/ndt/chart.h"
#include "core/ndt/host_device.h"
#include "core/ndt/multiply_add.h"
#include "core/ndt/newton.h"
#include "core/ndt/point_terms.h"

namespace voxloc::ndt {

struct CurvatureRules {
  bool second_order = true;           // as the sums have it
  bool exact_pitch_curvature = true;  // false: the reference's old sign
};

// Where entry (i, j) of a symmetric 6x6 matrix, i <= j, stands in its upper triangle.
VOXLOC_HD constexpr int UpperIndex(int i, int j) { return i * (11 - i) / 2 + j; }

VOXLOC_HD double Dot3(const double (&a)[3], const double* b) {
  return AddProduct(AddProduct(Product(a[0], b[0]), a[1], b[1]), a[2], b[2]);
}

VOXLOC_HD double ChartGradientEntry(const DerivativeSums<double>& sums,
                                    const ChartAxes<double>& axes, int i) {
  if (i < 3) return sums.gradient[i];
  const double(&a)[3] = axes.axis[i - 3];
  return Dot3(a, sums.gradient + 3);
}

// i <= j.
VOXLOC_HD double ChartHessianEntry(const DerivativeSums<double>& sums,
                                   const ChartAxes<double>& axes, const CurvatureRules& rules,
                                   int i, int j) {
  const double(&h)[kHessianSize] = sums.hessian;
  if (j < 3) return h[UpperIndex(i, j)];
  const double(&b)[3] = axes.axis[j - 3];
  if (i < 3) {
    const double* row = h + UpperIndex(i, 3);
    return Dot3(b, row);
  }
  const double(&a)[3] = axes.axis[i - 3];
  const double rows[3][3] = {{h[15], h[16], h[17]}, {h[16], h[18], h[19]}, {h[17], h[19], h[20]}};
  const double hb[3] = {Dot3(b, rows[0]), Dot3(b, rows[1]), Dot3(b, rows[2])};
  double entry = Dot3(a, hb);
  if (!rules.second_order) return entry;
  if (i < j) {
    const double(&g)[kGradientSize] = sums.gradient;
    const double cross[3] = {SubtractProduct(Product(a[1], b[2]), a[2], b[1]),
                             SubtractProduct(Product(a[2], b[0]), a[0], b[2]),
                             SubtractProduct(Product(a[0], b[1]), a[1], b[0])};
    entry = AddProduct(entry, 0.5, Dot3(cross, g + 3));
  } else if (i == 4 && !rules.exact_pitch_curvature) {
    // Twice sin(pitch), which is the x of yaw's axis.
    entry = AddProduct(entry, 2.0 * axes.axis[2][0], sums.old_pitch);
  }
  return entry;
}

VOXLOC_HD void ToChart(const DerivativeSums<double>& sums, const ChartAxes<double>& axes,
                       const CurvatureRules& rules, Derivatives& derivatives) {
  for (int i = 0; i < 6; ++i) {
    derivatives.gradient[i] = ChartGradientEntry(sums, axes, i);
    for (int j = i; j < 6; ++j) {
      const double entry = ChartHessianEntry(sums, axes, rules, i, j);
      derivatives.hessian.m[i][j] = entry;
      derivatives.hessian.m[j][i] = entry;
    }
  }
}

}  // namespace voxloc::ndt

#endif  // VOXLOC_CORE_NDT_CHART_DERIVATIVES_H_
