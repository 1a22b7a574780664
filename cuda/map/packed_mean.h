// SPDX-License-Identifier: Apache-2.0
//
// The mean of a Gaussian in 64 bits: three coordinates of 21 bits, in fixed point over ten eighths
// of a cell, from an eighth below the low corner of the lattice cell to an eighth above the high
// one. A mean lies in the cell that its index position lies in, but for the rounding of float32
// index positions, which the margin is for.
//
// A step is 1.25 / 2^21 of the cell size, 1.2 um of a cell of 2 m, so a mean is off by at most
// 0.6 um and the roundings of float32. That changes the exponential of a pair by a share of d2 |Bq|
// times the error: 1.5e-5 at two standard deviations of 2 cm from a mean, with the d2 of 0.25 that
// an outlier ratio of 0.55 has in cells of 2 m. The errors of cells are independent, so that sums
// over the thousands of pairs of a scan change by less than 1e-6; the engines are compared to 1e-5.

#ifndef VOXLOC_CUDA_MAP_PACKED_MEAN_H_
#define VOXLOC_CUDA_MAP_PACKED_MEAN_H_

#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/ndt/host_device.h"

namespace voxloc::cuda {

// Bits 0 to 20 hold x, 21 to 41 y, 42 to 62 z. Bit 63: the mean is outside the range.
struct PackedMean {
  uint32_t low;
  uint32_t high;

  [[nodiscard]] VOXLOC_HD bool IsOutside() const { return (high >> 31) != 0; }
};
constexpr int kMeanBits = 21;

// A coordinate is span_m * u + origin_m, with u from 1 inclusive to 2 exclusive: the bits are the
// first of the fraction of u as a float, so that no conversion is needed.
struct MeanRange {
  float span_m;
  float origin_m;
};
VOXLOC_HD MeanRange MeanRangeOf(float cell_size_m) {
  return {1.25F * cell_size_m, -1.375F * cell_size_m};
}

// `mean` in metres from the low corner of the cell.
VOXLOC_HD PackedMean PackMean(const float (&mean)[3], const MeanRange& range) {
  constexpr double kSteps = 1U << kMeanBits;
  const double steps_per_m = kSteps / static_cast<double>(range.span_m);
  const double first_m = static_cast<double>(range.origin_m) + static_cast<double>(range.span_m);
  uint64_t bits = 0;
  for (int axis = 2; axis >= 0; --axis) {
    const double step = std::floor((static_cast<double>(mean[axis]) - first_m) * steps_per_m + 0.5);
    if (!(step >= 0.0 && step < kSteps)) return {0, uint32_t{1} << 31};
    bits = bits << kMeanBits | static_cast<uint64_t>(step);
  }
  return {static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32)};
}

// u of each axis, see MeanRange.
struct MeanFractions {
  float x;
  float y;
  float z;
};
VOXLOC_HD MeanFractions FractionsOf(const PackedMean& mean) {
  constexpr int kFractionBits = 23;  // of a float
  constexpr int kUp = kFractionBits - kMeanBits;
  constexpr uint32_t kMask = ((uint32_t{1} << kMeanBits) - 1) << kUp;
  constexpr uint32_t kOne = 0x3f800000;  // 1.0F
  const uint32_t bits[3] = {
      (mean.low << kUp & kMask) | kOne,
      ((mean.low >> (kMeanBits - kUp) | mean.high << (32 - kMeanBits + kUp)) & kMask) | kOne,
      (mean.high >> (2 * kMeanBits - 32 - kUp) & kMask) | kOne};
  MeanFractions fractions;
  static_assert(sizeof(fractions) == sizeof(bits), "three floats");
  std::memcpy(&fractions, bits, sizeof(bits));
  return fractions;
}

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_MAP_PACKED_MEAN_H_
