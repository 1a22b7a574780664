// SPDX-License-Identifier: Apache-2.0
//
// Device code: from a scan point and a pose to the point's lattice cell and its place in it. One
// thread, one point.
//
// Two implementations: in double, with the roundings of the CPU engine; and in pairs of floats, for
// devices with few double units. A pair has 48 bits and is relative to a cell near the translation:
// its error is below 1e-11 m at a hundred metres from the sensor, at most one bit of the float
// result.

#ifndef VOXLOC_CUDA_ALIGN_POINT_TRANSFORM_CUH_
#define VOXLOC_CUDA_ALIGN_POINT_TRANSFORM_CUH_

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "core/ndt/chart.h"
#include "cuda/align/device_job.h"

namespace voxloc::cuda {

// Where a transformed point lies: its lattice cell, and its place in it, metres from the low
// corner.
struct LocatedPoint {
  int cell[3];
  float local[3];
};

// map_t_base, m.
struct Translation {
  double coordinate[3];
};

// Coordinates are clamped to this many cells.
constexpr double kCellIndexLimit = 268435456.0;  // 2^28

// map_T_base as points are transformed by it in double.
struct DoubleTransform {
  ndt::Rotation<double> rotation;
  Translation translation;

  __device__ __forceinline__ void Set(const ndt::Rotation<double>& map_R_base,
                                      const Translation& map_t_base, const StageTerms& /*stage*/) {
    rotation = map_R_base;
    translation = map_t_base;
  }

  // No operation is fused: the CPU engine rounds in the same places, so that both find the same
  // cells.
  __device__ __forceinline__ LocatedPoint Locate(float x, float y, float z,
                                                 const StageTerms& stage) const {
    const double cell_size_m = stage.blocks.cell_size_m;
    const double limit = kCellIndexLimit * cell_size_m;
    LocatedPoint located;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
      const double* r = rotation.m[axis];
      const double t = translation.coordinate[axis];
      double coordinate;
      if (stage.float_transform) {
        coordinate = static_cast<double>(
            __fadd_rn(__fadd_rn(__fadd_rn(__fmul_rn(x, static_cast<float>(r[0])),
                                          __fmul_rn(y, static_cast<float>(r[1]))),
                                __fmul_rn(z, static_cast<float>(r[2]))),
                      static_cast<float>(t)));
      } else {
        coordinate = __dadd_rn(__dadd_rn(__dadd_rn(__dmul_rn(static_cast<double>(x), r[0]),
                                                   __dmul_rn(static_cast<double>(y), r[1])),
                                         __dmul_rn(static_cast<double>(z), r[2])),
                               t);
      }
      if (!(fabs(coordinate) < limit)) coordinate = copysign(limit, coordinate);
      const int cell = __double2int_rd(__dmul_rn(coordinate, stage.inverse_cell_size));
      located.cell[axis] = cell;
      located.local[axis] = static_cast<float>(
          __dsub_rn(coordinate, __dmul_rn(static_cast<double>(cell), cell_size_m)));
    }
    return located;
  }
};

// A number as the sum of two floats, the second far smaller than the first.
struct FloatPair {
  float high;
  float low;

  __device__ __forceinline__ static FloatPair From(double value) {
    const auto high = static_cast<float>(value);
    return {high, static_cast<float>(value - static_cast<double>(high))};
  }
};

// The same in pairs of floats. Only Set computes in double.
struct FloatPairTransform {
  FloatPair rotation[3][3];
  // The cell that coordinates count from, along each axis, and the translation from its low corner.
  int cell[3];
  FloatPair translation[3];
  FloatPair cell_size_m;
  float inverse_cell_size;

