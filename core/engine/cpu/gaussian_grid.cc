// SPDX-License-Identifier: Apache-2.0

#include "core/engine/cpu/gaussian_grid.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "core/container/flat_table.h"
#include "core/map/cells.h"

namespace voxloc::cpu {
namespace {

GaussianRecord RecordOf(const MapCell& cell, const CellKey& at, double cell_size_m) {
  const ndt::Symmetric3<double>& b = cell.information;
  GaussianRecord record = {
      {static_cast<float>(b.xx), static_cast<float>(b.xy), static_cast<float>(b.xz),
       static_cast<float>(b.yy), static_cast<float>(b.yz), static_cast<float>(b.zz)},
      {},
      {}};
  const Eigen::Vector3d corner = CellCorner(at, cell_size_m);
  for (int axis = 0; axis < 3; ++axis) {
    record.index[axis] = static_cast<float>(cell.index[axis] - corner[axis]);
    record.mean[axis] = static_cast<float>(cell.mean[axis] - corner[axis]);
  }
  return record;
}

uint64_t NextNumber() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

using Tiles = absl::Span<const TileMoments* const>;

// Blocks made by one thread in a row: some tens of microseconds.
constexpr size_t kBlocksPerTask = 16;

template <typename T>
void SortUnique(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

template <typename T>
bool Contains(const std::vector<T>& sorted, const T& value) {
  return std::binary_search(sorted.begin(), sorted.end(), value);
}

// One tile's run of cells in a block, and the tile's position in the map's list.
struct Run {
  CellKey block;
  uint32_t position = 0;
  CellSource source;

  friend bool operator<(const Run& a, const Run& b) {
    return a.block == b.block ? a.position < b.position : a.block < b.block;
  }
};

void AppendRuns(const TileMoments& tile, size_t position, std::vector<Run>& runs) {
  for (const TileMoments::Block& block : tile.blocks) {
    runs.push_back({block.key, static_cast<uint32_t>(position), {&tile, block.begin, block.end}});
  }
}

// A block that is made because its sources are new.
struct RebuiltBlock {
  CellKey key;
  std::vector<CellSource> sources;
  std::shared_ptr<GaussianBlock> made;
};

// All blocks of these tiles.
std::vector<RebuiltBlock> AllBlocks(Tiles tiles) {
  std::vector<Run> runs;
  for (size_t i = 0; i < tiles.size(); ++i) AppendRuns(*tiles[i], i, runs);
  if (!std::is_sorted(runs.begin(), runs.end())) std::sort(runs.begin(), runs.end());
  std::vector<RebuiltBlock> blocks;
  for (const Run& run : runs) {
    if (blocks.empty() || !(blocks.back().key == run.block)) blocks.push_back({run.block, {}, {}});
    blocks.back().sources.push_back(run.source);
  }
  return blocks;
}

using Positions = FlatTable<const TileMoments*, uint32_t>;

// The positions of these tiles in a list, found in one pass. nullopt: one of them occurs more than
// once, or not at all.
std::optional<Positions> PositionsOf(const std::vector<const TileMoments*>& tiles, Tiles list) {
  constexpr uint32_t kNone = 0xffffffffU;
  Positions positions;
  for (const TileMoments* tile : tiles) {
    if (positions.Find(tile) == nullptr) positions.Insert(tile, kNone);
  }
  size_t found = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    uint32_t* const position = positions.Find(list[i]);
    if (position == nullptr) continue;
    if (*position != kNone) return std::nullopt;
    *position = static_cast<uint32_t>(i);
    ++found;
  }
  if (found != positions.size()) return std::nullopt;
  return positions;
}

// The blocks of the tiles that were added or removed; without sources if no tile is left in a
// block. nullopt: a tile is in the list twice, so that the order is ambiguous.
std::optional<std::vector<RebuiltBlock>> ChangedBlocks(Tiles tiles, const GridChange& change) {
  std::vector<Run> runs;
  for (const size_t position : change.added) AppendRuns(*tiles[position], position, runs);
  std::vector<CellKey> keys;
  for (const Run& run : runs) keys.push_back(run.block);
  std::vector<const TileMoments*> removed = change.removed;
  SortUnique(removed);
  for (const TileMoments* tile : removed) {
    for (const TileMoments::Block& block : tile->blocks) keys.push_back(block.key);
  }
  SortUnique(keys);

  // The remaining sources of these blocks.
  std::vector<const TileMoments*> involved;
  const size_t added = runs.size();
  for (const CellKey& key : keys) {
    const GaussianBlock* const before = change.previous.Find(key);
    if (before == nullptr) continue;
    for (const CellSource& source : before->sources) {
      if (Contains(removed, source.tile)) continue;
      runs.push_back({key, 0, source});
      involved.push_back(source.tile);
    }
  }
  for (const size_t position : change.added) involved.push_back(tiles[position]);
  const std::optional<Positions> positions = PositionsOf(involved, tiles);
  if (!positions.has_value()) return std::nullopt;
  for (size_t i = added; i < runs.size(); ++i) {
    runs[i].position = *positions->Find(runs[i].source.tile);
  }
  std::sort(runs.begin(), runs.end());

  std::vector<RebuiltBlock> blocks;
  blocks.reserve(keys.size());
  auto run = runs.begin();
  for (const CellKey& key : keys) {
    blocks.push_back({key, {}, {}});
    for (; run != runs.end() && run->block == key; ++run) {
      blocks.back().sources.push_back(run->source);
    }
  }
  return blocks;
}

class Composition {
 public:
  // `previous` may be null. `own` ascends by key.
  Composition(const CellStatistics& statistics, const GaussianGrid* previous,
              std::vector<RebuiltBlock> own, ThreadPool* pool)
      : statistics_(statistics), previous_(previous), rebuilt_(std::move(own)), pool_(pool) {}

