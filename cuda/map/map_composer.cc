// SPDX-License-Identifier: Apache-2.0

#include "cuda/map/map_composer.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace voxloc::cuda {
namespace {

// Work memory for more cells is not kept.
constexpr size_t kMaxKeptEntries = size_t{1} << 20;
// Attempts to learn where all Gaussians of a change lie: the second knows what the first has found.
constexpr int kMaxAttempts = 3;

using Strays = absl::flat_hash_map<CellKey, std::vector<CellKey>>;

void AddStray(const CellKey& owner, const CellKey& stray, Strays& strays) {
  std::vector<CellKey>& blocks = strays[owner];
  if (std::find(blocks.begin(), blocks.end(), stray) == blocks.end()) blocks.push_back(stray);
}

CellKey KeyOf(const Stray& stray) { return {stray.x, stray.y, stray.z}; }

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

absl::StatusOr<std::unique_ptr<MapComposer>> MapComposer::Create(std::shared_ptr<Device> device) {
  VOXLOC_TRY(device->MakeCurrent());
  absl::StatusOr<Stream> stream = Stream::Create(device, Priority::kLow);
  if (!stream.ok()) return stream.status();
  return std::unique_ptr<MapComposer>(new MapComposer(std::move(device), *std::move(stream)));
}

MapComposer::MapComposer(std::shared_ptr<Device> device, Stream stream)
    : device_(std::move(device)),
      buffers_(std::make_unique<Buffers>(device_)),
      stream_(std::move(stream)) {}

absl::StatusOr<std::shared_ptr<const CudaMap>> MapComposer::Compose(
    Tiles tiles, absl::Span<const CellStatistics> statistics, const CudaMap* previous) {
  for (const CellStatistics& s : statistics) VOXLOC_TRY(ValidateCellStatistics(s));
  for (const auto& tile : tiles) {
    if (tile == nullptr || &tile->device() != device_.get()) {
      return absl::InvalidArgumentError("a tile does not belong to this CUDA device");
    }
    for (const CellStatistics& s : statistics) {
      const TileLattice* lattice = tile->Lattice(s.cell_size_m);
      if (lattice == nullptr) {
        return absl::InvalidArgumentError(
            absl::StrCat("a tile was built without a lattice of ", s.cell_size_m, " m"));
      }
      if (s.float_index && lattice->float_sums.data() == nullptr) {
        return absl::InvalidArgumentError(absl::StrCat(
            "a tile was built without a float32 index on its lattice of ", s.cell_size_m, " m"));
      }
    }
  }
  TileChange change;
  if (previous != nullptr && &previous->device() == device_.get()) {
    change = CompareTiles(previous->tiles(), tiles);
  }
  std::vector<MapLayer> layers(statistics.size());
  const DrainAtExit drain(stream_);  // the layers' memory may go with this scope
  for (size_t i = 0; i < statistics.size(); ++i) {
    const MapLayer* known = change.incremental ? previous->Layer(statistics[i]) : nullptr;
    const absl::Status status = ComposeLayer(tiles, statistics[i], known, change, layers[i]);
    if (!status.ok() || buffers_->sorter.capacity() > kMaxKeptEntries) {
      // After an error work may still be queued that uses this memory and the layer's.
      (void)stream_.Synchronize();
      buffers_ = std::make_unique<Buffers>(device_);
    }
    if (!status.ok()) return status;
  }
  return std::make_shared<const CudaMap>(
      device_, std::vector<std::shared_ptr<const CudaTile>>(tiles.begin(), tiles.end()),
      std::vector<CellStatistics>(statistics.begin(), statistics.end()), std::move(layers));
}

absl::Status MapComposer::ComposeLayer(Tiles tiles, const CellStatistics& statistics,
                                       const MapLayer* previous, const TileChange& change,
                                       MapLayer& layer) {
  if (previous != nullptr && change.tiles.empty()) {
    layer = *previous;
    return absl::OkStatus();
  }
  BlockBox region = RegionOf(tiles, statistics.cell_size_m);
  const absl::StatusOr<std::vector<CellKey>> targets =
      previous == nullptr ? GatherAll(tiles, statistics, region, layer)
                          : GatherChanged(tiles, statistics, *previous, change, layer);
  if (!targets.ok()) return targets.status();
  for (const auto& [owner, blocks] : layer.strays) {
    for (const CellKey& block : blocks) {
      BlockBox around;
      around.Include(block);
      region.Include(around.Dilated());
    }
  }
  const absl::StatusOr<SortedGaussians> sorted = buffers_->sorter.Sort(stream_);
  if (!sorted.ok()) return sorted.status();
  return buffers_->store.Fill(*sorted, *targets, previous, region, statistics.cell_size_m, stream_,
                              layer);
}

absl::StatusOr<std::vector<CellKey>> MapComposer::GatherAll(Tiles tiles,
                                                            const CellStatistics& statistics,
                                                            const BlockBox& region,
                                                            MapLayer& layer) {
  const absl::StatusOr<SourceList> sources =
      CollectSources(tiles, statistics.cell_size_m, region, [](const CellKey&) { return true; });
  if (!sources.ok()) return sources.status();
  BlockBox key_box = region;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    const absl::StatusOr<GaussianReport> report =
        buffers_->sorter.Compute(*sources, statistics, key_box, stream_);
    if (!report.ok()) return report.status();
    BlockBox with_strays = key_box;
    for (const Stray& stray : report->strays) with_strays.Include(KeyOf(stray));
    if (!key_box.Contains(with_strays)) {
      key_box = with_strays;
      continue;
    }
    BlockSet index_blocks(key_box);
    for (size_t b = 0; b < report->of_block.size(); ++b) {
      if (report->of_block[b] > 0) index_blocks.Insert(sources->Key(b));
    }
    layer.strays.clear();
    for (const Stray& stray : report->strays) {
      index_blocks.Insert(KeyOf(stray));
      AddStray(sources->Key(stray.source_block), KeyOf(stray), layer.strays);
    }
    return index_blocks.Dilated().Blocks();
  }
  return absl::InternalError("a map's cells are not found twice in the same places");
}

