// SPDX-License-Identifier: Apache-2.0

#include "cuda/map/layer_store.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace voxloc::cuda {
namespace {

constexpr size_t kMinSlots = 64;
// A table is at most a quarter full; new ones have room for some more blocks.
constexpr size_t kSlotsPerBlock = 4;
constexpr size_t kSlotsPerBlockAtFirst = 5;
// A table that has become so empty is made anew.
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

// A target's chunk, for the merge with the blocks of the layer before.
absl::StatusOr<LayerBlock> BlockOfTarget(const CellKey& key, const TargetSize& size,
                                         bool float_index) {
  LayerBlock block;
  block.key = key;
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

// Where the layer's chunks are to go.
struct Plan {
  std::vector<LayerBlock> blocks;   // of the layer
  std::vector<uint32_t> made;       // of these: those with a new chunk from the targets, ascending
  std::vector<uint32_t> moved;      // those whose chunk moves into the new slab
  std::vector<uint32_t> emptied;    // those that have none any more
  std::vector<uint32_t> target_of;  // for each of `made`: its target
};

// Both lists ascend; a target takes the place of the block before.
absl::Status Merge(const std::vector<CellKey>& targets, const std::vector<TargetSize>& sizes,
                   bool float_index, const MapLayer* previous, Plan& plan) {
  static const std::vector<LayerBlock> kNone;
  const std::vector<LayerBlock>& known = previous != nullptr ? previous->layer_blocks : kNone;
  plan.blocks.reserve(known.size() + targets.size());
  auto old = known.begin();
  for (size_t t = 0; t < targets.size(); ++t) {
    const auto upto = std::lower_bound(
        old, known.end(), targets[t],
        [](const LayerBlock& block, const CellKey& key) { return block.key < key; });
    plan.blocks.insert(plan.blocks.end(), old, upto);
    old = upto;
    const bool was_there = old != known.end() && old->key == targets[t];
    if (was_there) ++old;
    if (!was_there && sizes[t].candidates == 0) continue;
    absl::StatusOr<LayerBlock> block = BlockOfTarget(targets[t], sizes[t], float_index);
    if (!block.ok()) return block.status();
    const auto at = static_cast<uint32_t>(plan.blocks.size());
    if (sizes[t].candidates > 0) {
      plan.made.push_back(at);
      plan.target_of.push_back(static_cast<uint32_t>(t));
    } else {
      plan.emptied.push_back(at);
    }
    plan.blocks.push_back(*block);
  }
  plan.blocks.insert(plan.blocks.end(), old, known.end());
  return absl::OkStatus();
}

// Shares the slabs of the layer before that are at least half in use; chunks of others move.
void ShareSlabs(const MapLayer& previous, Plan& plan, MapLayer& layer) {
  std::vector<size_t> live(previous.slabs.size(), 0);
  std::vector<bool> is_new(plan.blocks.size(), false);
  for (const uint32_t i : plan.made) is_new[i] = true;
  for (size_t i = 0; i < plan.blocks.size(); ++i) {
    const LayerBlock& block = plan.blocks[i];
    if (!is_new[i] && block.chunk != nullptr) live[block.slab] += block.chunk_bytes;
  }
  constexpr uint32_t kGone = std::numeric_limits<uint32_t>::max();
  std::vector<uint32_t> number(previous.slabs.size(), kGone);
  for (size_t s = 0; s < previous.slabs.size(); ++s) {
    if (2 * live[s] < previous.slabs[s]->MemoryBytes()) continue;
    number[s] = static_cast<uint32_t>(layer.slabs.size());
    layer.slabs.push_back(previous.slabs[s]);
  }
  for (size_t i = 0; i < plan.blocks.size(); ++i) {
    LayerBlock& block = plan.blocks[i];
    if (is_new[i] || block.chunk == nullptr) continue;
    if (number[block.slab] == kGone) {
      plan.moved.push_back(static_cast<uint32_t>(i));
    } else {
      block.slab = number[block.slab];
    }
  }
}

}  // namespace

absl::Status LayerStore::Measure(const SortedGaussians& sorted, const std::vector<CellKey>& targets,
                                 const Stream& stream, std::vector<TargetSize>& sizes) {
  sizes.assign(targets.size(), TargetSize{});
  std::vector<TargetBlock> blocks;
  blocks.reserve(targets.size());
  for (const CellKey& key : targets) blocks.push_back({key.x, key.y, key.z});
  const TargetBlock* on_device = nullptr;
  upload_.Add(blocks, &on_device);
  VOXLOC_TRY(upload_.Send(stream));
  targets_ = on_device;
  if (sorted.count == 0 || targets.empty()) return absl::OkStatus();
  VOXLOC_TRY(sizes_.Reserve(targets.size()));
  const size_t bytes = targets.size() * sizeof(TargetSize);
  VOXLOC_TRY(host_.Reserve(bytes));
  VOXLOC_CUDA_TRY(*device_,
                  MeasureLists(sorted, on_device, static_cast<uint32_t>(targets.size()),
                               sizes_.data(), stream.get()),
                  "measuring a map's lists");
  VOXLOC_CUDA_TRY(
      *device_,
      cudaMemcpyAsync(host_.data(), sizes_.data(), bytes, cudaMemcpyDeviceToHost, stream.get()),
      "fetching the sizes of a map's lists");
  VOXLOC_TRY(stream.Synchronize());
  std::memcpy(sizes.data(), host_.data(), bytes);
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
  VOXLOC_TRY(Merge(targets, sizes, sorted.float_index, previous, plan));
  if (previous != nullptr) ShareSlabs(*previous, plan, layer);

  // The new slab: what is made, then what moves.
  size_t slab_bytes = 0;
  for (const uint32_t i : plan.made) slab_bytes += plan.blocks[i].chunk_bytes;
  for (const uint32_t i : plan.moved) slab_bytes += plan.blocks[i].chunk_bytes;
  std::vector<std::byte*> chunks(targets.size(), nullptr);
  std::vector<ChunkMove> moves;
  if (slab_bytes > 0) {
    auto slab = std::make_shared<Slab>(device_);
    VOXLOC_TRY(slab->ReserveExactly(slab_bytes));
    const auto number = static_cast<uint32_t>(layer.slabs.size());
    layer.slabs.push_back(slab);
    std::byte* at = slab->data();
    for (size_t k = 0; k < plan.made.size(); ++k) {
      LayerBlock& block = plan.blocks[plan.made[k]];
      chunks[plan.target_of[k]] = at;
      block.slab = number;
      block.chunk = at;
      at += block.chunk_bytes;
    }
    for (const uint32_t i : plan.moved) {
      LayerBlock& block = plan.blocks[i];
      moves.push_back({block.chunk, at, block.chunk_bytes});
      block.slab = number;
      block.chunk = at;
      at += block.chunk_bytes;
    }
  }
  for (const LayerBlock& block : plan.blocks) layer.cells += block.cells;
  layer.layer_blocks = std::move(plan.blocks);

  bool rebuilt = false;
  VOXLOC_TRY(PlaceTable(previous, region, stream, layer, &rebuilt));
  std::vector<SlotUpdate> updates;
  const auto update = [&](const LayerBlock& block) {
    updates.push_back({{block.key.x, block.key.y, block.key.z}, block.chunk});
  };
  if (rebuilt) {
    for (const LayerBlock& block : layer.layer_blocks) update(block);
  } else {
    for (const auto* changed : {&plan.made, &plan.moved, &plan.emptied}) {
      for (const uint32_t i : *changed) update(layer.layer_blocks[i]);
    }
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

absl::Status LayerStore::PlaceTable(const MapLayer* previous, const BlockBox& region,
                                    const Stream& stream, MapLayer& layer, bool* rebuilt) {
  std::vector<LayerBlock>& blocks = layer.layer_blocks;
  CellBlocks& table = layer.blocks;
  const auto is_empty = [](const LayerBlock& block) { return block.chunk == nullptr; };
  const size_t live =
      blocks.size() - static_cast<size_t>(std::count_if(blocks.begin(), blocks.end(), is_empty));
  *rebuilt = true;
  if (live == 0) {
    blocks.clear();
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
               blocks.size() * kSlotsPerBlock > count ||
               (count > kMinSlots && live * kMaxSlotsPerBlock < count);
    known = grown;
  }
  if (*rebuilt) {
    // All blocks are entered again; those that are empty need not be. The plan's places end here.
    blocks.erase(std::remove_if(blocks.begin(), blocks.end(), is_empty), blocks.end());
    known = region;
    size_t count = kMinSlots;
    while (count < kSlotsPerBlockAtFirst * blocks.size()) count *= 2;
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
