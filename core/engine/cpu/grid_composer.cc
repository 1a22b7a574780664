// SPDX-License-Identifier: Apache-2.0

#include "core/engine/cpu/grid_composer.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "core/container/flat_table.h"
#include "core/map/cells.h"

namespace voxloc::cpu {
namespace {

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
struct OwnBlock {
  CellKey key;
  std::vector<CellSource> sources;
  std::shared_ptr<GaussianBlock> made;
};

// All blocks of these tiles.
std::vector<OwnBlock> AllBlocks(Tiles tiles) {
  std::vector<Run> runs;
  for (size_t i = 0; i < tiles.size(); ++i) AppendRuns(*tiles[i], i, runs);
  if (!std::is_sorted(runs.begin(), runs.end())) std::sort(runs.begin(), runs.end());
  std::vector<OwnBlock> blocks;
  for (const Run& run : runs) {
    if (blocks.empty() || !(blocks.back().key == run.block)) blocks.push_back({run.block, {}, {}});
    blocks.back().sources.push_back(run.source);
  }
  return blocks;
}

using Positions = FlatTable<const TileMoments*, uint32_t>;

// Where these tiles stand in a list, which is looked through once. Nothing where one of them is
// there more than once, or not at all.
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

// The blocks of the tiles that came or went; without sources where no tile is left there. Nothing
// where a tile is in the list twice: who stands before whom is then not known.
std::optional<std::vector<OwnBlock>> ChangedBlocks(Tiles tiles, const GridChange& change) {
  std::vector<Run> runs;
  for (const size_t position : change.came) AppendRuns(*tiles[position], position, runs);
  std::vector<CellKey> keys;
  for (const Run& run : runs) keys.push_back(run.block);
  std::vector<const TileMoments*> gone = change.gone;
  SortUnique(gone);
  for (const TileMoments* tile : gone) {
    for (const TileMoments::Block& block : tile->blocks) keys.push_back(block.key);
  }
  SortUnique(keys);

  // What stays of these blocks' sources.
  std::vector<const TileMoments*> involved;
  const size_t came = runs.size();
  for (const CellKey& key : keys) {
    const GaussianBlock* const before = change.previous.Find(key);
    if (before == nullptr) continue;
    for (const CellSource& source : before->sources) {
      if (Contains(gone, source.tile)) continue;
      runs.push_back({key, 0, source});
      involved.push_back(source.tile);
    }
  }
  for (const size_t position : change.came) involved.push_back(tiles[position]);
  const std::optional<Positions> positions = PositionsOf(involved, tiles);
  if (!positions.has_value()) return std::nullopt;
  for (size_t i = came; i < runs.size(); ++i) {
    runs[i].position = *positions->Find(runs[i].source.tile);
  }
  std::sort(runs.begin(), runs.end());

  std::vector<OwnBlock> blocks;
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
              std::vector<OwnBlock> own, ThreadPool* pool)
      : statistics_(statistics), previous_(previous), own_(std::move(own)), pool_(pool) {}

  GaussianGrid Run() {
    InTasks(own_.size(), [&](size_t i, std::vector<MapCell>& cells) { MakeOwn(own_[i], cells); });
    FindStrays();
    mixed_.resize(mixed_keys_.size());
    InTasks(mixed_.size(), [&](size_t i, std::vector<MapCell>& cells) {
      mixed_[i] = MakeMixed(mixed_keys_[i], cells);
    });
    return Finish();
  }

 private:
  struct Stray {
    CellKey to;
    CellKey from;

    friend bool operator<(const Stray& a, const Stray& b) {
      return a.to == b.to ? a.from < b.from : a.to < b.to;
    }
  };

  // Calls make(i, cells) for each i below `count`; `cells` is memory to work in.
  template <typename Make>
  void InTasks(size_t count, const Make& make) {
    ParallelFor(pool_, (count + kBlocksPerTask - 1) / kBlocksPerTask, [&](size_t task) {
      std::vector<MapCell> cells;
      const size_t end = std::min(count, (task + 1) * kBlocksPerTask);
      for (size_t i = task * kBlocksPerTask; i < end; ++i) make(i, cells);
    });
  }

