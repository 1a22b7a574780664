// SPDX-License-Identifier: Apache-2.0
//
// Symmetric 3x3 matrices, stored as their six entries xx xy xz yy yz zz, and small fixed vectors.
// No library, so that the same lines compile for the device.

#ifndef VOXLOC_CORE_NDT_SYMMETRIC3_H_
#define VOXLOC_CORE_NDT_SYMMETRIC3_H_

#include <cmath>

#include "core/ndt/host_device.h"

namespace voxloc::ndt {

// Products and sums of products with a fixed rounding in device code. Otherwise the compiler may
// fuse a product with the following addition, and chooses which product of a sum of two, so that
// two kernels with the same formula could differ in the last bit. On the host these are the plain
// operators, for scalars and SIMD lanes.

// a b
template <typename A, typename B>
VOXLOC_HD auto Product(const A& a, const B& b) -> decltype(a * b) {
  return a * b;
}

// c + a b
template <typename C, typename A, typename B>
VOXLOC_HD C AddProduct(const C& c, const A& a, const B& b) {
  return c + a * b;
}

// c - a b
template <typename C, typename A, typename B>
VOXLOC_HD C SubtractProduct(const C& c, const A& a, const B& b) {
  return c - a * b;
}

#if defined(__CUDA_ARCH__)
VOXLOC_HD float Product(float a, float b) { return __fmul_rn(a, b); }
VOXLOC_HD double Product(double a, double b) { return __dmul_rn(a, b); }
VOXLOC_HD float AddProduct(float c, float a, float b) { return __fmaf_rn(a, b, c); }
VOXLOC_HD double AddProduct(double c, double a, double b) { return __fma_rn(a, b, c); }
VOXLOC_HD float SubtractProduct(float c, float a, float b) { return __fmaf_rn(-a, b, c); }
VOXLOC_HD double SubtractProduct(double c, double a, double b) { return __fma_rn(-a, b, c); }
#endif

template <typename T>
struct Vector3 {
  T x{};
  T y{};
  T z{};
};

template <typename T>
VOXLOC_HD T Dot(const Vector3<T>& a, const Vector3<T>& b) {
  return AddProduct(AddProduct(Product(a.x, b.x), a.y, b.y), a.z, b.z);
}

template <typename T>
struct Symmetric3 {
  T xx{};
  T xy{};
  T xz{};
  T yy{};
  T yz{};
  T zz{};
};

template <typename T>
VOXLOC_HD Vector3<T> Multiply(const Symmetric3<T>& a, const Vector3<T>& v) {
  return {Dot({a.xx, a.xy, a.xz}, v), Dot({a.xy, a.yy, a.yz}, v), Dot({a.xz, a.yz, a.zz}, v)};
}

// a + scale * v v'.
template <typename T>
VOXLOC_HD Symmetric3<T> AddOuter(const Symmetric3<T>& a, T scale, const Vector3<T>& v) {
  const Vector3<T> sv = {scale * v.x, scale * v.y, scale * v.z};
  return {a.xx + sv.x * v.x, a.xy + sv.x * v.y, a.xz + sv.x * v.z,
          a.yy + sv.y * v.y, a.yz + sv.y * v.z, a.zz + sv.z * v.z};
}

// The inverse by cofactors; entries that are not finite where the matrix is singular.
template <typename S>
VOXLOC_HD Symmetric3<S> Inverse(const Symmetric3<S>& a) {
  const S cxx = a.yy * a.zz - a.yz * a.yz;
  const S cxy = a.xz * a.yz - a.xy * a.zz;
  const S cxz = a.xy * a.yz - a.xz * a.yy;
  const S scale = S(1) / (a.xx * cxx + a.xy * cxy + a.xz * cxz);
  return {cxx * scale,
          cxy * scale,
          cxz * scale,
          (a.xx * a.zz - a.xz * a.xz) * scale,
          (a.xy * a.xz - a.xx * a.yz) * scale,
          (a.xx * a.yy - a.xy * a.xy) * scale};
}

// Whether a - shift I is positive definite, by the pivots of its Cholesky factor: every eigenvalue
// of `a` is then above `shift`. Far cheaper than the eigenvalues themselves.
template <typename S>
VOXLOC_HD bool EigenvaluesExceed(const Symmetric3<S>& a, S shift) {
  const S p0 = a.xx - shift;
  if (!(p0 > S(0))) return false;
  const S p1 = (a.yy - shift) - a.xy * a.xy / p0;
  if (!(p1 > S(0))) return false;
  const S l21 = a.yz - a.xy * a.xz / p0;
  const S p2 = (a.zz - shift) - a.xz * a.xz / p0 - l21 * l21 / p1;
  return p2 > S(0);
}

// Eigenvalues in ascending order; vector[i] is the unit eigenvector of value[i].
template <typename S>
struct Eigen3 {
  S value[3];
  Vector3<S> vector[3];
};

// Cyclic Jacobi rotations (Golub and Van Loan, Matrix Computations, section 8.5): accurate to the
// last bits for every symmetric matrix, degenerate ones too.
template <typename S>
VOXLOC_HD Eigen3<S> EigenDecompose(const Symmetric3<S>& a) {
  S m[3][3] = {{a.xx, a.xy, a.xz}, {a.xy, a.yy, a.yz}, {a.xz, a.yz, a.zz}};
  S v[3][3] = {{S(1), S(0), S(0)}, {S(0), S(1), S(0)}, {S(0), S(0), S(1)}};
  constexpr int kMaxSweeps = 12;
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    if (m[0][1] == S(0) && m[0][2] == S(0) && m[1][2] == S(0)) break;
    for (int p = 0; p < 2; ++p) {
      for (int q = p + 1; q < 3; ++q) {
        const S apq = m[p][q];
        if (apq == S(0)) continue;
        // An entry that no longer changes the diagonal is rounding: drop it.
        const S magnitude = std::abs(apq) * S(100);
        if (sweep > 3 && std::abs(m[p][p]) + magnitude == std::abs(m[p][p]) &&
            std::abs(m[q][q]) + magnitude == std::abs(m[q][q])) {
          m[p][q] = m[q][p] = S(0);
          continue;
        }
        const S theta = (m[q][q] - m[p][p]) / (S(2) * apq);
        const S t =
            (theta >= S(0) ? S(1) : S(-1)) / (std::abs(theta) + std::sqrt(theta * theta + S(1)));
        const S c = S(1) / std::sqrt(t * t + S(1));
        const S s = t * c;
        const int r = 3 - p - q;
        m[p][p] -= t * apq;
        m[q][q] += t * apq;
        m[p][q] = m[q][p] = S(0);
        const S mrp = m[r][p];
        const S mrq = m[r][q];
        m[r][p] = m[p][r] = c * mrp - s * mrq;
        m[r][q] = m[q][r] = s * mrp + c * mrq;
        for (int k = 0; k < 3; ++k) {
          const S vkp = v[k][p];
          const S vkq = v[k][q];
          v[k][p] = c * vkp - s * vkq;
          v[k][q] = s * vkp + c * vkq;
        }
      }
    }
  }
  int order[3] = {0, 1, 2};
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2 - i; ++j) {
      if (m[order[j]][order[j]] > m[order[j + 1]][order[j + 1]]) {
        const int swapped = order[j];
        order[j] = order[j + 1];
        order[j + 1] = swapped;
      }
    }
  }
  Eigen3<S> result;
  for (int i = 0; i < 3; ++i) {
    const int k = order[i];
    result.value[i] = m[k][k];
    result.vector[i] = {v[0][k], v[1][k], v[2][k]};
  }
  return result;
}

}  // namespace voxloc::ndt

#endif  // VOXLOC_CORE_NDT_SYMMETRIC3_H_
