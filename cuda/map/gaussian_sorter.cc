// SPDX-License-Identifier: Apache-2.0

#include "cuda/map/gaussian_sorter.h"

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

namespace {

// Strays are few; where they are not, their number is known after the first attempt.
constexpr uint32_t kInitialSpillCapacity = 4096;
// One bit of a key of 64 is for entries without a Gaussian.
constexpr int kMaxKeyBits = 63;

absl::StatusOr<IndexKeyLayout> LayoutFor(const BlockBox& box) {
  IndexKeyLayout layout{};
  const int64_t sizes[3] = {box.SizeX(), box.SizeY(), box.SizeZ()};
  const int32_t firsts[3] = {box.first.x, box.first.y, box.first.z};
  for (int axis = 0; axis < 3; ++axis) {
    layout.first[axis] = firsts[axis];
    layout.size[axis] = static_cast<uint32_t>(sizes[axis]);
    layout.bits[axis] = BitsFor(static_cast<uint64_t>(sizes[axis] - 1));
  }
  if (layout.KeyBits() > kMaxKeyBits) {
    return absl::InvalidArgumentError(
        absl::StrCat("the map must span at most 2^", kMaxKeyBits - 3 * kBlockBits, " blocks of ",
                     kBlockSize, " cells (got ", sizes[0], " x ", sizes[1], " x ", sizes[2], ")"));
  }
  return layout;
}

}  // namespace

absl::Status GaussianSorter::Reserve(const SourceList& sources) {
  const size_t entries = sources.entries;
  VOXLOC_TRY(sources_.Reserve(entries));
  VOXLOC_TRY(keys_.Reserve(2 * entries));
  VOXLOC_TRY(numbers_.Reserve(2 * entries));
  VOXLOC_TRY(gaussians_.Reserve(entries));
  VOXLOC_TRY(counts_.Reserve(1 + sources.blocks.size()));
  VOXLOC_TRY(spills_.Reserve(kInitialSpillCapacity));
  VOXLOC_CUDA_TRY(*device_, ScratchBytes(sources.entries, &scratch_bytes_),
                  "sizing the sort of a map's cells");
  return scratch_.Reserve(scratch_bytes_);
}

GaussianArrays GaussianSorter::Arrays() const {
  return {sources_.data(),
          keys_.data(),
          numbers_.data(),
          gaussians_.data(),
          counts_.data() + 1,
          spills_.data(),
          static_cast<uint32_t>(spills_.capacity()),
          counts_.data()};
}

absl::StatusOr<GaussianReport> GaussianSorter::Compute(const SourceList& sources,
                                                       const CellStatistics& statistics,
                                                       const BlockBox& key_box,
                                                       const Stream& stream) {
  GaussianReport report;
  report.gaussians_per_block.resize(sources.blocks.size());
  entries_ = sources.entries;
  sorted_ = {};
  if (entries_ == 0) return report;
  VOXLOC_ASSIGN_OR_RETURN(const IndexKeyLayout layout, LayoutFor(key_box));
  VOXLOC_TRY(Reserve(sources));
  SourceTable table{};
  table.block_count = static_cast<uint32_t>(sources.blocks.size());
  table.entries = entries_;
  upload_.Add(sources.runs, &table.runs);
  upload_.Add(sources.blocks, &table.blocks);
  VOXLOC_TRY(upload_.Send(stream));

  uint32_t spills = 0;
  for (;;) {
    VOXLOC_CUDA_TRY(*device_,
                    ComputeGaussians(table, CellRules(statistics), layout, Arrays(), stream.get()),
                    "computing a map's cells");
    VOXLOC_ASSIGN_OR_RETURN(const uint32_t* const counts,
                            host_.Fetch(counts_.data(), 1 + report.gaussians_per_block.size(),
                                        stream, "counting a map's cells"));
    spills = counts[0];
    std::copy_n(counts + 1, report.gaussians_per_block.size(), report.gaussians_per_block.begin());
    if (spills <= spills_.capacity()) break;
    VOXLOC_TRY(spills_.Reserve(spills));
  }
  if (spills > 0) {
    VOXLOC_ASSIGN_OR_RETURN(
        const Spill* const fetched,
        host_.Fetch(spills_.data(), spills, stream, "fetching where a map's cells are found"));
    report.spills.assign(fetched, fetched + spills);
  }
  sorted_.gaussians = gaussians_.data();
  sorted_.layout = layout;
  sorted_.cell_size_m = static_cast<float>(statistics.cell_size_m);
  sorted_.float_index = statistics.float_index;
  return report;
}

absl::StatusOr<SortedGaussians> GaussianSorter::Sort(const Stream& stream) {
  if (entries_ == 0) return sorted_;
  SortBuffers<uint64_t> buffers = {{keys_.data(), keys_.data() + entries_},
                                   {numbers_.data(), numbers_.data() + entries_}};
  VOXLOC_CUDA_TRY(*device_,
                  SortByKey({scratch_.data(), scratch_bytes_}, buffers, entries_,
                            sorted_.layout.KeyBits() + 1, stream.get()),
                  "sorting a map's cells");
  sorted_.keys = buffers.keys[0];
  sorted_.numbers = buffers.values[0];
  sorted_.count = entries_;
  return sorted_;
}

}  // namespace voxloc::cuda
