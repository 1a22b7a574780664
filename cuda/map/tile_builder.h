// SPDX-License-Identifier: Apache-2.0
//
// TileBuilder: from the points of a tile to the moments of its cells, on the device. A workspace
// with a stream of low priority and memory of its own; used by one thread at a time.

#ifndef VOXLOC_CUDA_MAP_TILE_BUILDER_H_
#define VOXLOC_CUDA_MAP_TILE_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/cloud/point_cloud.h"
#include "core/map/cells.h"
#include "core/parallel/thread_pool.h"
#include "cuda/map/cuda_tile.h"
#include "cuda/map/tile_kernels.h"
#include "cuda/runtime/buffer.h"
#include "cuda/runtime/device.h"
#include "cuda/runtime/stream.h"

namespace voxloc::cuda {

// StagedUpload: copies pageable host memory to the device through page-locked chunks, so that the
// copy of one chunk overlaps the transfer of another. The driver stages pageable memory in the same
// way with one thread, which limits the throughput for tens of megabytes; this uses those of a
// pool. Used by one caller at a time.
class StagedUpload {
 public:
  struct Piece {
    const void* from;  // host
    void* to;          // device
    size_t bytes;
  };

  // The pool must outlive it.
  StagedUpload(std::shared_ptr<Device> device, ThreadPool& threads)
      : device_(std::move(device)), threads_(threads) {}

  // Queues the copies on `stream`. The host memory has been read when it returns; the stream must
  // be idle before the object is destroyed.
  [[nodiscard]] absl::Status Upload(absl::Span<const Piece> pieces, const Stream& stream);

 private:
  // Two chunks of page-locked memory, filled in turn.
  struct Lane {
    explicit Lane(const std::shared_ptr<Device>& device) : memory(device) {}

    PinnedBuffer memory;
    Event sent[2];
    bool used[2] = {false, false};
  };
  absl::Status AddLane();
  absl::Status Run(Lane& lane, absl::Span<const Piece> chunks, size_t first, size_t step,
                   const Stream& stream);

  const std::shared_ptr<Device> device_;
  ThreadPool& threads_;
  std::vector<std::unique_ptr<Lane>> lanes_;
};

class TileBuilder {
 public:
  // The pool must outlive it.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<TileBuilder>> Create(
      std::shared_ptr<Device> device, ThreadPool& threads);

  ~TileBuilder() { Drain(); }
  TileBuilder(const TileBuilder&) = delete;
  TileBuilder& operator=(const TileBuilder&) = delete;

  // Waits for all work that is queued.
  void Drain() const noexcept { stream_.Drain(); }

  // See MapBuilder::BuildTile. The device must be current.
  [[nodiscard]] absl::StatusOr<std::shared_ptr<const CudaTile>> Build(
      const PointCloud& cloud_map, absl::Span<const CellStatistics> statistics);

 private:
  // Kept from tile to tile, unless one was very large.
  struct Buffers {
    std::shared_ptr<Device> device;
    DeviceBuffer<float> columns{device};  // x, then y, then z
    DeviceBuffer<uint64_t> keys{device};  // two arrays, of 32 or 64 bits a key
    DeviceBuffer<uint32_t> order{device};
    DeviceBuffer<uint8_t> head{device};
    DeviceBuffer<uint32_t> begin{device};  // of cells, then of blocks
    DeviceBuffer<std::byte> scratch{device};
    DeviceBuffer<TileMoments::Block> blocks{device};
  };

  TileBuilder(const std::shared_ptr<Device>& device, ThreadPool& threads, Stream stream)
      : device_(device), upload_(device, threads), stream_(std::move(stream)) {}
  absl::StatusOr<std::shared_ptr<const CudaTile>> Run(const PointCloud& cloud,
                                                      absl::Span<const CellStatistics> statistics);
  absl::StatusOr<PointColumns> UploadPoints(const PointCloud& cloud);
  absl::StatusOr<PointSummary> Summarize(const PointColumns& points);
  absl::StatusOr<TileLattice> BuildLattice(const PointColumns& points, uint32_t finite,
                                           const CellKeyLayout& layout, bool with_float_sums);

  const std::shared_ptr<Device> device_;
  Buffers buffers_{device_};
  DeviceBuffer<PointSummary> summary_{device_};
  DeviceBuffer<uint32_t> counts_{device_};
  PinnedBuffer host_{device_};
  StagedUpload upload_;
  Stream stream_;
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_MAP_TILE_BUILDER_H_
