// SPDX-License-Identifier: Apache-2.0
//
// Eight float lanes as one number, on the compiler's vector extension. The width is the same on
// every machine, so the order of sums is too; the compiler maps it to what the instruction set has.
//
// Included by the kernels only, inside the namespace of the instruction set they are compiled for:
// everything here is local to it, and always inlined.

#ifndef VOXLOC_CORE_ENGINE_CPU_LANES_H_
#define VOXLOC_CORE_ENGINE_CPU_LANES_H_

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <cstdint>
#include <cstring>

#include "core/ndt/host_device.h"

#ifndef VOXLOC_KERNEL_NAMESPACE
#error "VOXLOC_KERNEL_NAMESPACE must name the instruction set"
#endif

namespace voxloc::VOXLOC_KERNEL_NAMESPACE {

constexpr int kLanes = 8;

using FloatVector = float __attribute__((vector_size(32)));
using HalfVector = float __attribute__((vector_size(16)));
using IntVector = int32_t __attribute__((vector_size(32)));
// Doubles come four at a time: that is what a register of today's common instruction sets holds.
using DoubleVector = double __attribute__((vector_size(32)));
using LongVector = int64_t __attribute__((vector_size(32)));
using HalfIntVector = int32_t __attribute__((vector_size(16)));
constexpr int kDoubleLanes = 4;

struct Lanes {
  FloatVector v = {};
};

VOXLOC_HD Lanes Broadcast(float x) { return {FloatVector{} + x}; }

VOXLOC_HD Lanes operator+(const Lanes& a, const Lanes& b) { return {a.v + b.v}; }
VOXLOC_HD Lanes operator-(const Lanes& a, const Lanes& b) { return {a.v - b.v}; }
VOXLOC_HD Lanes operator*(const Lanes& a, const Lanes& b) { return {a.v * b.v}; }
VOXLOC_HD Lanes operator*(const Lanes& a, float b) { return {a.v * b}; }

template <typename Vector>
VOXLOC_HD Vector Load(const void* from) {
  Vector v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}
template <typename Vector>
VOXLOC_HD void Store(const Vector& v, void* to) {
  std::memcpy(to, &v, sizeof(v));
}

VOXLOC_HD Lanes Max(const Lanes& a, const Lanes& b) { return {a.v > b.v ? a.v : b.v}; }

// `a` where the mask is set, 0 elsewhere.
VOXLOC_HD Lanes Keep(const IntVector& mask, const Lanes& a) {
  return {(FloatVector)((IntVector)a.v & mask)};
}

// e^x for x <= 0 to 2 units in the last place; 0 below -87. Range reduction to |r| <= ln(2)/2, then
// e^r = 1 + r + r^2 p(r), p interpolating at Chebyshev nodes (relative error 1.0e-8).
VOXLOC_HD Lanes Exp(const Lanes& x) {
  constexpr float kRoundToInteger = 12582912.0F;  // 1.5 * 2^23
  const FloatVector lowest = FloatVector{} - 87.0F;
  const FloatVector clamped = x.v > lowest ? x.v : lowest;
  const FloatVector shifted = clamped * 1.44269504F + kRoundToInteger;
  const FloatVector n = shifted - kRoundToInteger;
  // ln(2) in two parts, the first exact in few bits, so that n times it is exact.
  const FloatVector r = (clamped - n * 0.693359375F) + n * 2.12194440e-4F;
  FloatVector p = r * 1.3926176119981788e-3F + 8.3631730745137114e-3F;
  p = p * r + 4.1666554662049839e-2F;
  p = p * r + 1.6666577025597990e-1F;
  p = p * r + 0.5F;
  const FloatVector e_r = (p * r * r + r) + 1.0F;
  const IntVector exponent = (IntVector)shifted << 23;
  const FloatVector result = (FloatVector)((IntVector)e_r + exponent);
  return Keep(x.v > lowest, {result});
}

// Writes the numbers first + j of the lanes j < `count` whose mask is set to `to`, ascending, and
// returns how many there are. May write up to eight entries.
VOXLOC_HD uint32_t WriteActive(const IntVector& mask, uint32_t count, uint32_t first,
                               uint32_t* to) {
#if defined(__AVX2__)
  // Byte k of entry m is the place of the k-th bit that is set in m.
  struct Places {
    uint64_t of[256];
  };
  static constexpr auto kPlaces = [] {
    Places places{};
    for (uint64_t m = 0; m < 256; ++m) {
      int k = 0;
      for (uint64_t bit = 0; bit < 8; ++bit) {
        if ((m >> bit & 1U) != 0) places.of[m] |= bit << (8 * k++);
      }
    }
    return places;
  }();
  const uint32_t wanted = count >= kLanes ? 0xffU : (1U << count) - 1U;
  const auto bits = static_cast<uint32_t>(_mm256_movemask_ps((__m256)mask)) & wanted;
  const __m256i places =
      _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<int64_t>(kPlaces.of[bits])));
  Store((IntVector)places + static_cast<int32_t>(first), to);
  return static_cast<uint32_t>(__builtin_popcount(bits));
