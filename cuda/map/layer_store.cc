// SPDX-License-Identifier: Apache-2.0

#include "cuda/map/layer_store.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace voxloc::cuda {
namespace {

constexpr size_t kMinSlots = 64;
// A table is at most a quarter full; new ones have some spare slots.
constexpr size_t kSlotsPerBlock = 4;
constexpr size_t kInitialSlotsPerBlock = 5;
// A sparser table is rebuilt.
constexpr size_t kMaxSlotsPerBlock = 32;

absl::Status CheckRegion(const BlockBox& region) {
  if (region.SizeX() <= kMaxBlocksAlongAxis && region.SizeY() <= kMaxBlocksAlongAxis &&
      region.SizeZ() <= kMaxBlocksAlongAxis) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the map must span at most ", kMaxBlocksAlongAxis, " blocks of ", kBlockSize,
                   " cells along each axis (got ", region.SizeX(), " x ", region.SizeY(), " x ",
                   region.SizeZ(), ")"));
}

// A target's block; its chunk is placed later.
absl::StatusOr<LayerBlock> BlockOfTarget(const CellKey& key, const TargetSize& size,
                                         bool float_index) {
  LayerBlock block;
  block.cells = size.cells;
  if (size.candidates == 0) return block;
  const size_t bytes = ChunkBytes(size.candidates, size.records, float_index);
  if (size.records > kMaxRecords || bytes > std::numeric_limits<uint32_t>::max()) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "a block of cells and its surroundings must hold at most ", kMaxRecords, " Gaussians and ",
        std::numeric_limits<uint32_t>::max(), " bytes with their lists (got ", size.records,
        " and ", bytes, " at (", key.x, ", ", key.y, ", ", key.z, "))"));
  }
  block.chunk_bytes = static_cast<uint32_t>(bytes);
  return block;
}

// A block that differs from the previous layer.
struct PlannedBlock {
  CellKey key;
  LayerBlock block;
  const std::byte* moved_from = nullptr;  // null: made from a target, or emptied
  size_t target = 0;                      // of those made: the target
};

// All changes from the previous layer.
struct Plan {
  std::vector<PlannedBlock> made;     // from targets, ascending
  std::vector<PlannedBlock> moved;    // whose chunks move into the new slab, ascending
  std::vector<PlannedBlock> emptied;  // that have no chunk any more
};

// Bytes of each slab (there are few) that the previous layer uses and the new one does not.
using FreedBytes = std::map<const Slab*, size_t>;

// Plans the targets, and sets the counters of the layer from those of `previous`.
absl::Status PlanTargets(const std::vector<CellKey>& targets, const std::vector<TargetSize>& sizes,
                         bool float_index, const MapLayer* previous, Plan& plan, FreedBytes& freed,
                         MapLayer& layer) {
  if (previous != nullptr) {
    layer.cells = previous->cells;
    layer.table_blocks = previous->table_blocks;
    layer.live_blocks = previous->live_blocks;
  }
  plan.made.reserve(targets.size());
  for (size_t t = 0; t < targets.size(); ++t) {
    const LayerBlock* const before =
        previous != nullptr ? previous->layer_blocks.Find(targets[t]) : nullptr;
    if (before == nullptr && sizes[t].candidates == 0) continue;
    VOXLOC_ASSIGN_OR_RETURN(const LayerBlock block,
                            BlockOfTarget(targets[t], sizes[t], float_index));
    if (before == nullptr) {
      ++layer.table_blocks;
    } else {
      layer.cells -= before->cells;
      if (before->chunk != nullptr) {
        --layer.live_blocks;
        freed[before->slab] += before->chunk_bytes;
      }
    }
    layer.cells += block.cells;
    const PlannedBlock planned = {targets[t], block, nullptr, t};
    if (sizes[t].candidates > 0) {
      ++layer.live_blocks;
      plan.made.push_back(planned);
    } else {
      plan.emptied.push_back(planned);
    }
  }
  return absl::OkStatus();
}

