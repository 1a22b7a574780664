// SPDX-License-Identifier: Apache-2.0

#include "cuda/map/cuda_tile.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cuda/runtime/stream.h"

namespace voxloc::cuda {
namespace {

template <typename T>
absl::Status Copy(const DeviceBuffer<T>& from, size_t count, std::vector<T>& to,
                  const Stream& stream) {
  if (from.data() == nullptr) return absl::OkStatus();
  to.resize(count);
  return stream.Download(to.data(), from.data(), count, "copying a tile from the device");
}

template <typename T>
absl::Status Copy(const std::vector<T>& from, DeviceBuffer<T>& to, const Stream& stream) {
  if (from.empty()) return absl::OkStatus();
  VOXLOC_TRY(to.ReserveExactly(from.size()));
  return stream.Upload(to.data(), from.data(), from.size(), "copying a tile to the device");
}

template <typename T>
absl::Status Copy(const Device& from_device, const DeviceBuffer<T>& from, size_t count,
                  Device& to_device, DeviceBuffer<T>& to, const Stream& stream) {
  if (from.data() == nullptr) return absl::OkStatus();
  VOXLOC_TRY(to.ReserveExactly(count));
  return to_device.Check(
      cudaMemcpyPeerAsync(to.data(), to_device.ordinal(), from.data(), from_device.ordinal(),
                          count * sizeof(T), stream.get()),
      "copying a tile from another device");
}

}  // namespace

const TileLattice* CudaTile::Lattice(double cell_size_m) const {
  for (const TileLattice& lattice : lattices_) {
    if (lattice.cell_size_m == cell_size_m) return &lattice;
  }
  return nullptr;
}

absl::StatusOr<std::shared_ptr<const CudaTile>> CudaTile::Upload(
    const std::shared_ptr<Device>& device, const std::vector<TileMoments>& lattices) {
  VOXLOC_TRY(device->MakeCurrent());
  VOXLOC_ASSIGN_OR_RETURN(Stream stream, Stream::Create(device, Priority::kLow));
  std::vector<TileLattice> uploaded;
  {
    const DrainAtExit drain(stream);  // memory on both sides may go with this scope
    for (const TileMoments& moments : lattices) {
      TileLattice& lattice = uploaded.emplace_back(device);
      lattice.cell_size_m = moments.cell_size_m;
      lattice.cells = moments.cells();
      lattice.blocks = moments.blocks;
      for (const TileMoments::Block& block : lattice.blocks) lattice.box.Include(block.key);
      VOXLOC_TRY(Copy(moments.places, lattice.places, stream));
      VOXLOC_TRY(Copy(moments.moments, lattice.moments, stream));
      VOXLOC_TRY(Copy(moments.float_sums, lattice.float_sums, stream));
    }
    VOXLOC_TRY(stream.Synchronize());
  }
  CudaTile::Points points;
  points.origin = lattices.front().origin;
  points.finite = lattices.front().points;
  points.not_finite = lattices.front().not_finite;
  return std::make_shared<const CudaTile>(device, points, std::move(uploaded));
}

absl::StatusOr<std::shared_ptr<const CudaTile>> CudaTile::CopyTo(
    const std::shared_ptr<Device>& device) const {
  VOXLOC_TRY(device->MakeCurrent());
  VOXLOC_ASSIGN_OR_RETURN(Stream stream, Stream::Create(device, Priority::kLow));
  std::vector<TileLattice> copied;
  {
    const DrainAtExit drain(stream);  // memory on both sides may go with this scope
    for (const TileLattice& lattice : lattices_) {
      TileLattice& copy = copied.emplace_back(device);
      copy.cell_size_m = lattice.cell_size_m;
      copy.cells = lattice.cells;
      copy.blocks = lattice.blocks;
      copy.box = lattice.box;
      VOXLOC_TRY(Copy(*device_, lattice.places, lattice.cells, *device, copy.places, stream));
      VOXLOC_TRY(Copy(*device_, lattice.moments, lattice.cells, *device, copy.moments, stream));
      VOXLOC_TRY(
          Copy(*device_, lattice.float_sums, lattice.cells, *device, copy.float_sums, stream));
    }
    VOXLOC_TRY(stream.Synchronize());
  }
  return std::make_shared<const CudaTile>(device, points_, std::move(copied));
}

absl::StatusOr<TileMoments> CudaTile::Download(double cell_size_m) const {
  const TileLattice* lattice = Lattice(cell_size_m);
  if (lattice == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("the tile was built without a lattice of ", cell_size_m, " m"));
  }
  TileMoments moments;
  moments.cell_size_m = cell_size_m;
  moments.origin = points_.origin;
  moments.points = points_.finite;
  moments.not_finite = points_.not_finite;
  moments.blocks = lattice->blocks;
  VOXLOC_TRY(device_->MakeCurrent());
  VOXLOC_ASSIGN_OR_RETURN(const Stream stream, Stream::Create(device_, Priority::kLow));
  {
    const DrainAtExit drain(stream);  // memory on the host's side may go with this scope
    VOXLOC_TRY(Copy(lattice->places, lattice->cells, moments.places, stream));
    VOXLOC_TRY(Copy(lattice->moments, lattice->cells, moments.moments, stream));
    VOXLOC_TRY(Copy(lattice->float_sums, lattice->cells, moments.float_sums, stream));
    VOXLOC_TRY(stream.Synchronize());
  }
  return moments;
}

size_t CudaTile::cells() const {
  size_t most = 0;
  for (const TileLattice& lattice : lattices_) most = std::max(most, lattice.cells);
  return most;
}

size_t CudaTile::MemoryBytes() const {
  size_t bytes = sizeof(*this);
  for (const TileLattice& lattice : lattices_) {
    bytes += lattice.places.MemoryBytes() + lattice.moments.MemoryBytes() +
             lattice.float_sums.MemoryBytes() +
             lattice.blocks.capacity() * sizeof(TileMoments::Block);
  }
  return bytes;
}

}  // namespace voxloc::cuda
