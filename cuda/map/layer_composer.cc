// SPDX-License-Identifier: Apache-2.0

#include "cuda/map/layer_composer.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace voxloc::cuda {
namespace {

// Buffers for more cells are freed after the composition.
constexpr size_t kMaxKeptEntries = size_t{1} << 20;
// Attempts to find the blocks of all Gaussians; each uses the spills found by the one before.
constexpr int kMaxAttempts = 3;

using SpillMap = BlockMap<std::vector<CellKey>>;

void AddOnce(const CellKey& block, std::vector<CellKey>& blocks) {
  if (std::find(blocks.begin(), blocks.end(), block) == blocks.end()) blocks.push_back(block);
}

// The box around all blocks that may have a list.
BlockBox RegionOf(absl::Span<const std::shared_ptr<const CudaTile>> tiles, double cell_size_m) {
  BlockBox box;
  for (const auto& tile : tiles) box.Include(tile->Lattice(cell_size_m)->box);
  return box.Dilated();
}

// The blocks in which the changed tiles have cells, in one map or the other.
BlockSet BlocksOf(absl::Span<const CudaTile* const> tiles, double cell_size_m) {
  BlockBox box;
  for (const CudaTile* tile : tiles) box.Include(tile->Lattice(cell_size_m)->box);
  BlockSet blocks(box);
  for (const CudaTile* tile : tiles) {
    for (const TileMoments::Block& block : tile->Lattice(cell_size_m)->blocks) {
      blocks.Insert(block.key);
    }
  }
  return blocks;
}

// Sets the list of the block, or removes it if it is empty.
SpillMap::Change ChangeTo(const CellKey& block, std::vector<CellKey> list) {
  if (list.empty()) return {block, std::nullopt};
  std::sort(list.begin(), list.end());
  return {block, std::move(list)};
}

// Updates the layer's strays: `now` has those of the blocks in `owners`; an owner without an entry
// has none. All other blocks keep the lists of `previous` (may be null).
void UpdateSpills(const std::map<CellKey, std::vector<CellKey>>& now,
                  const std::vector<CellKey>& owners, const MapLayer* previous, MapLayer& layer) {
  static const SpillMap kNone;
  const SpillMap& to_before = previous != nullptr ? previous->spill_targets : kNone;
  const SpillMap& from_before = previous != nullptr ? previous->spill_sources : kNone;
  std::vector<SpillMap::Change> to;
  // By target block, before or now.
  std::map<CellKey, std::vector<CellKey>> from;
  const auto from_list = [&](const CellKey& block) -> std::vector<CellKey>& {
    const auto [list, is_new] = from.try_emplace(block);
    const std::vector<CellKey>* const before = is_new ? from_before.Find(block) : nullptr;
    if (before != nullptr) list->second = *before;
    return list->second;
  };
  for (const CellKey& owner : owners) {
    const std::vector<CellKey>* const before = to_before.Find(owner);
    if (before != nullptr) {
      for (const CellKey& block : *before) {
        std::vector<CellKey>& list = from_list(block);
        list.erase(std::remove(list.begin(), list.end(), owner), list.end());
      }
    }
    const auto found = now.find(owner);
    if (found != now.end()) {
      for (const CellKey& block : found->second) AddOnce(owner, from_list(block));
      to.push_back(ChangeTo(owner, found->second));
    } else if (before != nullptr) {
      to.push_back(ChangeTo(owner, {}));
    }
  }
  std::vector<SpillMap::Change> from_changes;
  for (auto& [block, list] : from) from_changes.push_back(ChangeTo(block, std::move(list)));
  layer.spill_targets = to_before.With(std::move(to));
  layer.spill_sources = from_before.With(std::move(from_changes));
}

// The set with these blocks added.
BlockSet With(const BlockSet& set, const std::vector<CellKey>& more) {
  BlockBox box = set.box();
  for (const CellKey& block : more) box.Include(block);
  BlockSet all(box);
  for (const CellKey& block : set.Blocks()) all.Insert(block);
  for (const CellKey& block : more) all.Insert(block);
  return all;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LayerComposer>> LayerComposer::Create(
    std::shared_ptr<Device> device) {
  VOXLOC_TRY(device->MakeCurrent());
  VOXLOC_ASSIGN_OR_RETURN(Stream stream, Stream::Create(device, Priority::kLow));
  return std::unique_ptr<LayerComposer>(new LayerComposer(std::move(device), std::move(stream)));
}

LayerComposer::LayerComposer(std::shared_ptr<Device> device, Stream stream)
    : device_(std::move(device)),
      buffers_(std::make_unique<Buffers>(device_)),
      stream_(std::move(stream)) {}

void LayerComposer::ReleaseMemory() {
  stream_.Drain();  // after an error work may still be queued that uses it
  buffers_ = std::make_unique<Buffers>(device_);
}

absl::Status LayerComposer::Compose(Tiles tiles, const CellStatistics& statistics,
                                    const Change* change, MapLayer& layer) {
  const DrainAtExit drain(stream_);  // the layer's memory may go after this
  absl::Status status = Run(tiles, statistics, change, layer);
  if (!status.ok() || buffers_->sorter.capacity() > kMaxKeptEntries) ReleaseMemory();
  return status;
}

absl::Status LayerComposer::Run(Tiles tiles, const CellStatistics& statistics, const Change* change,
                                MapLayer& layer) {
  BlockBox region = RegionOf(tiles, statistics.cell_size_m);
  Spills spills;
  VOXLOC_ASSIGN_OR_RETURN(const std::vector<CellKey> targets,
                          change == nullptr
                              ? GatherAll(tiles, statistics, region, spills, layer)
                              : GatherChanged(tiles, statistics, *change, spills, layer));
  for (const auto& [owner, blocks] : spills) {
    for (const CellKey& block : blocks) {
      BlockBox around;
      around.Include(block);
      region.Include(around.Dilated());
    }
  }
  VOXLOC_ASSIGN_OR_RETURN(const SortedGaussians sorted, buffers_->sorter.Sort(stream_));
  return buffers_->store.Fill(sorted, targets, change == nullptr ? nullptr : &change->previous,
                              region, statistics.cell_size_m, stream_, layer);
}

absl::StatusOr<std::vector<CellKey>> LayerComposer::GatherAll(Tiles tiles,
                                                              const CellStatistics& statistics,
                                                              const BlockBox& region,
                                                              Spills& spills, MapLayer& layer) {
  VOXLOC_ASSIGN_OR_RETURN(
      const SourceList sources,
      CollectSources(tiles, statistics.cell_size_m, {region}, [](const CellKey&) { return true; }));
  BlockBox key_box = region;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    VOXLOC_ASSIGN_OR_RETURN(const GaussianReport report,
                            buffers_->sorter.Compute(sources, statistics, key_box, stream_));
    BlockBox with_spills = key_box;
    for (const Spill& spill : report.spills) with_spills.Include(spill.block);
    if (!key_box.Contains(with_spills)) {
      key_box = with_spills;
      continue;
    }
    BlockSet index_blocks(key_box);
    for (size_t b = 0; b < report.gaussians_per_block.size(); ++b) {
      if (report.gaussians_per_block[b] > 0) index_blocks.Insert(sources.blocks[b].key);
    }
    std::vector<CellKey> owners;
    for (const Spill& spill : report.spills) {
      index_blocks.Insert(spill.block);
      const auto [list, is_new] = spills.try_emplace(sources.blocks[spill.source_block].key);
      if (is_new) owners.push_back(list->first);
      AddOnce(spill.block, list->second);
    }
    UpdateSpills(spills, owners, nullptr, layer);
    return index_blocks.Dilated().Blocks();
  }
  return absl::InternalError("a map's cells are not found twice in the same places");
}

absl::StatusOr<std::vector<CellKey>> LayerComposer::GatherChanged(Tiles tiles,
                                                                  const CellStatistics& statistics,
                                                                  const Change& change,
                                                                  Spills& spills, MapLayer& layer) {
  const BlockSet changed = BlocksOf(change.tiles, statistics.cell_size_m);
  const std::vector<CellKey> changed_blocks = changed.Blocks();
  // Other blocks in which Gaussians of changed blocks are, or were, indexed.
  std::vector<CellKey> beyond;
  for (const CellKey& owner : changed_blocks) {
    const std::vector<CellKey>* const blocks = change.previous.spill_targets.Find(owner);
    if (blocks != nullptr) beyond.insert(beyond.end(), blocks->begin(), blocks->end());
  }
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    const BlockSet dirty = With(changed, beyond);
    const BlockSet targets = dirty.Dilated();
    const BlockSet needed = targets.Dilated();
    // Needed blocks lie within two blocks of the dirty ones. Also needed are the owners of
    // Gaussians that are indexed in needed blocks.
    std::vector<BlockBox> regions;
    const auto add_region = [&regions](const BlockBox& box) {
      regions.push_back(box.Dilated().Dilated());
    };
    for (const CudaTile* tile : change.tiles) {
      add_region(tile->Lattice(statistics.cell_size_m)->box);
    }
    BlockBox beyond_box;
    for (const CellKey& block : beyond) beyond_box.Include(block);
    add_region(beyond_box);
    std::set<CellKey> owners;  // few, if any
    BlockBox owner_box;
    for (const CellKey& block : needed.Blocks()) {
      const std::vector<CellKey>* const from = change.previous.spill_sources.Find(block);
      if (from == nullptr) continue;
      owners.insert(from->begin(), from->end());
      for (const CellKey& owner : *from) owner_box.Include(owner);
    }
    regions.push_back(owner_box);
    VOXLOC_ASSIGN_OR_RETURN(
        const SourceList sources,
        CollectSources(tiles, statistics.cell_size_m, regions, [&](const CellKey& block) {
          return needed.Contains(block) || owners.count(block) > 0;
        }));
    VOXLOC_ASSIGN_OR_RETURN(const GaussianReport report,
                            buffers_->sorter.Compute(sources, statistics, needed.box(), stream_));
    bool complete = true;
    for (const Spill& spill : report.spills) {
      const CellKey owner = sources.blocks[spill.source_block].key;
      if (!changed.Contains(owner)) continue;
      AddOnce(spill.block, spills[owner]);
      if (dirty.Contains(spill.block)) continue;
      beyond.push_back(spill.block);
      complete = false;
    }
    if (!complete) continue;
    UpdateSpills(spills, changed_blocks, &change.previous, layer);
    return targets.Blocks();
  }
  return absl::InternalError("a tile's cells are not found twice in the same places");
}

}  // namespace voxloc::cuda
