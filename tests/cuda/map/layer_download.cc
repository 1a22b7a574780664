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

void ExpectSound(const Chunk& chunk, bool float_index) {
  ASSERT_GT(chunk.size(), kListBeginBytes);
  uint32_t begin[kBlockCells + 4];
  std::memcpy(begin, chunk.data(), sizeof(begin));
  EXPECT_EQ(begin[0], 0u);
  for (int place = 0; place < kBlockCells; ++place) {
    ASSERT_LE(begin[place], begin[place + 1]) << place;
    EXPECT_EQ(begin[place + 1] % kListStep, 0u) << place;
  }
  const size_t candidates = begin[kBlockCells];
  EXPECT_GT(candidates, 0u);
  const size_t lists = kListBeginBytes + candidates * sizeof(Candidate);
  ASSERT_LE(lists, chunk.size());
  ASSERT_EQ((chunk.size() - lists) % RecordBytes(float_index), 0u);
  const size_t records = (chunk.size() - lists) / RecordBytes(float_index);
  EXPECT_LE(records, kMaxRecords);
  std::vector<bool> named(records, false);
  for (size_t i = 0; i < candidates; ++i) {
    Candidate candidate;
    std::memcpy(&candidate, chunk.data() + kListBeginBytes + i * sizeof(candidate),
                sizeof(candidate));
    if (candidate.half_x == kNowhere) {
      EXPECT_EQ(candidate.half_y, kNowhere);
      EXPECT_EQ(candidate.half_z, kNowhere);
      continue;
    }
    ASSERT_LT(candidate.record, records) << i;
    named[candidate.record] = true;
  }
  for (size_t i = 0; i < records; ++i) EXPECT_TRUE(named[i]) << "record " << i << " of " << records;
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
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block.chunk) % 16, 0u);
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
  uint32_t begin[kBlockCells + 1];
  std::memcpy(begin, chunk.data(), sizeof(begin));
  const std::byte* candidates = chunk.data() + kListBeginBytes;
  const std::byte* records = candidates + begin[kBlockCells] * sizeof(Candidate);
  std::vector<ListEntry> list;
  for (uint32_t i = begin[place]; i < begin[place + 1]; ++i) {
    ListEntry entry{};
    std::memcpy(&entry.candidate, candidates + i * sizeof(Candidate), sizeof(Candidate));
    if (entry.candidate.half_x == kNowhere) continue;
    const std::byte* record = records + entry.candidate.record * RecordBytes(float_index);
    std::memcpy(&entry.record, record, sizeof(CellRecord));
    if (float_index) {
      std::memcpy(&entry.mean, record + sizeof(CellRecord), sizeof(CellMean));
    } else {
      entry.mean = {entry.record.index_x, entry.record.index_y, entry.record.index_z, 0.0F};
    }
    list.push_back(entry);
  }
  return list;
}

}  // namespace voxloc::cuda
