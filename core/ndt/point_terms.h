// SPDX-License-Identifier: Apache-2.0
//
// What one scan point adds to the score, its gradient and its Hessian.
//
// For a pair of a point and a cell, with q = R x + t - mean, B the cell's information matrix,
// e = exp(-d2/2 q'Bq) and w = d1 d2 e (negative):
//
//   score    -d1 e
//   gradient  w q'B J_i                                                  (Magnusson 2009, 6.12)
//   Hessian   w (-d2 (q'B J_i)(q'B J_j) + q'B K_ij + J_i'B J_j)          (Magnusson 2009, 6.13)
//
// J and K depend on the point alone, so its pairs are summed first, s = sum w B q and
// M = sum w (B - d2 Bq (Bq)'), and the point adds gradient J's and Hessian J'MJ + s'K. That is the
// same sum with several times less arithmetic.
//
// T is the number of the hot loop (float, double, lanes of floats), S its plain scalar. Exp(T) is
// found by argument-dependent lookup or below.

#ifndef VOXLOC_CORE_NDT_POINT_TERMS_H_
#define VOXLOC_CORE_NDT_POINT_TERMS_H_

#include <cmath>

#include "core/ndt/chart.h"
#include "core/ndt/host_device.h"
#include "core/ndt/symmetric3.h"

