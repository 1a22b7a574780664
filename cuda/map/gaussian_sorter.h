// SPDX-License-Identifier: Apache-2.0
//
// GaussianSorter: the first half of composing a layer: the Gaussians of source blocks, by the
// lattice cell of their index position. Device memory of its own, used by one thread at a time; its
// memory must be idle when a new set is begun, which Synchronize sees to.

#ifndef VOXLOC_CUDA_MAP_GAUSSIAN_SORTER_H_
#define VOXLOC_CUDA_MAP_GAUSSIAN_SORTER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/map/cells.h"
#include "cuda/map/block_set.h"
#include "cuda/map/cell_kernels.h"
#include "cuda/map/cuda_tile.h"
#include "cuda/runtime/buffer.h"
#include "cuda/runtime/device.h"
#include "cuda/runtime/device_sort.h"
#include "cuda/runtime/stream.h"
#include "cuda/runtime/transfers.h"

namespace voxloc::cuda {

// SourceList: the runs of tiles' cells that a composition reads, block by block. A plain value on
// the host, uploaded as a SourceTable.
struct SourceList {
  std::vector<SourceBlock> blocks;  // ascending by key
  std::vector<SourceRun> runs;      // by block, then in the order of the tiles
  uint32_t entries = 0;             // cells of all runs
  BlockBox box;                     // around the blocks
};

// The runs of the blocks that pass the filter, each of which must lie in one of the regions: tiles
// outside all regions are skipped. All tiles must have a lattice of that size.
// ResourceExhausted: more cells than can be counted.
[[nodiscard]] absl::StatusOr<SourceList> CollectSources(
    absl::Span<const std::shared_ptr<const CudaTile>> tiles, double cell_size_m,
    absl::Span<const BlockBox> regions, absl::FunctionRef<bool(const CellKey&)> filter);

// Summary of the Gaussians for the host.
struct GaussianReport {
  std::vector<uint32_t> gaussians_per_block;  // by source block
  std::vector<Spill> spills;                  // in no particular order, with repetitions
};

class GaussianSorter {
 public:
  explicit GaussianSorter(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  // Computes the Gaussians and waits for the report. Those whose index position lies outside
  // `key_box` are left out of what Sort sorts. InvalidArgument: the box is too large for keys.
  [[nodiscard]] absl::StatusOr<GaussianReport> Compute(const SourceList& sources,
                                                       const CellStatistics& statistics,
                                                       const BlockBox& key_box,
                                                       const Stream& stream);
  // Queues the sort of what Compute made. The result is valid until the next Compute.
  [[nodiscard]] absl::StatusOr<SortedGaussians> Sort(const Stream& stream);

  [[nodiscard]] size_t capacity() const { return gaussians_.capacity(); }

 private:
  absl::Status Reserve(const SourceList& sources);
  [[nodiscard]] GaussianArrays Arrays() const;

  const std::shared_ptr<Device> device_;
  PackedUpload upload_{device_};
  DeviceBuffer<uint2> sources_{device_};
  DeviceBuffer<uint64_t> keys_{device_};     // two arrays
  DeviceBuffer<uint32_t> numbers_{device_};  // two arrays
  DeviceBuffer<IndexedGaussian> gaussians_{device_};
  DeviceBuffer<std::byte> scratch_{device_};
  DeviceBuffer<uint32_t> counts_{device_};  // of strays, then of each source block
  DeviceBuffer<Spill> spills_{device_};
  PinnedBuffer host_{device_};
  uint32_t entries_ = 0;
  size_t scratch_bytes_ = 0;
  SortedGaussians sorted_{};
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_MAP_GAUSSIAN_SORTER_H_
