// SPDX-License-Identifier: Apache-2.0

#include "cuda/map/map_builder.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "core/parallel/processors.h"
#include "cuda/map/map_composer.h"
#include "cuda/map/tile_builder.h"

namespace voxloc::cuda {
namespace {

// Calls that may work at the same time; one more does not make the device faster, and costs memory.
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
  VOXLOC_ASSIGN_OR_RETURN(Pool<TileBuilder>::Lease builder, tile_builders_.Take());
  return builder->Build(cloud_map, statistics);
}

absl::StatusOr<std::shared_ptr<const CudaMap>> MapBuilder::Compose(
    absl::Span<const std::shared_ptr<const CudaTile>> tiles,
    absl::Span<const CellStatistics> statistics, const CudaMap* previous) {
  VOXLOC_TRY(device_->MakeCurrent());
  VOXLOC_ASSIGN_OR_RETURN(Pool<MapComposer>::Lease composer, composers_.Take());
  return composer->Compose(tiles, statistics, previous);
}

}  // namespace voxloc::cuda