// Shares the slabs of the layer before that are at least half in use; chunks of others move.
void ShareSlabs(const MapLayer& previous, const std::vector<CellKey>& targets,
                const FreedBytes& freed, Plan& plan, MapLayer& layer) {
  for (LayerSlab slab : previous.slabs) {
    const auto found = freed.find(slab.memory.get());
    if (found != freed.end()) slab.bytes_in_use -= found->second;
    if (2 * slab.bytes_in_use >= slab.memory->MemoryBytes()) {
      layer.slabs.push_back(std::move(slab));
      continue;
    }
    for (const CellKey& key : *slab.blocks) {
      const LayerBlock* const block = previous.layer_blocks.Find(key);
      if (block == nullptr || block->slab != slab.memory.get() || block->chunk == nullptr) continue;
      if (std::binary_search(targets.begin(), targets.end(), key)) continue;
      plan.moved.push_back({key, *block, block->chunk});
    }
  }
  std::sort(plan.moved.begin(), plan.moved.end(),
            [](const PlannedBlock& a, const PlannedBlock& b) { return a.key < b.key; });
}

}  // namespace

absl::Status LayerStore::Measure(const SortedGaussians& sorted, const std::vector<CellKey>& targets,
                                 const Stream& stream, std::vector<TargetSize>& sizes) {
  sizes.assign(targets.size(), TargetSize{});
  upload_.Add(targets, &targets_);
  VOXLOC_TRY(upload_.Send(stream));
  if (sorted.count == 0 || targets.empty()) return absl::OkStatus();
  VOXLOC_TRY(sizes_.Reserve(targets.size()));
  VOXLOC_CUDA_TRY(*device_,
                  MeasureLists(sorted, targets_, static_cast<uint32_t>(targets.size()),
                               sizes_.data(), stream.get()),
                  "measuring a map's lists");
  VOXLOC_ASSIGN_OR_RETURN(
      const TargetSize* const fetched,
      host_.Fetch(sizes_.data(), targets.size(), stream, "fetching the sizes of a map's lists"));
  std::copy_n(fetched, targets.size(), sizes.begin());
  return absl::OkStatus();
}

absl::Status LayerStore::Fill(const SortedGaussians& sorted, const std::vector<CellKey>& targets,
                              const MapLayer* previous, const BlockBox& region, double cell_size_m,
                              const Stream& stream, MapLayer& layer) {
  layer.blocks.cell_size_m = cell_size_m;
  if (!region.empty()) VOXLOC_TRY(CheckRegion(region));
  std::vector<TargetSize> sizes;
  VOXLOC_TRY(Measure(sorted, targets, stream, sizes));
  Plan plan;
  FreedBytes freed;
  VOXLOC_TRY(PlanTargets(targets, sizes, sorted.float_index, previous, plan, freed, layer));
  if (previous != nullptr) ShareSlabs(*previous, targets, freed, plan, layer);

  // The new slab: what is made, then what moves.
  size_t slab_bytes = 0;
  for (const auto* planned : {&plan.made, &plan.moved}) {
    for (const PlannedBlock& p : *planned) slab_bytes += p.block.chunk_bytes;
  }
  std::vector<std::byte*> chunks(targets.size(), nullptr);
  std::vector<ChunkMove> moves;
  if (slab_bytes > 0) {
    auto slab = std::make_shared<Slab>(device_);
    VOXLOC_TRY(slab->ReserveExactly(slab_bytes));
    auto blocks = std::make_shared<std::vector<CellKey>>();
    blocks->reserve(plan.made.size() + plan.moved.size());
    std::byte* at = slab->data();
    for (auto* planned : {&plan.made, &plan.moved}) {
      for (PlannedBlock& p : *planned) {
        if (p.moved_from == nullptr) {
          chunks[p.target] = at;
        } else {
          moves.push_back({p.moved_from, at, p.block.chunk_bytes});
        }
        p.block.slab = slab.get();
        p.block.chunk = at;
        at += p.block.chunk_bytes;
        blocks->push_back(p.key);
      }
    }
    layer.slabs.push_back({std::move(slab), std::move(blocks), slab_bytes});
  }
  std::vector<SlotUpdate> updates;
  const auto update = [&](const CellKey& key, const LayerBlock& block) {
    updates.push_back({key, block.chunk});
  };
  std::vector<BlockMap<LayerBlock>::Change> changes;
  const size_t planned_blocks = plan.made.size() + plan.moved.size() + plan.emptied.size();
  changes.reserve(planned_blocks);
  updates.reserve(planned_blocks);
  for (const auto* planned : {&plan.made, &plan.moved, &plan.emptied}) {
    for (const PlannedBlock& p : *planned) {
      changes.push_back({p.key, p.block});
      update(p.key, p.block);
    }
  }
  static const BlockMap<LayerBlock> kNone;
  layer.layer_blocks =
      (previous != nullptr ? previous->layer_blocks : kNone).With(std::move(changes));

  bool rebuilt = false;
  VOXLOC_TRY(PrepareTable(previous, region, stream, layer, &rebuilt));
  if (rebuilt) {
    updates.clear();
    layer.layer_blocks.ForEach(update);
  }
  std::byte* const* chunks_on_device = nullptr;
  const ChunkMove* moves_on_device = nullptr;
  const SlotUpdate* updates_on_device = nullptr;
  memory_upload_.Add(chunks, &chunks_on_device);
  memory_upload_.Add(moves, &moves_on_device);
  memory_upload_.Add(updates, &updates_on_device);
  VOXLOC_TRY(memory_upload_.Send(stream));
  if (sorted.count > 0) {
    VOXLOC_CUDA_TRY(*device_,
                    FillLists(sorted, targets_, static_cast<uint32_t>(targets.size()),
                              chunks_on_device, stream.get()),
                    "filling a map's lists");
  }
  VOXLOC_CUDA_TRY(*device_,
                  MoveChunks(moves_on_device, static_cast<uint32_t>(moves.size()), stream.get()),
                  "moving a map's lists");
  if (layer.table != nullptr) {
    VOXLOC_CUDA_TRY(*device_,
                    UpdateSlots(layer.blocks, layer.table->data(), updates_on_device,
                                static_cast<uint32_t>(updates.size()), stream.get()),
                    "entering a map's blocks");
  }
  return stream.Synchronize();
}