#else
  int32_t active[kLanes];
  Store(mask, active);
  uint32_t written = 0;
  for (uint32_t j = 0; j < (count < kLanes ? count : kLanes); ++j) {
    to[written] = first + j;
    written += active[j] != 0 ? 1U : 0U;
  }
  return written;
#endif
}

// Sum of the lanes, in double, in a fixed order.
VOXLOC_HD double SumLanes(const Lanes& a) {
  const auto lane = [&a](int i) { return static_cast<double>(a.v[i]); };
  return ((lane(0) + lane(1)) + (lane(2) + lane(3))) + ((lane(4) + lane(5)) + (lane(6) + lane(7)));
}

// Eight rows of eight floats, transposed: lane l of column c is row l's entry c.
VOXLOC_HD void Transpose8(const FloatVector (&row)[8], FloatVector (&column)[8]) {
  FloatVector a[8];
  for (int i = 0; i < 8; i += 2) {
    a[i] = __builtin_shufflevector(row[i], row[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    a[i + 1] = __builtin_shufflevector(row[i], row[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  FloatVector b[8];
  for (int i = 0; i < 8; i += 4) {
    b[i] = __builtin_shufflevector(a[i], a[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    b[i + 1] = __builtin_shufflevector(a[i], a[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    b[i + 2] = __builtin_shufflevector(a[i + 1], a[i + 3], 0, 1, 8, 9, 4, 5, 12, 13);
    b[i + 3] = __builtin_shufflevector(a[i + 1], a[i + 3], 2, 3, 10, 11, 6, 7, 14, 15);
  }
  for (int i = 0; i < 4; ++i) {
    column[i] = __builtin_shufflevector(b[i], b[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    column[i + 4] = __builtin_shufflevector(b[i], b[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

// Eight rows of four floats, transposed.
VOXLOC_HD void Transpose4(const HalfVector (&row)[8], FloatVector (&column)[4]) {
  FloatVector a[4];  // rows i and i + 4 side by side
  for (int i = 0; i < 4; ++i) {
    a[i] = __builtin_shufflevector(row[i], row[i + 4], 0, 1, 2, 3, 4, 5, 6, 7);
  }
  const FloatVector b0 = __builtin_shufflevector(a[0], a[1], 0, 8, 1, 9, 4, 12, 5, 13);
  const FloatVector b1 = __builtin_shufflevector(a[0], a[1], 2, 10, 3, 11, 6, 14, 7, 15);
  const FloatVector b2 = __builtin_shufflevector(a[2], a[3], 0, 8, 1, 9, 4, 12, 5, 13);
  const FloatVector b3 = __builtin_shufflevector(a[2], a[3], 2, 10, 3, 11, 6, 14, 7, 15);
  column[0] = __builtin_shufflevector(b0, b2, 0, 1, 8, 9, 4, 5, 12, 13);
  column[1] = __builtin_shufflevector(b0, b2, 2, 3, 10, 11, 6, 7, 14, 15);
  column[2] = __builtin_shufflevector(b1, b3, 0, 1, 8, 9, 4, 5, 12, 13);
  column[3] = __builtin_shufflevector(b1, b3, 2, 3, 10, 11, 6, 7, 14, 15);
}

}  // namespace voxloc::VOXLOC_KERNEL_NAMESPACE

#endif  // VOXLOC_CORE_ENGINE_CPU_LANES_H_
