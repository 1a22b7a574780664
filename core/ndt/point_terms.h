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
// The coordinates of the sums are the map's axes: a step (v, u) takes t to t + v and R to
// exp([u]x) R. With y = R x they have J = [I, -[y]x] and, for rotations,
// s'K = (s y' + y s') / 2 - (s'y) I. chart_derivatives.h converts the sums to the chart once a
// scan.
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
  pair.e = Exp(Product(Dot(q, pair.bq), S(-0.5) * d2));
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
  sums.s.x = AddProduct(sums.s.x, e, pair.bq.x);
  sums.s.y = AddProduct(sums.s.y, e, pair.bq.y);
  sums.s.z = AddProduct(sums.s.z, e, pair.bq.z);
  const Vector3<T> cbq = {Product(pair.bq.x, curvature), Product(pair.bq.y, curvature),
                          Product(pair.bq.z, curvature)};
  sums.m.xx = AddProduct(sums.m.xx, e, SubtractProduct(information.xx, cbq.x, pair.bq.x));
  sums.m.xy = AddProduct(sums.m.xy, e, SubtractProduct(information.xy, cbq.x, pair.bq.y));
  sums.m.xz = AddProduct(sums.m.xz, e, SubtractProduct(information.xz, cbq.x, pair.bq.z));
  sums.m.yy = AddProduct(sums.m.yy, e, SubtractProduct(information.yy, cbq.y, pair.bq.y));
  sums.m.yz = AddProduct(sums.m.yz, e, SubtractProduct(information.yz, cbq.y, pair.bq.z));
  sums.m.zz = AddProduct(sums.m.zz, e, SubtractProduct(information.zz, cbq.z, pair.bq.z));
}

// With a radius search, pairs appear and disappear as a point moves, and the gradient jumps by
// e B q. Along a uniform wall these jumps cancel the apparent information of the remaining pairs.
// Their expectation is estimated from the pairs in a shell below the radius R: when a point moves
// outwards along the unit vector n from the cell, the pairs of the shell are lost at the rate
// 1 / thickness per metre. The curvature of a pair in the shell gains
// -e (Bq n' + n (Bq)') / (2 thickness).
template <typename S>
struct ReachBoundary {
  // Of the distance of point and cell; infinite where the search has no radius.
  S inner_squared_m2;
  // 1 / (thickness * mean radius of the shell): n is approximated by distance / mean radius.
  S scale;
};

// Thickness of the shell as a fraction of the radius. In the corridors and tunnels of the tuning
// set (tests/bench/scenes) the information along the axis scatters half as much as with 0.1.
constexpr double kShellFraction = 0.2;

template <typename S>
VOXLOC_HD ReachBoundary<S> BoundaryOf(S squared_radius_m2) {
  const S inner = S(1.0 - kShellFraction);
  const S middle = S(1.0 - 0.5 * kShellFraction);
  return {squared_radius_m2 * inner * inner,
          S(1) / (S(kShellFraction) * middle * squared_radius_m2)};
}

// `shell` holds 1 where a pair lies in the shell and counts, else 0; `distance` is from the cell's
// position.
template <typename T, typename S>
VOXLOC_HD void AddBoundary(const PairTerms<T>& pair, const Vector3<T>& distance, const T& shell,
                           const ReachBoundary<S>& boundary, PairSums<T>& sums) {
  const T weight = Product(Product(shell, pair.e), boundary.scale);
  const Vector3<T> n = {Product(weight, distance.x), Product(weight, distance.y),
                        Product(weight, distance.z)};
  sums.m.xx = SubtractProduct(sums.m.xx, pair.bq.x, n.x);
  sums.m.xy =
      SubtractProduct(sums.m.xy, AddProduct(Product(pair.bq.x, n.y), pair.bq.y, n.x), S(0.5));
  sums.m.xz =
      SubtractProduct(sums.m.xz, AddProduct(Product(pair.bq.x, n.z), pair.bq.z, n.x), S(0.5));
  sums.m.yy = SubtractProduct(sums.m.yy, pair.bq.y, n.y);
  sums.m.yz =
      SubtractProduct(sums.m.yz, AddProduct(Product(pair.bq.y, n.z), pair.bq.z, n.y), S(0.5));
  sums.m.zz = SubtractProduct(sums.m.zz, pair.bq.z, n.z);
}

// Sums over points, in the map's axes.
constexpr int kGradientSize = 6;
constexpr int kHessianSize = 21;

template <typename T>
struct DerivativeSums {
  T gradient[kGradientSize]{};
  // The upper triangle, row by row: (0,0) (0,1) ... (5,5).
  T hessian[kHessianSize]{};
  // Sum of s.x z, z in the scan's frame: the difference that the wrong sign of the curvature along
  // pitch makes in the reference's releases up to 1.9.0.
  T old_pitch{};
};

template <typename T>
VOXLOC_HD void Add(const DerivativeSums<T>& added, DerivativeSums<T>& sums) {
  for (int i = 0; i < kGradientSize; ++i) sums.gradient[i] += added.gradient[i];
  for (int i = 0; i < kHessianSize; ++i) sums.hessian[i] += added.hessian[i];
  sums.old_pitch += added.old_pitch;
}

