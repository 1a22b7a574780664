// SPDX-License-Identifier: Apache-2.0

#include "cuda/map/map_builder.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/map/tile_catalogue.h"
#include "core/parallel/processors.h"
#include "cuda/map/tile_builder.h"

namespace voxloc::cuda {
namespace {

using Tiles = LayerComposer::Tiles;

std::vector<const ResidentTile*> Pointers(Tiles tiles) {
  std::vector<const ResidentTile*> pointers;
  pointers.reserve(tiles.size());
  for (const auto& tile : tiles) pointers.push_back(tile.get());
  return pointers;
}

absl::Status CheckTiles(Tiles tiles, absl::Span<const CellStatistics> statistics,
                        const Device& device) {
  for (const CellStatistics& s : statistics) VOXLOC_TRY(ValidateCellStatistics(s));
  for (const auto& tile : tiles) {
    if (tile == nullptr || &tile->device() != &device) {
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

void MapComposer::Drain() const noexcept {
  for (const auto& composer : layer_composers_) composer->Drain();
}

absl::StatusOr<std::shared_ptr<const CudaMap>> MapComposer::Compose(
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
    change = CompareTiles(Pointers(previous->tiles()), Pointers(tiles));
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

namespace {

// Concurrent calls; more of them would not be faster and would cost memory.
constexpr size_t kMaxTileBuilders = 2;
constexpr size_t kMaxComposers = 2;

// The layers of one map that are composed at the same time, where the machine has the processors.
// Those of both profiles are five, of which one takes as long as the others together.
constexpr size_t kMaxThreads = 4;

}  // namespace

absl::StatusOr<std::unique_ptr<MapBuilder>> MapBuilder::Create(std::shared_ptr<Device> device) {
  VOXLOC_TRY(device->MakeCurrent());
  return std::unique_ptr<MapBuilder>(new MapBuilder(std::move(device)));
}

MapBuilder::MapBuilder(std::shared_ptr<Device> device)
    : device_(std::move(device)),
      tile_builders_(kMaxTileBuilders, [this] { return TileBuilder::Create(device_); }),
      threads_(std::min(UsableProcessors(), kMaxThreads)),
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