absl::Status LayerStore::PrepareTable(const MapLayer* previous, const BlockBox& region,
                                      const Stream& stream, MapLayer& layer, bool* rebuilt) {
  CellBlocks& table = layer.blocks;
  *rebuilt = true;
  if (layer.live_blocks == 0) {
    layer.layer_blocks = {};
    layer.table_blocks = 0;
    layer.slabs.clear();
    return absl::OkStatus();
  }
  auto slots = std::make_shared<DeviceBuffer<BlockSlot>>(device_);
  layer.table = slots;
  BlockBox known;  // the region of the layer before
  if (previous != nullptr && previous->table != nullptr) {
    const CellBlocks& old = previous->blocks;
    known.first = {old.first_x, old.first_y, old.first_z};
    known.last = {old.first_x + old.size_x - 1, old.first_y + old.size_y - 1,
                  old.first_z + old.size_z - 1};
    BlockBox grown = known;
    grown.Include(region);
    const size_t count = previous->table->capacity();
    *rebuilt = !(grown.first == known.first) || !CheckRegion(grown).ok() ||
               layer.table_blocks * kSlotsPerBlock > count ||
               (count > kMinSlots && layer.live_blocks * kMaxSlotsPerBlock < count);
    known = grown;
  }
  if (*rebuilt) {
    // Reinsert all blocks but the empty ones.
    std::vector<BlockMap<LayerBlock>::Change> empty;
    known = region;
    layer.layer_blocks.ForEach([&](const CellKey& key, const LayerBlock& block) {
      if (block.chunk == nullptr) {
        empty.push_back({key, std::nullopt});
      } else {
        known.Include(key);
      }
    });
    VOXLOC_TRY(CheckRegion(known));
    layer.layer_blocks = layer.layer_blocks.With(std::move(empty));
    layer.table_blocks = layer.live_blocks;
    size_t count = kMinSlots;
    while (count < kInitialSlotsPerBlock * layer.table_blocks) count *= 2;
    VOXLOC_TRY(slots->ReserveExactly(count));
    VOXLOC_CUDA_TRY(*device_, ClearSlots(slots->data(), static_cast<uint32_t>(count), stream.get()),
                    "clearing a map's table");
  } else {
    const size_t count = previous->table->capacity();
    VOXLOC_TRY(slots->ReserveExactly(count));
    VOXLOC_CUDA_TRY(
        *device_,
        cudaMemcpyAsync(slots->data(), previous->table->data(), count * sizeof(BlockSlot),
                        cudaMemcpyDeviceToDevice, stream.get()),
        "copying a map's table");
  }
  table.slots = slots->data();
  table.slot_mask = static_cast<uint32_t>(slots->capacity() - 1);
  table.first_x = known.first.x;
  table.first_y = known.first.y;
  table.first_z = known.first.z;
  table.size_x = static_cast<int32_t>(known.SizeX());
  table.size_y = static_cast<int32_t>(known.SizeY());
  table.size_z = static_cast<int32_t>(known.SizeZ());
  return absl::OkStatus();
}

}  // namespace voxloc::cuda
