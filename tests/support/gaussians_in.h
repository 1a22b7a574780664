// SPDX-License-Identifier: Apache-2.0
//
// The Gaussians that a grid of the CPU engine has in one lattice cell.

#ifndef VOXLOC_TESTS_SUPPORT_GAUSSIANS_IN_H_
#define VOXLOC_TESTS_SUPPORT_GAUSSIANS_IN_H_

#include "absl/types/span.h"
#include "core/engine/cpu/gaussian_grid.h"

namespace voxloc {

inline absl::Span<const cpu::GaussianRecord> GaussiansIn(const cpu::GaussianGrid& grid,
                                                         const CellKey& cell) {
  const cpu::GaussianBlock* const block = grid.Find(BlockOf(cell));
  const uint32_t place = PlaceInBlock(cell);
  if (block == nullptr || !block->places.Contains(place)) return {};
  return block->AtRank(block->places.Rank(place));
}

}  // namespace voxloc

#endif  // VOXLOC_TESTS_SUPPORT_GAUSSIANS_IN_H_
