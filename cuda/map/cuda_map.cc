// SPDX-License-Identifier: Apache-2.0

#include "cuda/map/cuda_map.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/engine/out_of_memory.h"
#include "cuda/map/cell_kernels.h"
#include "cuda/map/gaussian_sorter.h"
#include "cuda/runtime/buffer.h"
#include "cuda/runtime/device_sort.h"
#include "cuda/runtime/stream.h"
#include "cuda/runtime/transfers.h"

namespace voxloc::cuda {
namespace {

// Cells computed at a time, to bound the memory for large boxes: 2 MB page-locked, whose allocation
// and release block other calls into the driver.
constexpr size_t kEntriesPerSlice = size_t{1} << 13;

MapCell ToMapCell(const PlainCell& plain) {
  return {
      plain.key,        plain.count,      Eigen::Vector3d(plain.mean), Eigen::Vector3d(plain.index),
      plain.covariance, plain.information};
}

class CellDownload {
 public:
  CellDownload(std::shared_ptr<Device> device, Stream stream)
      : device_(std::move(device)), stream_(std::move(stream)) {}
  CellDownload(const CellDownload&) = delete;
  CellDownload& operator=(const CellDownload&) = delete;
  ~CellDownload() { (void)stream_.Synchronize(); }

  absl::Status Begin(const SourceList& list) {
    VOXLOC_TRY(host_.Reserve(kEntriesPerSlice * sizeof(PlainCell)));
    runs_.Add(list.runs, &table_.runs);
    return runs_.Send(stream_);
  }

  // Appends the cells of these blocks that lie in the box.
  absl::Status AppendSlice(absl::Span<const SourceBlock> slice, uint32_t entries,
                           const CellStatistics& statistics, const CellBox& box, size_t max_cells,
                           std::vector<MapCell>& found) {
    std::vector<SourceBlock> blocks(slice.begin(), slice.end());
    for (SourceBlock& block : blocks) block.first_entry -= slice.front().first_entry;
    size_t scratch_bytes = 0;
    VOXLOC_CUDA_TRY(*device_, ScratchBytes(entries, &scratch_bytes), "sizing a selection");
    VOXLOC_TRY(scratch_.Reserve(scratch_bytes));
    VOXLOC_TRY(sources_.Reserve(entries));
    VOXLOC_TRY(cells_.Reserve(entries));
    VOXLOC_TRY(keep_.Reserve(entries));
    VOXLOC_TRY(selected_.Reserve(size_t{entries} + 1));
    table_.block_count = static_cast<uint32_t>(blocks.size());
    table_.entries = entries;
    blocks_.Add(blocks, &table_.blocks);
    VOXLOC_TRY(blocks_.Send(stream_));
    VOXLOC_CUDA_TRY(*device_,
                    ComputeCells(table_, CellRules(statistics), box, sources_.data(), cells_.data(),
                                 keep_.data(), stream_.get()),
                    "computing cells");
    uint32_t* const count_on_device = selected_.data() + entries;
    VOXLOC_CUDA_TRY(*device_,
                    SelectMarked({scratch_.data(), scratch_bytes}, keep_.data(), entries,
                                 selected_.data(), count_on_device, stream_.get()),
                    "selecting cells");
    VOXLOC_ASSIGN_OR_RETURN(const uint32_t* const fetched_count,
                            host_.Fetch(count_on_device, 1, stream_, "counting cells"));
    const uint32_t count = *fetched_count;
    if (count > max_cells - found.size()) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the box holds more than ", max_cells, " cells; ask for a smaller one"));
    }
    if (count == 0) return absl::OkStatus();
    VOXLOC_TRY(gathered_.Reserve(count));
    VOXLOC_CUDA_TRY(
        *device_,
        GatherCells(cells_.data(), selected_.data(), count, gathered_.data(), stream_.get()),
        "gathering cells");
    VOXLOC_ASSIGN_OR_RETURN(const PlainCell* const cells,
                            host_.Fetch(gathered_.data(), count, stream_, "fetching cells"));
    for (uint32_t i = 0; i < count; ++i) found.push_back(ToMapCell(cells[i]));
    return absl::OkStatus();
  }

