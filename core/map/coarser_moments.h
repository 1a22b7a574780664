// SPDX-License-Identifier: Apache-2.0
//
// The moments of a tile on a coarser lattice, from those on a finer one instead of from its points.
// Functions of no state: thread-safe.

#ifndef VOXLOC_CORE_MAP_COARSER_MOMENTS_H_
#define VOXLOC_CORE_MAP_COARSER_MOMENTS_H_

#include <optional>

#include "core/map/tile_moments.h"

namespace voxloc {

// log2(coarse / fine) where every cell of the coarse lattice is exactly made up of cells of the
// fine one, whatever the rounding: both sizes are powers of two, the coarse one larger.
[[nodiscard]] std::optional<int> CoarseningBits(double fine_cell_size_m, double coarse_cell_size_m);

// On the lattice of 2^bits times the cell size, as CoarseningBits has it; without float sums. The
// same cells and counts as from the points, sums and outer products but for rounding in double.
[[nodiscard]] TileMoments CoarserMoments(const TileMoments& fine, int bits);

}  // namespace voxloc

#endif  // VOXLOC_CORE_MAP_COARSER_MOMENTS_H_
