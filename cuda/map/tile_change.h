// SPDX-License-Identifier: Apache-2.0
//
// TileChange: what a map's list of tiles has that its predecessor's had not, and the other way
// round.

#ifndef VOXLOC_CUDA_MAP_TILE_CHANGE_H_
#define VOXLOC_CUDA_MAP_TILE_CHANGE_H_

#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "cuda/map/cuda_tile.h"

namespace voxloc::cuda {

struct TileChange {
  // False: too much has changed, or the order of the tiles that stay, and everything is made anew.
  bool incremental = false;
  std::vector<const CudaTile*> tiles;  // that came or went
};

[[nodiscard]] TileChange CompareTiles(absl::Span<const std::shared_ptr<const CudaTile>> before,
                                      absl::Span<const std::shared_ptr<const CudaTile>> now);

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_MAP_TILE_CHANGE_H_