 private:
  const std::shared_ptr<Device> device_;
  SourceTable table_{};
  PackedUpload runs_{device_};
  PackedUpload blocks_{device_};
  DeviceBuffer<uint2> sources_{device_};
  DeviceBuffer<PlainCell> cells_{device_};
  DeviceBuffer<PlainCell> gathered_{device_};
  DeviceBuffer<uint8_t> keep_{device_};
  DeviceBuffer<uint32_t> selected_{device_};  // and, behind them, their number
  DeviceBuffer<std::byte> scratch_{device_};
  PinnedBuffer host_{device_};
  Stream stream_;
};

// The cells in double, as ResidentMap::CellsInBox returns them: computed on the device from the
// moments of the tiles, all of which must have the lattice of the statistics.
absl::StatusOr<std::vector<MapCell>> DownloadCells(
    const std::shared_ptr<Device>& device, absl::Span<const std::shared_ptr<const CudaTile>> tiles,
    const CellStatistics& statistics, const Eigen::Vector3d& min, const Eigen::Vector3d& max,
    size_t max_cells) {
  VOXLOC_TRY(device->MakeCurrent());
  const CellBox box = {{min.x(), min.y(), min.z()}, {max.x(), max.y(), max.z()}};
  BlockBox region;
  for (const auto& tile : tiles) region.Include(tile->Lattice(statistics.cell_size_m)->box);
  VOXLOC_ASSIGN_OR_RETURN(
      const SourceList sources,
      CollectSources(tiles, statistics.cell_size_m, {region}, [&](const CellKey& block) {
        return MayContainMeans(block, block, statistics.cell_size_m, min, max);
      }));
  std::vector<MapCell> found;
  if (sources.blocks.empty()) return found;
  VOXLOC_ASSIGN_OR_RETURN(Stream stream, Stream::Create(device, Priority::kLow));
  CellDownload download(device, std::move(stream));
  VOXLOC_TRY(download.Begin(sources));
  const std::vector<SourceBlock>& blocks = sources.blocks;
  for (size_t begin = 0; begin < blocks.size();) {
    size_t end = begin;
    uint32_t entries = 0;
    while (end < blocks.size() && (end == begin || entries < kEntriesPerSlice)) {
      ++end;
      const uint32_t next = end < blocks.size() ? blocks[end].first_entry : sources.entries;
      entries = next - blocks[begin].first_entry;
    }
    VOXLOC_TRY(download.AppendSlice(absl::MakeConstSpan(&blocks[begin], end - begin), entries,
                                    statistics, box, max_cells, found));
    begin = end;
  }
  return found;
}

}  // namespace

size_t MapLayer::MemoryBytes() const {
  size_t bytes =
      layer_blocks.MemoryBytes() + spill_targets.MemoryBytes() + spill_sources.MemoryBytes();
  if (table != nullptr) bytes += table->MemoryBytes();
  for (const LayerSlab& slab : slabs) {
    bytes += slab.memory->MemoryBytes() + slab.blocks->capacity() * sizeof(CellKey);
  }
  return bytes;
}

CudaMap::CudaMap(std::shared_ptr<Device> device, std::vector<std::shared_ptr<const CudaTile>> tiles,
                 std::vector<CellStatistics> statistics, std::vector<MapLayer> layers)
    : device_(std::move(device)),
      tiles_(std::move(tiles)),
      statistics_(std::move(statistics)),
      layers_(std::move(layers)) {}

absl::StatusOr<const CudaMap*> CudaMap::FromResident(const Device& device, const ResidentMap* map) {
  const CudaMap* const cuda_map = FindOwnPart<CudaMap>(
      map, [&device](const CudaMap& part) { return part.device_.get() == &device; });
  if (cuda_map == nullptr) {
    return absl::FailedPreconditionError("the map does not belong to this CUDA engine");
  }
  return cuda_map;
}

const MapLayer* CudaMap::Layer(const CellStatistics& statistics) const {
  const auto it = std::find(statistics_.begin(), statistics_.end(), statistics);
  return it == statistics_.end() ? nullptr
                                 : &layers_[static_cast<size_t>(it - statistics_.begin())];
}

const CellBlocks* CudaMap::Blocks(const CellStatistics& statistics) const {
  const MapLayer* layer = Layer(statistics);
  return layer == nullptr ? nullptr : &layer->blocks;
}

size_t CudaMap::MemoryBytes() const {
  size_t bytes = 0;
  for (const MapLayer& layer : layers_) bytes += layer.MemoryBytes();
  return bytes;
}

absl::StatusOr<std::vector<MapCell>> CudaMap::CellsInBox(size_t statistics_index,
                                                         const Eigen::Vector3d& min,
                                                         const Eigen::Vector3d& max,
                                                         size_t max_cells) const {
  return CatchOutOfMemory(
      [&] {
        return DownloadCells(device_, tiles_, statistics_[statistics_index], min, max, max_cells);
      },
      [] { return "no host memory for the cells of the box"; });
}

}  // namespace voxloc::cuda