  // As if all its Gaussians, and no others, were found in it.
  void MakeOwn(OwnBlock& block, std::vector<MapCell>& cells) const {
    cells.clear();
    ComposeBlock(block.key, block.sources, statistics_, cells);
    block.made = std::make_shared<GaussianBlock>();
    block.made->strays_to = PlaceGaussians(block.key, cells, statistics_.cell_size_m, *block.made);
    block.made->sources = std::move(block.sources);
  }

  void FindStrays() {
    for (const OwnBlock& block : own_) {
      for (const CellKey& to : block.made->strays_to) {
        strays_.push_back({to, block.key});
        mixed_keys_.push_back(to);
      }
      const GaussianBlock* const before = Before(block.key);
      if (before == nullptr) continue;
      mixed_keys_.insert(mixed_keys_.end(), before->strays_to.begin(), before->strays_to.end());
      if (!before->strays_from.empty()) mixed_keys_.push_back(block.key);
    }
    std::sort(strays_.begin(), strays_.end());
    SortUnique(mixed_keys_);
  }

  std::shared_ptr<GaussianBlock> MakeMixed(const CellKey& block,
                                           std::vector<MapCell>& cells) const {
    const GaussianBlock* const before = Before(block);
    auto mixed = std::make_shared<GaussianBlock>();
    GaussianBlock& made = *mixed;
    const auto first =
        std::lower_bound(strays_.begin(), strays_.end(), block,
                         [](const Stray& stray, const CellKey& key) { return stray.to < key; });
    for (auto stray = first; stray != strays_.end() && stray->to == block; ++stray) {
      made.strays_from.push_back(stray->from);
    }
    if (before != nullptr) {
      for (const CellKey& from : before->strays_from) {
        if (FindOwn(from) == nullptr) made.strays_from.push_back(from);
      }
    }
    std::sort(made.strays_from.begin(), made.strays_from.end());
    if (const GaussianBlock* const own = Now(block); own != nullptr) {
      made.sources = own->sources;
      made.strays_to = own->strays_to;
    }
    // In ascending order of the blocks of their points.
    std::vector<CellKey> from = made.strays_from;
    from.insert(std::lower_bound(from.begin(), from.end(), block), block);
    cells.clear();
    for (const CellKey& key : from) {
      const GaussianBlock* const owner = Now(key);
      if (owner != nullptr) ComposeBlock(key, owner->sources, statistics_, cells);
    }
    (void)PlaceGaussians(block, cells, statistics_.cell_size_m, made);
    return mixed;
  }

  GaussianGrid Finish() {
    std::vector<GaussianGrid::Blocks::Change> changes;
    changes.reserve(own_.size() + mixed_.size());
    const auto change_to = [&](const CellKey& key, std::shared_ptr<GaussianBlock> made) {
      changes.push_back({key, std::nullopt});
      if (!made->sources.empty() || !made->records.empty()) changes.back().value = std::move(made);
    };
    for (OwnBlock& block : own_) {
      if (!Contains(mixed_keys_, block.key)) change_to(block.key, std::move(block.made));
    }
    for (size_t i = 0; i < mixed_.size(); ++i) change_to(mixed_keys_[i], std::move(mixed_[i]));
    const GaussianGrid empty(statistics_.cell_size_m);
    return (previous_ != nullptr ? *previous_ : empty).With(std::move(changes));
  }

  // What the block was, null where it was not.
  [[nodiscard]] const GaussianBlock* Before(const CellKey& key) const {
    return previous_ == nullptr ? nullptr : previous_->Find(key);
  }
  [[nodiscard]] const OwnBlock* FindOwn(const CellKey& key) const {
    const auto at =
        std::lower_bound(own_.begin(), own_.end(), key,
                         [](const OwnBlock& block, const CellKey& k) { return block.key < k; });
    return at == own_.end() || !(at->key == key) ? nullptr : &*at;
  }
  // With the block's sources as they are now.
  [[nodiscard]] const GaussianBlock* Now(const CellKey& key) const {
    const OwnBlock* const own = FindOwn(key);
    return own != nullptr ? own->made.get() : Before(key);
  }

  const CellStatistics& statistics_;
  const GaussianGrid* const previous_;
  std::vector<OwnBlock> own_;
  std::vector<Stray> strays_;  // of own_, ascending
  // Blocks in which Gaussians of other blocks' points are or were found, ascending, and what they
  // have become.
  std::vector<CellKey> mixed_keys_;
  std::vector<std::shared_ptr<GaussianBlock>> mixed_;
  ThreadPool* const pool_;
};

}  // namespace

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
