// SPDX-License-Identifier: Apache-2.0

#include "cuda/map/map_builder.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core/engine/job_check.h"
#include "core/map/tile_catalogue.h"
#include "core/parallel/processors.h"
#include "cuda/map/gaussian_sorter.h"
#include "cuda/map/layer_store.h"
#include "cuda/map/tile_builder.h"
#include "cuda/runtime/stream.h"

namespace voxloc::cuda {
namespace {

using Tiles = absl::Span<const std::shared_ptr<const CudaTile>>;

// Concurrent calls; more of them would not be faster and would cost memory.
constexpr size_t kMaxTileBuilders = 2;
constexpr size_t kMaxComposers = 2;

// Threads, where the machine has the processors. Eight take 0.8 ms to stage the 12 MB of a million
// points, three take 1.1 ms (docs/performance.md, "Builds"). The layers of both profiles are five,
// of which one takes as long as the others together.
constexpr size_t kMaxThreads = 8;

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

// LayerComposer: from the moments of tiles to one layer of a map, on the device. A workspace with a
// stream of low priority and memory of its own; used by one thread at a time.
//
// A layer is made in two steps: the Gaussians of the source blocks, sorted by the lattice cell of
// their index position; then the chunks of the target blocks, those with a Gaussian in them or in a
// neighbouring block. After a change of few tiles only the targets near these tiles are remade; the
// other chunks are shared with the previous map.
class LayerComposer {
 public:
  static absl::StatusOr<std::unique_ptr<LayerComposer>> Create(std::shared_ptr<Device> device) {
    VOXLOC_TRY(device->MakeCurrent());
    VOXLOC_ASSIGN_OR_RETURN(Stream stream, Stream::Create(device, Priority::kLow));
    return std::unique_ptr<LayerComposer>(new LayerComposer(std::move(device), std::move(stream)));
  }

  ~LayerComposer() { Drain(); }
  LayerComposer(const LayerComposer&) = delete;
  LayerComposer& operator=(const LayerComposer&) = delete;

  // Waits for all work that is queued.
  void Drain() const noexcept { stream_.Drain(); }

  // A map whose tiles have changed, as one of its layers sees it.
  struct Change {
    const MapLayer& previous;
    std::vector<const CudaTile*> tiles;  // added and removed
  };

  // Fills `layer`, which is empty. `change` null: from scratch. The tiles have the lattice of the
  // statistics. The device must be current. Done when it returns. InvalidArgument: the map spans
  // too many blocks of cells; ResourceExhausted: no memory.
  absl::Status Compose(Tiles tiles, const CellStatistics& statistics, const Change* change,
                       MapLayer& layer) {
    const DrainAtExit drain(stream_);  // the layer's memory may go after this
    absl::Status status = Run(tiles, statistics, change, layer);
    if (!status.ok() || buffers_->sorter.capacity() > kMaxKeptEntries) ReleaseMemory();
    return status;
  }

  // Frees the buffers kept for the next layer.
  void ReleaseMemory() {
    stream_.Drain();  // after an error work may still be queued that uses it
    buffers_ = std::make_unique<Buffers>(device_);
  }

 private:
  // Device memory, kept from layer to layer unless one was very large.
  struct Buffers {
    explicit Buffers(const std::shared_ptr<Device>& device) : sorter(device), store(device) {}

    GaussianSorter sorter;
    LayerStore store;
  };

  LayerComposer(std::shared_ptr<Device> device, Stream stream)
      : device_(std::move(device)),
        buffers_(std::make_unique<Buffers>(device_)),
        stream_(std::move(stream)) {}

  using Spills = std::map<CellKey, std::vector<CellKey>>;

  absl::Status Run(Tiles tiles, const CellStatistics& statistics, const Change* change,
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

  // Both compute the Gaussians that the targets need and return the targets. `spills` get, for each
  // block concerned, the other blocks in which its Gaussians are indexed; those of the whole layer
  // go to `layer`.
  absl::StatusOr<std::vector<CellKey>> GatherAll(Tiles tiles, const CellStatistics& statistics,
                                                 const BlockBox& region, Spills& spills,
                                                 MapLayer& layer) {
    VOXLOC_ASSIGN_OR_RETURN(const SourceList sources,
                            CollectSources(tiles, statistics.cell_size_m, {region},
                                           [](const CellKey&) { return true; }));
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
  absl::StatusOr<std::vector<CellKey>> GatherChanged(Tiles tiles, const CellStatistics& statistics,
                                                     const Change& change, Spills& spills,
                                                     MapLayer& layer) {
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

  const std::shared_ptr<Device> device_;
  std::unique_ptr<Buffers> buffers_;
  Stream stream_;
};

absl::Status CheckTiles(Tiles tiles, absl::Span<const CellStatistics> statistics,
                        const Device& device) {
  for (const auto& tile : tiles) {
    if (tile == nullptr || &tile->device() != &device) {
      return absl::InvalidArgumentError("a tile does not belong to this CUDA device");
    }
    for (const CellStatistics& s : statistics) {
      const TileLattice* lattice = tile->Lattice(s.cell_size_m);
      VOXLOC_TRY(CheckLattice(s, lattice != nullptr,
                              lattice != nullptr && lattice->float_sums.data() != nullptr));
    }
  }
  return absl::OkStatus();
}

// Largest layers first, to balance the threads.
std::vector<size_t> FinestFirst(absl::Span<const CellStatistics> statistics) {
  std::vector<size_t> order(statistics.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return statistics[a].cell_size_m < statistics[b].cell_size_m;
  });
  return order;
}

}  // namespace

// MapComposer: from the moments of tiles to a map, on the device: its layers at the same time, each
// by a LayerComposer of its own. While the host plans one, the device works on others. Used by one
// thread at a time.
class MapComposer {
 public:
  // The pool must outlive it.
  MapComposer(std::shared_ptr<Device> device, ThreadPool& threads)
      : device_(std::move(device)), threads_(threads) {}
  MapComposer(const MapComposer&) = delete;
  MapComposer& operator=(const MapComposer&) = delete;