  GaussianGrid Run() {
    ForEachInTasks(rebuilt_.size(), [&](size_t i, std::vector<MapCell>& cells) {
      RebuildBlock(rebuilt_[i], cells);
    });
    FindSpills();
    merged_.resize(merged_keys_.size());
    ForEachInTasks(merged_.size(), [&](size_t i, std::vector<MapCell>& cells) {
      merged_[i] = MergeBlock(merged_keys_[i], cells);
    });
    return Finish();
  }

 private:
  struct Spill {
    CellKey to;
    CellKey from;

    friend bool operator<(const Spill& a, const Spill& b) {
      return a.to == b.to ? a.from < b.from : a.to < b.to;
    }
  };

  // Calls make(i, cells) for each i below `count`; `cells` is memory to work in.
  template <typename Make>
  void ForEachInTasks(size_t count, const Make& make) {
    ParallelFor(pool_, (count + kBlocksPerTask - 1) / kBlocksPerTask, [&](size_t task) {
      std::vector<MapCell> cells;
      const size_t end = std::min(count, (task + 1) * kBlocksPerTask);
      for (size_t i = task * kBlocksPerTask; i < end; ++i) make(i, cells);
    });
  }

  // As if all its Gaussians, and no others, were found in it.
  void RebuildBlock(RebuiltBlock& block, std::vector<MapCell>& cells) const {
    cells.clear();
    ComposeBlock(block.key, block.sources, statistics_, cells);
    block.made = std::make_shared<GaussianBlock>();
    block.made->spill_targets =
        PlaceGaussians(block.key, cells, statistics_.cell_size_m, *block.made);
    block.made->sources = std::move(block.sources);
  }

