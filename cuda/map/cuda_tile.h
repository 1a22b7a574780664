// SPDX-License-Identifier: Apache-2.0
//
// CudaTile: a tile in device memory: the moments of its cells on each lattice of its map's
// statistics; the host has only the block index. Immutable; any thread may read it. It is complete,
// with no work queued, when it is made.

#ifndef VOXLOC_CUDA_MAP_CUDA_TILE_H_
#define VOXLOC_CUDA_MAP_CUDA_TILE_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/map/cells.h"
#include "core/map/tile_moments.h"
#include "cuda/map/block_set.h"
#include "cuda/runtime/buffer.h"
#include "cuda/runtime/device.h"

namespace voxloc::cuda {

// Cells lie as in TileMoments: ascending by block, then by place in the block.
struct TileLattice {
  explicit TileLattice(const std::shared_ptr<Device>& device)
      : places(device), moments(device), float_sums(device) {}

  double cell_size_m = 0.0;
  size_t cells = 0;
  DeviceBuffer<uint16_t> places;
  DeviceBuffer<ndt::CellMoments> moments;
  DeviceBuffer<FloatSum> float_sums;  // empty where no statistics has a float32 index

  std::vector<TileMoments::Block> blocks;  // ascending by key
  BlockBox box;                            // around them
};

class CudaTile : public ResidentTile {
 public:
  // What all lattices have in common.
  struct Points {
    Eigen::Vector3d origin = Eigen::Vector3d::Zero();
    size_t finite = 0;
    size_t not_finite = 0;
  };

  CudaTile(std::shared_ptr<Device> device, const Points& points, std::vector<TileLattice> lattices)
      : device_(std::move(device)), points_(points), lattices_(std::move(lattices)) {}

  // The moments of a tile, on the device; lattices of one tile, at least one, ascending by cell
  // size. ResourceExhausted: no memory.
  [[nodiscard]] static absl::StatusOr<std::shared_ptr<const CudaTile>> Upload(
      const std::shared_ptr<Device>& device, const std::vector<TileMoments>& lattices);

  // A copy in the memory of another device, or of the same one, by peer access where the driver
  // supports it. ResourceExhausted: no memory.
  [[nodiscard]] absl::StatusOr<std::shared_ptr<const CudaTile>> CopyTo(
      const std::shared_ptr<Device>& device) const;

  [[nodiscard]] const Device& device() const { return *device_; }
  [[nodiscard]] const Eigen::Vector3d& origin() const { return points_.origin; }
  // Null where there is no lattice of that size.
  [[nodiscard]] const TileLattice* Lattice(double cell_size_m) const;
  // Ascending by cell size.
  [[nodiscard]] const std::vector<TileLattice>& lattices() const { return lattices_; }

  // The moments on one lattice, on the host. float_sums are empty where the tile has none.
  // NotFound: no lattice of that size.
  [[nodiscard]] absl::StatusOr<TileMoments> Download(double cell_size_m) const;

  [[nodiscard]] size_t points() const override { return points_.finite; }
  [[nodiscard]] size_t not_finite() const override { return points_.not_finite; }
  [[nodiscard]] size_t cells() const override;
  [[nodiscard]] size_t MemoryBytes() const override;

 private:
  const std::shared_ptr<Device> device_;
  const Points points_;
  const std::vector<TileLattice> lattices_;  // at least one, ascending by cell size
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_MAP_CUDA_TILE_H_
