// SPDX-License-Identifier: Apache-2.0
//
// The mean of a Gaussian in 64 bits. Every list that has the Gaussian has its index position on a
// grid of 2^-10 of the cell size, the coarse place; the bits are three coordinates of 21 bits, in
// fixed point around that place. What lies farther from it than they reach has a mark.
//
// Where the mean is the index position they reach a step of the grid, in steps of 2^-30 of the cell
// size: finer than the float32 that is packed. Where the index positions have a rounding of their
// own, they reach a sixteenth of a cell, in steps of 2^-24, 0.12 um of a cell of 2 m: as fine as
// the float32 in which positions in a cell are computed.

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

// A coordinate of an index position, in units of the cell size from the low corner of its cell, on
// the grid: from 0 to 1 - 2^-10. Shifted by a cell to either side it is a number that half
// precision has exactly.
VOXLOC_HD float CoarsePlace(float index_cells) {
  constexpr float kSteps = 1024.0F;
  return std::fmin(std::fmax(std::floor(index_cells * kSteps + 0.5F), 0.0F), kSteps - 1.0F) /
         kSteps;
}

// From the coarse place to the mean it is span_m * u + origin_m, with u from 1 inclusive to 2
// exclusive: the bits are the first of the fraction of u as a float, so that no conversion is
// needed.
struct MeanRange {
  float span_m;
  float origin_m;
};
VOXLOC_HD MeanRange MeanRangeOf(float cell_size_m, bool mean_is_index) {
  const float span_m = (mean_is_index ? 0x1p-9F : 0x1p-3F) * cell_size_m;
  return {span_m, -1.5F * span_m};
}

// `mean` and `index` in metres from the low corner of the cell.
VOXLOC_HD PackedMean PackMean(const float (&mean)[3], const float (&index)[3], float cell_size_m,
                              const MeanRange& range) {
  constexpr double kSteps = 1U << kMeanBits;
  const double size_m = static_cast<double>(cell_size_m);
  uint64_t bits = 0;
  for (int axis = 2; axis >= 0; --axis) {
    const double coarse = static_cast<double>(CoarsePlace(index[axis] / cell_size_m));
    const double offset_m = static_cast<double>(mean[axis]) - coarse * size_m;
    const double span_m = static_cast<double>(range.span_m);
    const double step = std::floor((offset_m / span_m + 0.5) * kSteps + 0.5);
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