  void FindSpills() {
    for (const RebuiltBlock& block : rebuilt_) {
      for (const CellKey& to : block.made->spill_targets) {
        spills_.push_back({to, block.key});
        merged_keys_.push_back(to);
      }
      const GaussianBlock* const before = PreviousBlock(block.key);
      if (before == nullptr) continue;
      merged_keys_.insert(merged_keys_.end(), before->spill_targets.begin(),
                          before->spill_targets.end());
      if (!before->spill_sources.empty()) merged_keys_.push_back(block.key);
    }
    std::sort(spills_.begin(), spills_.end());
    SortUnique(merged_keys_);
  }

  std::shared_ptr<GaussianBlock> MergeBlock(const CellKey& block,
                                            std::vector<MapCell>& cells) const {
    const GaussianBlock* const before = PreviousBlock(block);
    auto merged = std::make_shared<GaussianBlock>();
    GaussianBlock& made = *merged;
    const auto first =
        std::lower_bound(spills_.begin(), spills_.end(), block,
                         [](const Spill& spill, const CellKey& key) { return spill.to < key; });
    for (auto spill = first; spill != spills_.end() && spill->to == block; ++spill) {
      made.spill_sources.push_back(spill->from);
    }
    if (before != nullptr) {
      for (const CellKey& from : before->spill_sources) {
        if (FindRebuilt(from) == nullptr) made.spill_sources.push_back(from);
      }
    }
    std::sort(made.spill_sources.begin(), made.spill_sources.end());
    if (const GaussianBlock* const own = CurrentBlock(block); own != nullptr) {
      made.sources = own->sources;
      made.spill_targets = own->spill_targets;
    }
    // In ascending order of the blocks of their points.
    std::vector<CellKey> from = made.spill_sources;
    from.insert(std::lower_bound(from.begin(), from.end(), block), block);
    cells.clear();
    for (const CellKey& key : from) {
      const GaussianBlock* const owner = CurrentBlock(key);
      if (owner != nullptr) ComposeBlock(key, owner->sources, statistics_, cells);
    }
    (void)PlaceGaussians(block, cells, statistics_.cell_size_m, made);
    return merged;
  }

  GaussianGrid Finish() {
    std::vector<GaussianGrid::Blocks::Change> changes;
    changes.reserve(rebuilt_.size() + merged_.size());
    const auto change_to = [&](const CellKey& key, std::shared_ptr<GaussianBlock> made) {
      changes.push_back({key, std::nullopt});
      if (!made->sources.empty() || !made->records.empty()) changes.back().value = std::move(made);
    };
    for (RebuiltBlock& block : rebuilt_) {
      if (!Contains(merged_keys_, block.key)) change_to(block.key, std::move(block.made));
    }
    for (size_t i = 0; i < merged_.size(); ++i) change_to(merged_keys_[i], std::move(merged_[i]));
    const GaussianGrid empty(statistics_.cell_size_m);
    return (previous_ != nullptr ? *previous_ : empty).With(std::move(changes));
  }

  // The block in the previous grid; null if it did not exist.
  [[nodiscard]] const GaussianBlock* PreviousBlock(const CellKey& key) const {
    return previous_ == nullptr ? nullptr : previous_->Find(key);
  }
  [[nodiscard]] const RebuiltBlock* FindRebuilt(const CellKey& key) const {
    const auto at =
        std::lower_bound(rebuilt_.begin(), rebuilt_.end(), key,
                         [](const RebuiltBlock& block, const CellKey& k) { return block.key < k; });
    return at == rebuilt_.end() || !(at->key == key) ? nullptr : &*at;
  }
  // With the block's sources as they are now.
  [[nodiscard]] const GaussianBlock* CurrentBlock(const CellKey& key) const {
    const RebuiltBlock* const own = FindRebuilt(key);
    return own != nullptr ? own->made.get() : PreviousBlock(key);
  }

