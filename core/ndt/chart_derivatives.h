// SPDX-License-Identifier: Apache-2.0
//
// From the derivatives of a score in the map's axes (point_terms.h) to those in the chart.
//
// To first order, a step dp of the angles rotates the scan by u = sum a_i dp_i about the chart's
// axes a_i. The second derivatives of R x are a_i x (a_j x R x) for i <= j. Their part symmetric in
// i and j is in the Hessian H of the map's axes; the rest is (a_i x a_j) x R x / 2. So
//
//   gradient  a_i'g
//   Hessian   a_i'H a_j + (a_i x a_j)'g / 2   for rotations i < j; a_i'H a_i on the diagonal
//
// with g the rotational part of the gradient.

#ifndef VOXLOC_CORE_NDT_CHART_DERIVATIVES_H_
#define VOXLOC_CORE_NDT_CHART_DERIVATIVES_H_

#include <cstdint>

#include "core/ndt/chart.h"
#include "core/ndt/host_device.h"
#include "core/ndt/newton.h"
#include "core/ndt/point_terms.h"
#include "core/ndt/symmetric3.h"

namespace voxloc::ndt {

struct CurvatureRules {
  bool second_order = true;           // as the sums have it
  bool exact_pitch_curvature = true;  // false: the reference's old sign
};

// The index of entry (i, j), i <= j, in the upper triangle of a symmetric 6x6 matrix, row by row.
VOXLOC_HD constexpr int UpperIndex(int i, int j) { return i * (11 - i) / 2 + j; }

// The UpperIndex of each entry, row by row and five bits each, of the 3x3 block of a symmetric 6x6
// matrix that begins at `row` and `column`, 0 or 3 each.
VOXLOC_HD constexpr uint64_t PackUpperBlock(int row, int column) {
  uint64_t packed = 0;
  for (int k = 0; k < 9; ++k) {
    const int r = row + k / 3;
    const int c = column + k % 3;
    packed |= static_cast<uint64_t>(r < c ? UpperIndex(r, c) : UpperIndex(c, r)) << 5 * k;
  }
  return packed;
}

VOXLOC_HD double Dot3(const double (&a)[3], const double* b) {
  return AddProduct(AddProduct(Product(a[0], b[0]), a[1], b[1]), a[2], b[2]);
}

VOXLOC_HD double ChartGradientEntry(const DerivativeSums<double>& sums,
                                    const ChartAxes<double>& axes, int i) {
  return Dot3(axes.axis[i], sums.gradient + (i < 3 ? 0 : 3));
}

// i <= j. Every entry takes the same operations, so that the threads of a warp, one entry each, do
// not diverge; adding products with the zeros of an axis does not change a sum.
VOXLOC_HD double ChartHessianEntry(const DerivativeSums<double>& sums,
                                   const ChartAxes<double>& axes, const CurvatureRules& rules,
                                   int i, int j) {
  const double(&h)[kHessianSize] = sums.hessian;
  const double(&g)[kGradientSize] = sums.gradient;
  const double(&a)[3] = axes.axis[i];
  const double(&b)[3] = axes.axis[j];
  constexpr uint64_t kTranslation = PackUpperBlock(0, 0);
  constexpr uint64_t kMixed = PackUpperBlock(0, 3);
  constexpr uint64_t kRotation = PackUpperBlock(3, 3);
  const uint64_t block = j < 3 ? kTranslation : i < 3 ? kMixed : kRotation;
  double hb[3];
  for (int k = 0; k < 3; ++k) {
    double row[3];
    for (int m = 0; m < 3; ++m) row[m] = h[block >> 5 * (3 * k + m) & 31U];
    hb[k] = Dot3(b, row);
  }
  double entry = Dot3(a, hb);
  if (!rules.second_order) return entry;
  const double cross[3] = {SubtractProduct(Product(a[1], b[2]), a[2], b[1]),
                           SubtractProduct(Product(a[2], b[0]), a[0], b[2]),
                           SubtractProduct(Product(a[0], b[1]), a[1], b[0])};
  entry = AddProduct(entry, i >= 3 && i < j ? 0.5 : 0.0, Dot3(cross, g + 3));
  // 2 sin(pitch): the x of yaw's axis is sin(pitch).
  const double old_entry = AddProduct(entry, 2.0 * axes.axis[5][0], sums.old_pitch);
  return i == 4 && j == 4 && !rules.exact_pitch_curvature ? old_entry : entry;
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