namespace voxloc::ndt {

VOXLOC_HD double Exp(double x) { return std::exp(x); }
#if defined(__CUDA_ARCH__)
// The device's own instruction: 2 units in the last place, and of the exponent's magnitude.
VOXLOC_HD float Exp(float x) { return __expf(x); }
#else
VOXLOC_HD float Exp(float x) { return std::exp(x); }
#endif

// The sums over the pairs of one point.
template <typename T>
struct PairSums {
  T exponentials{};  // sum of e; times -d1 it is the score
  Vector3<T> s;
  Symmetric3<T> m;
};

// e = exp(-d2/2 q'Bq) of one pair, and B q.
template <typename T>
struct PairTerms {
  T e;
  Vector3<T> bq;
};

template <typename T, typename S>
VOXLOC_HD PairTerms<T> ComputePairTerms(const Vector3<T>& q, const Symmetric3<T>& information,
                                        S d2) {
  PairTerms<T> pair;
  pair.bq = Multiply(information, q);
  pair.e = Exp(Dot(q, pair.bq) * (S(-0.5) * d2));
  return pair;
}

// Adds one pair, with w = e: the constant factor d1 d2 is applied to the sums of the whole scan.
// `e` may be zeroed beforehand where a lane holds no pair. `curvature` is d2 for the exact Hessian.
// 0 leaves out the term in (Bq)(Bq)', which only ever weakens the curvature: M is then w B, the
// matrix of reweighted least squares.
template <typename T, typename S>
VOXLOC_HD void AddPair(const PairTerms<T>& pair, const Symmetric3<T>& information, S curvature,
                       PairSums<T>& sums) {
  const T& e = pair.e;
  sums.exponentials = sums.exponentials + e;
  sums.s.x = sums.s.x + e * pair.bq.x;
  sums.s.y = sums.s.y + e * pair.bq.y;
  sums.s.z = sums.s.z + e * pair.bq.z;
  const Vector3<T> cbq = {pair.bq.x * curvature, pair.bq.y * curvature, pair.bq.z * curvature};
  sums.m.xx = sums.m.xx + e * (information.xx - cbq.x * pair.bq.x);
  sums.m.xy = sums.m.xy + e * (information.xy - cbq.x * pair.bq.y);
  sums.m.xz = sums.m.xz + e * (information.xz - cbq.x * pair.bq.z);
  sums.m.yy = sums.m.yy + e * (information.yy - cbq.y * pair.bq.y);
  sums.m.yz = sums.m.yz + e * (information.yz - cbq.y * pair.bq.z);
  sums.m.zz = sums.m.zz + e * (information.zz - cbq.z * pair.bq.z);
}

// Sums over points. The Hessian's upper triangle is stored row by row: (0,0) (0,1) ... (5,5).
constexpr int kGradientSize = 6;
constexpr int kHessianSize = 21;

template <typename T>
struct DerivativeSums {
  T gradient[kGradientSize]{};
  T hessian[kHessianSize]{};
};

template <typename T, typename S>
VOXLOC_HD T DotRow(const S (&row)[3], const Vector3<T>& x) {
  return x.x * row[0] + x.y * row[1] + x.z * row[2];
}
// For rows whose last entry is zero by construction.
template <typename T, typename S>
VOXLOC_HD T DotRowXY(const S (&row)[3], const Vector3<T>& x) {
  return x.x * row[0] + x.y * row[1];
}

// Adds what the pair sums of the scan point x (in the scan's frame) contribute. Without second
// order, the second derivatives of R x are taken for zero.
template <bool kSecondOrder = true, typename T, typename S>
VOXLOC_HD void AddPoint(const Vector3<T>& x, const PairSums<T>& pairs,
                        const ChartDerivatives<S>& chart, DerivativeSums<T>& sums) {
  const Vector3<T>& s = pairs.s;
  const Symmetric3<T>& m = pairs.m;
  // Columns of J for roll, pitch, yaw; roll has no x component.
  const T jr_y = DotRow(chart.first[0], x);
  const T jr_z = DotRow(chart.first[1], x);
  const Vector3<T> jp = {DotRow(chart.first[2], x), DotRow(chart.first[3], x),
                         DotRow(chart.first[4], x)};
  const Vector3<T> jy = {DotRowXY(chart.first[5], x), DotRowXY(chart.first[6], x),
                         DotRowXY(chart.first[7], x)};

  T* g = sums.gradient;
  g[0] = g[0] + s.x;
  g[1] = g[1] + s.y;
  g[2] = g[2] + s.z;
  g[3] = g[3] + (s.y * jr_y + s.z * jr_z);
  g[4] = g[4] + Dot(s, jp);
  g[5] = g[5] + Dot(s, jy);

  const Vector3<T> mr = {m.xy * jr_y + m.xz * jr_z, m.yy * jr_y + m.yz * jr_z,
                         m.yz * jr_y + m.zz * jr_z};
  const Vector3<T> mp = Multiply(m, jp);
  const Vector3<T> my = Multiply(m, jy);

  T* h = sums.hessian;
  h[0] = h[0] + m.xx;
  h[1] = h[1] + m.xy;
  h[2] = h[2] + m.xz;
  h[3] = h[3] + mr.x;
  h[4] = h[4] + mp.x;
  h[5] = h[5] + my.x;
  h[6] = h[6] + m.yy;
  h[7] = h[7] + m.yz;
  h[8] = h[8] + mr.y;
  h[9] = h[9] + mp.y;
  h[10] = h[10] + my.y;
  h[11] = h[11] + m.zz;
  h[12] = h[12] + mr.z;
  h[13] = h[13] + mp.z;
  h[14] = h[14] + my.z;
  h[15] = h[15] + (jr_y * mr.y + jr_z * mr.z);
  h[16] = h[16] + (jr_y * mp.y + jr_z * mp.z);
  h[17] = h[17] + (jr_y * my.y + jr_z * my.z);
  h[18] = h[18] + Dot(jp, mp);
  h[19] = h[19] + Dot(jp, my);
  h[20] = h[20] + Dot(jy, my);
  if constexpr (kSecondOrder) {
    const S(&k)[15][3] = chart.second;
    h[15] = h[15] + (s.y * DotRow(k[0], x) + s.z * DotRow(k[1], x));
    h[16] = h[16] + (s.y * DotRow(k[2], x) + s.z * DotRow(k[3], x));
    h[17] = h[17] + (s.y * DotRowXY(k[4], x) + s.z * DotRowXY(k[5], x));
    h[18] = h[18] + (s.x * DotRow(k[6], x) + s.y * DotRow(k[7], x) + s.z * DotRow(k[8], x));
    h[19] = h[19] + (s.x * DotRowXY(k[9], x) + s.y * DotRowXY(k[10], x) + s.z * DotRowXY(k[11], x));
    h[20] =
        h[20] + (s.x * DotRowXY(k[12], x) + s.y * DotRowXY(k[13], x) + s.z * DotRowXY(k[14], x));
  }
}

}  // namespace voxloc::ndt

#endif  // VOXLOC_CORE_NDT_POINT_TERMS_H_