  __device__ __forceinline__ void Set(const ndt::Rotation<double>& map_R_base,
                                      const Translation& map_t_base, const StageTerms& stage) {
    const double size_m = stage.blocks.cell_size_m;
    const double limit = kCellIndexLimit * size_m;
    cell_size_m = FloatPair::From(size_m);
    inverse_cell_size = static_cast<float>(stage.inverse_cell_size);
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
#pragma unroll
      for (int i = 0; i < 3; ++i) rotation[axis][i] = FloatPair::From(map_R_base.m[axis][i]);
      double t = map_t_base.coordinate[axis];
      if (stage.float_transform) {
        cell[axis] = 0;
        translation[axis] = {static_cast<float>(t), 0.0F};
        continue;
      }
      if (!(fabs(t) < limit)) t = copysign(limit, t);
      cell[axis] = __double2int_rd(t * stage.inverse_cell_size);
      translation[axis] = FloatPair::From(t - cell[axis] * size_m);
    }
  }

  __device__ __forceinline__ LocatedPoint Locate(float x, float y, float z,
                                                 const StageTerms& stage) const {
    // The number of cells that a float counts exactly.
    const float limit = 16777216.0F * cell_size_m.high;  // 2^24
    LocatedPoint located;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
      const FloatPair(&r)[3] = rotation[axis];
      FloatPair sum;
      if (stage.float_transform) {
        sum = {__fadd_rn(__fadd_rn(__fadd_rn(__fmul_rn(x, r[0].high), __fmul_rn(y, r[1].high)),
                                   __fmul_rn(z, r[2].high)),
                         translation[axis].high),
               0.0F};
      } else {
        sum = AddProduct(AddProduct(AddProduct(translation[axis], x, r[0]), y, r[1]), z, r[2]);
      }
      if (!(fabsf(sum.high) < limit)) sum = {copysignf(limit, sum.high), 0.0F};
      float cells = floorf(sum.high * inverse_cell_size);
      // What is left of the first is exact to the last bit of a place in the cell.
      float local = __fadd_rn(__fmaf_rn(-cells, cell_size_m.high, sum.high),
                              __fmaf_rn(-cells, cell_size_m.low, sum.low));
      // The product was rounded before the floor: correct by one cell.
      if (local < 0.0F) {
        cells -= 1.0F;
        local = __fadd_rn(local, cell_size_m.high);
      } else if (local >= cell_size_m.high) {
        cells += 1.0F;
        local = fmaxf(__fsub_rn(local, cell_size_m.high), 0.0F);
      }
      located.cell[axis] = cell[axis] + static_cast<int>(cells);
      located.local[axis] = local;
    }
    return located;
  }

 private:
  // sum + factor * number. The error of a sum by Knuth's TwoSum, that of a product by a fused one.
  __device__ __forceinline__ static FloatPair AddProduct(const FloatPair& sum, float factor,
                                                         const FloatPair& number) {
    const float product = __fmul_rn(factor, number.high);
    const float of_product =
        __fmaf_rn(factor, number.low, __fmaf_rn(factor, number.high, -product));
    const float high = __fadd_rn(sum.high, product);
    const float added = __fsub_rn(high, sum.high);
    const float of_sum =
        __fadd_rn(__fsub_rn(sum.high, __fsub_rn(high, added)), __fsub_rn(product, added));
    return {high, __fadd_rn(sum.low, __fadd_rn(of_sum, of_product))};
  }
};

// Multiprocessors of these compute capabilities have 32 or 64 units for doubles, all others of
// which voxloc has code 2 (CUDA C++ Programming Guide, "Throughput of Native Arithmetic
// Instructions").
#if defined(__CUDA_ARCH__)
constexpr bool kManyDoubleUnits =
    __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000;
#else
constexpr bool kManyDoubleUnits = true;
#endif
#ifdef VOXLOC_CUDA_FLOAT_PAIRS
constexpr bool kFloatPairs = true;
#else
constexpr bool kFloatPairs = !kManyDoubleUnits;
#endif

using PointTransform = std::conditional_t<kFloatPairs, FloatPairTransform, DoubleTransform>;

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_ALIGN_POINT_TRANSFORM_CUH_
