// SPDX-License-Identifier: Apache-2.0

#include "core/map/coarser_moments.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace voxloc {
namespace {

CellKey Coarser(const CellKey& key, int bits) {
  return {key.x >> bits, key.y >> bits, key.z >> bits};
}

// Along an axis, from the centre of a coarse cell to that of a fine one in it, in fine cells.
double StepsFromCentre(int32_t fine, int32_t coarse, int bits) {
  const double first = std::ldexp(static_cast<double>(coarse), bits);
  return static_cast<double>(fine) - first + 0.5 - std::ldexp(0.5, bits);
}

void AddBlock(const TileMoments& fine, const TileMoments::Block& block, int bits,
              std::vector<ndt::CellMoments>& places) {
  const double size = fine.cell_size_m;
  for (uint32_t i = block.begin; i < block.end; ++i) {
    const CellKey cell = CellAt(block.key, fine.places[i]);
    const CellKey in = Coarser(cell, bits);
    const ndt::Vector3<double> from_centre = {size * StepsFromCentre(cell.x, in.x, bits),
                                              size * StepsFromCentre(cell.y, in.y, bits),
                                              size * StepsFromCentre(cell.z, in.z, bits)};
    ndt::AddMoments(ndt::MovedMoments(fine.moments[i], from_centre), places[PlaceInBlock(in)]);
  }
}

}  // namespace

std::optional<int> CoarseningBits(double fine_cell_size_m, double coarse_cell_size_m) {
  int fine = 0;
  int coarse = 0;
  // Of a power of two the fraction is a half.
  if (std::frexp(fine_cell_size_m, &fine) != 0.5) return std::nullopt;
  if (std::frexp(coarse_cell_size_m, &coarse) != 0.5 || coarse <= fine) return std::nullopt;
  return coarse - fine;
}

TileMoments CoarserMoments(const TileMoments& fine, int bits) {
  TileMoments tile;
  tile.cell_size_m = std::ldexp(fine.cell_size_m, bits);
  tile.origin = fine.origin;
  tile.points = fine.points;
  tile.not_finite = fine.not_finite;

  const auto block_of = [&](uint32_t fine_block) {
    return Coarser(fine.blocks[fine_block].key, bits);
  };
  std::vector<uint32_t> order(fine.blocks.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return block_of(a) < block_of(b); });
  std::vector<ndt::CellMoments> places(kBlockCells);
  for (size_t i = 0; i < order.size();) {
    TileMoments::Block run;
    run.key = block_of(order[i]);
    run.begin = static_cast<uint32_t>(tile.cells());
    for (; i < order.size() && block_of(order[i]) == run.key; ++i) {
      AddBlock(fine, fine.blocks[order[i]], bits, places);
    }
    for (uint32_t place = 0; place < kBlockCells; ++place) {
      if (places[place].count == 0) continue;
      tile.places.push_back(static_cast<uint16_t>(place));
      tile.moments.push_back(places[place]);
      places[place] = {};
    }
    run.end = static_cast<uint32_t>(tile.cells());
    tile.blocks.push_back(run);
  }
  return tile;
}

}  // namespace voxloc
