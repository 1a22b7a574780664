// SPDX-License-Identifier: Apache-2.0

#include "cuda/map/source_list.h"

#include <algorithm>
#include <tuple>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace voxloc::cuda {
namespace {

// CUB takes some of its sizes as int.
constexpr size_t kMaxEntries = size_t{1} << 30;

struct Run {
  CellKey block;
  uint32_t tile;
  uint32_t begin;
  uint32_t end;

  bool operator<(const Run& other) const {
    return block == other.block ? tile < other.tile : block < other.block;
  }
};

}  // namespace

absl::StatusOr<SourceList> CollectSources(absl::Span<const std::shared_ptr<const CudaTile>> tiles,
                                          double cell_size_m, absl::Span<const BlockBox> regions,
                                          absl::FunctionRef<bool(const CellKey&)> filter) {
  std::vector<Run> found;
  size_t entries = 0;
  for (size_t t = 0; t < tiles.size(); ++t) {
    const TileLattice& lattice = *tiles[t]->Lattice(cell_size_m);
    const auto intersects = [&lattice](const BlockBox& region) {
      return lattice.box.Intersects(region);
    };
    if (std::none_of(regions.begin(), regions.end(), intersects)) continue;
    for (const TileMoments::Block& block : lattice.blocks) {
      if (!filter(block.key)) continue;
      found.push_back({block.key, static_cast<uint32_t>(t), block.begin, block.end});
      entries += block.end - block.begin;
    }
  }
  if (entries > kMaxEntries) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the map's tiles must have at most ", kMaxEntries, " cells in all (got ", entries, ")"));
  }
  // One tile's blocks are sorted.
  if (!std::is_sorted(found.begin(), found.end())) std::sort(found.begin(), found.end());

  SourceList list;
  list.runs.reserve(found.size());
  for (const Run& run : found) {
    if (list.blocks.empty() || !(list.blocks.back().key == run.block)) {
      const auto first_run = static_cast<uint32_t>(list.runs.size());
      list.blocks.push_back({run.block, first_run, first_run, list.entries});
      list.box.Include(run.block);
    }
    const CudaTile& tile = *tiles[run.tile];
    const TileLattice& lattice = *tile.Lattice(cell_size_m);
    const FloatSum* float_sums = lattice.float_sums.data();
    list.runs.push_back({lattice.places.data() + run.begin,
                         lattice.moments.data() + run.begin,
                         float_sums != nullptr ? float_sums + run.begin : nullptr,
                         {tile.origin().x(), tile.origin().y(), tile.origin().z()},
                         run.end - run.begin});
    ++list.blocks.back().end_run;
    list.entries += run.end - run.begin;
  }
  return list;
}

}  // namespace voxloc::cuda
