// SPDX-License-Identifier: Apache-2.0

#include "tests/cuda/map/layer_download.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstring>

namespace voxloc::cuda {
namespace {

// The map is complete: nothing on any stream writes it.
template <typename T>
std::vector<T> CopyDown(const T* from, size_t count) {
  std::vector<T> to(count);
  EXPECT_EQ(cudaMemcpy(to.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
  return to;
}

const std::byte* FindChunk(const CellBlocks& blocks, const std::vector<BlockSlot>& slots,
                           const CellKey& key) {
  const auto x = static_cast<uint32_t>(key.x - blocks.first_x);
  const auto y = static_cast<uint32_t>(key.y - blocks.first_y);
  const auto z = static_cast<uint32_t>(key.z - blocks.first_z);
  EXPECT_LT(x, static_cast<uint32_t>(blocks.size_x));
  EXPECT_LT(y, static_cast<uint32_t>(blocks.size_y));
  EXPECT_LT(z, static_cast<uint32_t>(blocks.size_z));
  uint32_t at = HashBlock(x, y, z) & blocks.slot_mask;
  for (size_t probes = 0; probes < slots.size(); ++probes, at = (at + 1) & blocks.slot_mask) {
    if (slots[at].key == PackBlockKey(x, y, z)) return slots[at].chunk;
    if (slots[at].key == kNoBlock) return nullptr;
  }
  ADD_FAILURE() << "the table is full";
  return nullptr;
}

// Where the parts of a chunk lie, in bytes from its start.
struct ChunkLayout {
  std::vector<uint32_t> list_begin;  // in sectors
  size_t records;                    // how many
  size_t lists_at;
  size_t candidates;  // how many
  size_t places_at;
};

ChunkLayout LayoutOf(const Chunk& chunk) {
  ChunkLayout layout;
  layout.list_begin.resize(kListBeginBytes / sizeof(uint32_t));
  std::memcpy(layout.list_begin.data(), chunk.data(), kListBeginBytes);
  layout.lists_at = layout.list_begin[0] * kSectorBytes;
  layout.records = (layout.lists_at - kListBeginBytes) / sizeof(CellRecord);
  layout.places_at = layout.list_begin[kBlockCells] * kSectorBytes;
  layout.candidates = (layout.places_at - layout.lists_at) / sizeof(Candidate);
  return layout;
}

template <typename T>
T ReadAt(const Chunk& chunk, size_t at) {
  T value;
  std::memcpy(&value, chunk.data() + at, sizeof(value));
  return value;
}

void ExpectSound(const Chunk& chunk, bool float_index) {
  ASSERT_GT(chunk.size(), kListBeginBytes);
  const ChunkLayout layout = LayoutOf(chunk);
  ASSERT_GE(layout.lists_at, kListBeginBytes + sizeof(CellRecord));
  EXPECT_LE(layout.records, kMaxRecords);
  for (int place = 0; place < kBlockCells; ++place) {
    ASSERT_LE(layout.list_begin[place], layout.list_begin[place + 1]) << place;
  }
  EXPECT_GT(layout.candidates, 0u);
  const size_t end = layout.places_at + layout.records * PlaceBytes(float_index);
  ASSERT_EQ(chunk.size(), ChunkBytes(layout.candidates, layout.records, float_index));
  ASSERT_LE(end, chunk.size());
  for (size_t at = end; at < chunk.size(); ++at) EXPECT_EQ(chunk[at], std::byte{0});
  for (size_t i = kBlockCells + 1; i < layout.list_begin.size(); ++i) {
    EXPECT_EQ(layout.list_begin[i], 0u);
  }
  std::vector<bool> named(layout.records, false);
  for (size_t i = 0; i < layout.candidates; ++i) {
    const auto candidate = ReadAt<Candidate>(chunk, layout.lists_at + i * sizeof(Candidate));
    if (candidate.half_x == kNowhere) {
      EXPECT_EQ(candidate.half_y, kNowhere);
      EXPECT_EQ(candidate.half_z, kNowhere);
      continue;
    }
    ASSERT_LT(candidate.record, layout.records) << i;
    named[candidate.record] = true;
  }
  for (size_t i = 0; i < layout.records; ++i) {
    EXPECT_TRUE(named[i]) << "record " << i << " of " << layout.records;
  }
}

}  // namespace

std::map<CellKey, Chunk> DownloadChunks(const CudaMap& map, const CellStatistics& statistics) {
  std::map<CellKey, Chunk> chunks;
  const MapLayer* layer = map.Layer(statistics);
  if (layer == nullptr) {
    ADD_FAILURE() << "no layer of " << ToString(statistics);
    return chunks;
  }
  const CellBlocks& blocks = layer->blocks;
  EXPECT_EQ(blocks.cell_size_m, statistics.cell_size_m);
  EXPECT_EQ(blocks.slots == nullptr, layer->layer_blocks.empty());
  if (blocks.slots == nullptr) return chunks;
  const std::vector<BlockSlot> slots = CopyDown(blocks.slots, size_t{blocks.slot_mask} + 1);
  size_t used = 0;
  for (const BlockSlot& slot : slots) used += slot.key == kNoBlock ? 0 : 1;
  EXPECT_EQ(used, layer->table_blocks);
  EXPECT_LE(4 * used, slots.size());
  size_t listed = 0;
  size_t cells = 0;
  std::map<const Slab*, size_t> bytes_in_use;
  layer->layer_blocks.ForEach([&](const CellKey& key, const LayerBlock& block) {
    ++listed;
    EXPECT_EQ(FindChunk(blocks, slots, key), block.chunk);
    cells += block.cells;
    if (block.chunk == nullptr) return;
    bytes_in_use[block.slab] += block.chunk_bytes;
    const Slab& slab = *block.slab;
    EXPECT_GE(block.chunk, slab.data());
    EXPECT_LE(block.chunk + block.chunk_bytes, slab.data() + slab.MemoryBytes());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block.chunk) % kSectorBytes, 0u);
    Chunk chunk = CopyDown(block.chunk, block.chunk_bytes);
    ExpectSound(chunk, statistics.float_index);
    chunks[key] = std::move(chunk);
  });
  EXPECT_EQ(listed, layer->table_blocks);
  EXPECT_EQ(chunks.size(), layer->live_blocks);
  EXPECT_EQ(cells, layer->cells);
  EXPECT_EQ(bytes_in_use.size(), layer->slabs.size());
  for (const LayerSlab& slab : layer->slabs) {
    EXPECT_EQ(bytes_in_use[slab.memory.get()], slab.bytes_in_use);
  }
  return chunks;
}

std::vector<ListEntry> ListOf(const Chunk& chunk, uint32_t place, bool float_index) {
  const ChunkLayout layout = LayoutOf(chunk);
  std::vector<ListEntry> list;
  for (size_t at = layout.list_begin[place] * kSectorBytes;
       at < layout.list_begin[place + 1] * kSectorBytes; at += sizeof(Candidate)) {
    ListEntry entry{};
    entry.candidate = ReadAt<Candidate>(chunk, at);
    if (entry.candidate.half_x == kNowhere) continue;
    const size_t record = entry.candidate.record;
    entry.record = ReadAt<CellRecord>(chunk, kListBeginBytes + record * sizeof(CellRecord));
    const size_t place_at = layout.places_at + record * PlaceBytes(float_index);
    entry.index = ReadAt<CellPlace>(chunk, place_at);
    entry.mean = float_index ? ReadAt<CellMean>(chunk, place_at + sizeof(CellPlace)) : entry.index;
    list.push_back(entry);
  }
  return list;
}

}  // namespace voxloc::cuda