absl::StatusOr<std::vector<CellKey>> MapComposer::GatherChanged(Tiles tiles,
                                                                const CellStatistics& statistics,
                                                                const MapLayer& previous,
                                                                const TileChange& change,
                                                                MapLayer& layer) {
  const BlockSet changed = BlocksOf(change.tiles, statistics.cell_size_m);
  // Where Gaussians of changed blocks are, or were, found beyond these blocks.
  std::vector<CellKey> beyond;
  layer.strays = previous.strays;
  for (const auto& [owner, blocks] : previous.strays) {
    if (!changed.Contains(owner)) continue;
    beyond.insert(beyond.end(), blocks.begin(), blocks.end());
    layer.strays.erase(owner);
  }
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    const BlockSet dirty = With(changed, beyond);
    const BlockSet targets = dirty.Dilated();
    const BlockSet needed = targets.Dilated();
    // Blocks whose Gaussians are found where they are needed.
    absl::flat_hash_set<CellKey> owners;
    BlockBox box = needed.box();
    for (const auto& [owner, blocks] : layer.strays) {
      if (std::any_of(blocks.begin(), blocks.end(),
                      [&](const CellKey& block) { return needed.Contains(block); })) {
        owners.insert(owner);
        box.Include(owner);
      }
    }
    const absl::StatusOr<SourceList> sources = CollectSources(
        tiles, statistics.cell_size_m, box,
        [&](const CellKey& block) { return needed.Contains(block) || owners.contains(block); });
    if (!sources.ok()) return sources.status();
    const absl::StatusOr<GaussianReport> report =
        buffers_->sorter.Compute(*sources, statistics, needed.box(), stream_);
    if (!report.ok()) return report.status();
    bool complete = true;
    for (const Stray& stray : report->strays) {
      const CellKey owner = sources->Key(stray.source_block);
      if (!changed.Contains(owner)) continue;
      AddStray(owner, KeyOf(stray), layer.strays);
      if (dirty.Contains(KeyOf(stray))) continue;
      beyond.push_back(KeyOf(stray));
      complete = false;
    }
    if (complete) return targets.Blocks();
  }
  return absl::InternalError("a tile's cells are not found twice in the same places");
}

}  // namespace voxloc::cuda
