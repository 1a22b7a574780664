// SPDX-License-Identifier: Apache-2.0
//
// Products and sums of products with a fixed rounding in device code. Otherwise the compiler may
// fuse a product with the following addition, and chooses which product of a sum of two, so that
// two kernels with the same formula could differ in the last bit. On the host these are the plain
// operators, for scalars and SIMD lanes.

#ifndef VOXLOC_CORE_NDT_MULTIPLY_ADD_H_
#define VOXLOC_CORE_NDT_MULTIPLY_ADD_H_

#include "core/ndt/host_device.h"

namespace voxloc::ndt {

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

}  // namespace voxloc::ndt

#endif  // VOXLOC_CORE_NDT_MULTIPLY_ADD_H_