template <typename T>
VOXLOC_HD DerivativeSums<T> Scaled(DerivativeSums<T> sums, T factor) {
  for (T& entry : sums.gradient) entry *= factor;
  for (T& entry : sums.hessian) entry *= factor;
  sums.old_pitch *= factor;
  return sums;
}

template <typename T, typename S>
VOXLOC_HD T DotRow(const S (&row)[3], const Vector3<T>& x) {
  return AddProduct(AddProduct(Product(x.x, row[0]), x.y, row[1]), x.z, row[2]);
}

// Adds what the pair sums of the scan point x (in the scan's frame) contribute; `rotation` is the R
// of the derivatives. Without second order, y is taken as linear in the step.
template <bool kSecondOrder = true, typename T, typename S>
VOXLOC_HD void AddPoint(const Vector3<T>& x, const PairSums<T>& pairs, const Rotation<S>& rotation,
                        DerivativeSums<T>& sums) {
  const Vector3<T>& s = pairs.s;
  const Symmetric3<T>& m = pairs.m;
  const Vector3<T> y = {DotRow(rotation.m[0], x), DotRow(rotation.m[1], x),
                        DotRow(rotation.m[2], x)};
  // The columns of M J for rotations.
  const Vector3<T> mx = {SubtractProduct(Product(m.xz, y.y), m.xy, y.z),
                         SubtractProduct(Product(m.yz, y.y), m.yy, y.z),
                         SubtractProduct(Product(m.zz, y.y), m.yz, y.z)};
  const Vector3<T> my = {SubtractProduct(Product(m.xx, y.z), m.xz, y.x),
                         SubtractProduct(Product(m.xy, y.z), m.yz, y.x),
                         SubtractProduct(Product(m.xz, y.z), m.zz, y.x)};
  const Vector3<T> mz = {SubtractProduct(Product(m.xy, y.x), m.xx, y.y),
                         SubtractProduct(Product(m.yy, y.x), m.xy, y.y),
                         SubtractProduct(Product(m.yz, y.x), m.xz, y.y)};
  const T sx_yy = Product(s.x, y.y);
  const T sx_yz = Product(s.x, y.z);
  const T sy_yx = Product(s.y, y.x);
  const T sy_yz = Product(s.y, y.z);
  const T sz_yx = Product(s.z, y.x);
  const T sz_yy = Product(s.z, y.y);

  T* g = sums.gradient;
  g[0] = g[0] + s.x;
  g[1] = g[1] + s.y;
  g[2] = g[2] + s.z;
  g[3] = g[3] + (sz_yy - sy_yz);
  g[4] = g[4] + (sx_yz - sz_yx);
  g[5] = g[5] + (sy_yx - sx_yy);

  T* h = sums.hessian;
  h[0] = h[0] + m.xx;
  h[1] = h[1] + m.xy;
  h[2] = h[2] + m.xz;
  h[3] = h[3] + mx.x;
  h[4] = h[4] + my.x;
  h[5] = h[5] + mz.x;
  h[6] = h[6] + m.yy;
  h[7] = h[7] + m.yz;
  h[8] = h[8] + mx.y;
  h[9] = h[9] + my.y;
  h[10] = h[10] + mz.y;
  h[11] = h[11] + m.zz;
  h[12] = h[12] + mx.z;
  h[13] = h[13] + my.z;
  h[14] = h[14] + mz.z;
  h[15] = h[15] + SubtractProduct(Product(mx.z, y.y), mx.y, y.z);
  h[16] = h[16] + SubtractProduct(Product(my.z, y.y), my.y, y.z);
  h[17] = h[17] + SubtractProduct(Product(mz.z, y.y), mz.y, y.z);
  h[18] = h[18] + SubtractProduct(Product(my.x, y.z), my.z, y.x);
  h[19] = h[19] + SubtractProduct(Product(mz.x, y.z), mz.z, y.x);
  h[20] = h[20] + SubtractProduct(Product(mz.y, y.x), mz.x, y.y);
  if constexpr (kSecondOrder) {
    const T sx_yx = Product(s.x, y.x);
    const T sy_yy = Product(s.y, y.y);
    const T sz_yz = Product(s.z, y.z);
    h[15] = h[15] - (sy_yy + sz_yz);
    h[16] = AddProduct(h[16], sx_yy + sy_yx, S(0.5));
    h[17] = AddProduct(h[17], sx_yz + sz_yx, S(0.5));
    h[18] = h[18] - (sx_yx + sz_yz);
    h[19] = AddProduct(h[19], sy_yz + sz_yy, S(0.5));
    h[20] = h[20] - (sx_yx + sy_yy);
    sums.old_pitch = AddProduct(sums.old_pitch, s.x, x.z);
  }
}

}  // namespace voxloc::ndt

#endif  // VOXLOC_CORE_NDT_POINT_TERMS_H_