  const CellStatistics& statistics_;
  const GaussianGrid* const previous_;
  std::vector<RebuiltBlock> rebuilt_;
  std::vector<Spill> spills_;  // of rebuilt_, ascending
  // Blocks that contain, or contained, Gaussians of other blocks' points, ascending; and their new
  // contents.
  std::vector<CellKey> merged_keys_;
  std::vector<std::shared_ptr<GaussianBlock>> merged_;
  ThreadPool* const pool_;
};

}  // namespace

size_t GaussianBlock::MemoryBytes() const {
  return sizeof(*this) + sources.capacity() * sizeof(CellSource) +
         (spill_targets.capacity() + spill_sources.capacity()) * sizeof(CellKey) +
         begins.capacity() * sizeof(uint32_t) + records.capacity() * sizeof(GaussianRecord);
}

// A counting sort by place, which keeps the order within one.
std::vector<CellKey> PlaceGaussians(const CellKey& key, absl::Span<const MapCell> cells,
                                    double cell_size_m, GaussianBlock& block) {
  uint32_t next[kBlockCells] = {};  // first how many, then where the next one goes
  std::vector<CellKey> elsewhere;
  size_t total = 0;
  for (const MapCell& cell : cells) {
    const CellKey at = CellOf(cell.index, cell_size_m);
    if (const CellKey found_in = BlockOf(at); !(found_in == key)) {
      elsewhere.push_back(found_in);
      continue;
    }
    const uint32_t place = PlaceInBlock(at);
    block.places.Insert(place);
    ++next[place];
    ++total;
  }
  block.places.BuildRanks();
  block.begins.reserve(block.places.size() + 1);
  uint32_t begin = 0;
  block.places.ForEach([&](uint32_t place) {
    block.begins.push_back(begin);
    begin += next[place];
    next[place] = block.begins.back();
  });
  block.begins.push_back(begin);
  block.records.resize(total);
  for (const MapCell& cell : cells) {
    const CellKey at = CellOf(cell.index, cell_size_m);
    if (!(BlockOf(at) == key)) continue;
    block.records[next[PlaceInBlock(at)]++] = RecordOf(cell, at, cell_size_m);
  }
  SortUnique(elsewhere);
  return elsewhere;
}

GaussianGrid::GaussianGrid(double cell_size_m) : id_(NextNumber()), cell_size_m_(cell_size_m) {}

GaussianGrid GaussianGrid::With(std::vector<Blocks::Change> changes) const {
  GaussianGrid next(cell_size_m_);
  next.size_ = size_;
  next.block_bytes_ = block_bytes_;
  for (const Blocks::Change& change : changes) {
    if (const GaussianBlock* const old = Find(change.block); old != nullptr) {
      next.size_ -= old->records.size();
      next.block_bytes_ -= old->MemoryBytes();
    }
    if (change.value.has_value()) {
      next.size_ += (*change.value)->records.size();
      next.block_bytes_ += (*change.value)->MemoryBytes();
    }
  }
  next.blocks_ = blocks_.With(std::move(changes));
  return next;
}

std::vector<std::pair<CellKey, const GaussianBlock*>> GaussianGrid::BlocksMeeting(
    const Eigen::Vector3d& min, const Eigen::Vector3d& max) const {
  std::vector<std::pair<CellKey, const GaussianBlock*>> found;
  const auto wanted = [&](const CellKey& first, const CellKey& last) {
    return MayContainMeans(first, last, cell_size_m_, min, max);
  };
  blocks_.ForEachIn(wanted,
                    [&](const CellKey& key, const std::shared_ptr<const GaussianBlock>& block) {
                      if (!block->sources.empty() && wanted(key, key)) {
                        found.emplace_back(key, block.get());
                      }
                    });
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return found;
}

GaussianGrid ComposeGrid(Tiles tiles, const CellStatistics& statistics, const GridChange* change,
                         ThreadPool* pool) {
  if (change != nullptr) {
    if (auto changed = ChangedBlocks(tiles, *change); changed.has_value()) {
      return Composition(statistics, &change->previous, *std::move(changed), pool).Run();
    }
  }
  return Composition(statistics, nullptr, AllBlocks(tiles), pool).Run();
}

}  // namespace voxloc::cpu