  // Waits for all work that is queued.
  void Drain() const noexcept {
    for (const auto& composer : layer_composers_) composer->Drain();
  }

  // See MapBuilder::Compose. The device must be current.
  absl::StatusOr<std::shared_ptr<const CudaMap>> Compose(
      Tiles tiles, absl::Span<const CellStatistics> statistics, const CudaMap* previous) {
    VOXLOC_TRY(CheckTiles(tiles, statistics, *device_));
    while (layer_composers_.size() < statistics.size()) {
      VOXLOC_ASSIGN_OR_RETURN(std::unique_ptr<LayerComposer> composer,
                              LayerComposer::Create(device_));
      layer_composers_.push_back(std::move(composer));
    }
    TileChange change;
    std::vector<const CudaTile*> changed;
    if (previous != nullptr && &previous->device() == device_.get()) {
      change = CompareTiles(PointersTo(previous->tiles()), PointersTo(tiles));
      for (const size_t i : change.removed) changed.push_back(previous->tiles()[i].get());
      for (const size_t i : change.added) changed.push_back(tiles[i].get());
    }

    std::vector<MapLayer> layers(statistics.size());
    const auto compose = [&](size_t i) -> absl::Status {
      const MapLayer* known = change.incremental ? previous->Layer(statistics[i]) : nullptr;
      LayerComposer& composer = *layer_composers_[i];
      if (known == nullptr) return composer.Compose(tiles, statistics[i], nullptr, layers[i]);
      if (changed.empty()) {
        layers[i] = *known;
        return absl::OkStatus();
      }
      const LayerComposer::Change layer_change = {*known, changed};
      return composer.Compose(tiles, statistics[i], &layer_change, layers[i]);
    };
    const std::vector<size_t> order = FinestFirst(statistics);
    std::vector<absl::Status> statuses(statistics.size());
    threads_.ParallelFor(order.size(), [&](size_t k) {
      const size_t i = order[k];
      statuses[i] = device_->MakeCurrent();
      if (statuses[i].ok()) statuses[i] = compose(i);
    });
    for (size_t i = 0; i < statuses.size(); ++i) {
      if (!absl::IsResourceExhausted(statuses[i])) continue;
      // Retry alone, with the memory of the other composers freed.
      for (const auto& composer : layer_composers_) composer->ReleaseMemory();
      layers[i] = MapLayer();
      statuses[i] = compose(i);
    }
    for (absl::Status& status : statuses) VOXLOC_TRY(std::move(status));
    return std::make_shared<const CudaMap>(
        device_, std::vector<std::shared_ptr<const CudaTile>>(tiles.begin(), tiles.end()),
        std::vector<CellStatistics>(statistics.begin(), statistics.end()), std::move(layers));
  }

 private:
  const std::shared_ptr<Device> device_;
  ThreadPool& threads_;
  // Of each statistics, in their order.
  std::vector<std::unique_ptr<LayerComposer>> layer_composers_;
};

absl::StatusOr<std::unique_ptr<MapBuilder>> MapBuilder::Create(std::shared_ptr<Device> device) {
  VOXLOC_TRY(device->MakeCurrent());
  return std::unique_ptr<MapBuilder>(new MapBuilder(std::move(device)));
}

MapBuilder::MapBuilder(std::shared_ptr<Device> device)
    : device_(std::move(device)),
      threads_(std::min(UsableProcessors(), kMaxThreads)),
      tile_builders_(kMaxTileBuilders, [this] { return TileBuilder::Create(device_, threads_); }),
      composers_(kMaxComposers,
                 [this] { return std::make_unique<MapComposer>(device_, threads_); }) {}

MapBuilder::~MapBuilder() = default;

absl::StatusOr<std::shared_ptr<const CudaTile>> MapBuilder::BuildTile(
    const PointCloud& cloud_map, absl::Span<const CellStatistics> statistics) {
  VOXLOC_TRY(device_->MakeCurrent());
  VOXLOC_ASSIGN_OR_RETURN(Pool<TileBuilder>::Lease builder, tile_builders_.Acquire());
  return builder->Build(cloud_map, statistics);
}

absl::StatusOr<std::shared_ptr<const CudaMap>> MapBuilder::Compose(
    absl::Span<const std::shared_ptr<const CudaTile>> tiles,
    absl::Span<const CellStatistics> statistics, const CudaMap* previous) {
  VOXLOC_TRY(device_->MakeCurrent());
  VOXLOC_ASSIGN_OR_RETURN(Pool<MapComposer>::Lease composer, composers_.Acquire());
  return composer->Compose(tiles, statistics, previous);
}

}  // namespace voxloc::cuda
