// SPDX-License-Identifier: Apache-2.0
//
// One thread counts the hits of one node at 64 heights at once: each bit of a word is a height, its
// counter is spread over the same bit of several words, and carry-save adders add points to them.
// Neighbouring threads have neighbouring nodes, whose words lie next to each other.

#include <cuda_runtime.h>

#include <cub/device/device_select.cuh>

#include "cuda/search/bound_kernel.h"

namespace voxloc::cuda {
namespace {

constexpr uint32_t kThreads = 128;
constexpr uint32_t kAllLanes = 0xffffffffU;
constexpr int kPlanes = 8;
constexpr uint32_t kGroup = 8;
// Points between two tests whether a node of the warp can still reach min_hits.
constexpr uint32_t kCheckInterval = 32;

__global__ void FillEntries(DeviceLevel level, const BoundPoint* points, uint32_t count,
                            DeviceBoundEntry* entries) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const BoundPoint point = points[i];
  const int32_t x = point.x;
  const int32_t y = point.y;
  const int32_t window = 1 << level.shift;
  const int32_t place = (y * window + (x & (window - 1))) * level.run + (x >> level.shift);
  entries[i] = {place + point.blur_class * level.words_per_column * level.plane, point.z};
}

__device__ __forceinline__ uint64_t AddCarry(uint64_t& sum, uint64_t a, uint64_t b) {
  const uint64_t carry = (sum & a) | (sum & b) | (a & b);
  sum = sum ^ a ^ b;
  return carry;
}

__device__ __forceinline__ void RippleCarry(uint64_t carry, int plane,
                                            uint64_t (&planes)[kPlanes]) {
#pragma unroll
  for (int p = 0; p < kPlanes; ++p) {
    if (p < plane) continue;
    const uint64_t next = planes[p] & carry;
    planes[p] ^= carry;
    carry = next;
  }
}

// The occupied heights for a point, as bits of word `word`.
template <bool kTall>
__device__ __forceinline__ uint64_t LoadColumn(const DeviceLevel& level,
                                               const DeviceBoundEntry& entry, const uint64_t* node,
                                               int32_t word) {
  const uint64_t* const at = node + entry.offset;
  if constexpr (kTall) {
    const int32_t low = word + (entry.up >> 6);
    const uint32_t bits = static_cast<uint32_t>(entry.up) & 63U;
    uint64_t met = 0;
    if (low >= 0 && low < level.words_per_column) met = __ldg(at + low * level.plane) >> bits;
    if (bits > 0 && low + 1 >= 0 && low + 1 < level.words_per_column) {
      met |= __ldg(at + (low + 1) * level.plane) << (64 - bits);
    }
    return met;
  } else {
    if (entry.up <= -64 || entry.up >= 64) return 0;
    const uint64_t column = __ldg(at);
    return entry.up >= 0 ? column >> entry.up : column << -entry.up;
  }
}

__device__ __forceinline__ uint64_t AtLeast(const uint64_t (&planes)[kPlanes], uint32_t least) {
  uint64_t enough = ~uint64_t{0};
#pragma unroll
  for (int p = 0; p < kPlanes; ++p) {
    enough = (least >> p & 1U) != 0 ? enough & planes[p] : enough | planes[p];
  }
  return enough;
}

// False, uniformly in the warp, if none of its nodes can reach min_hits any more.
template <bool kTall>
__device__ __forceinline__ bool Count(const BoundArguments& in, const DeviceBoundEntry* entries,
                                      const uint64_t* node, int32_t word, uint64_t allowed,
                                      uint64_t (&planes)[kPlanes]) {
  const uint32_t points = in.points_per_heading;
  uint32_t i = 0;
  while (i < points) {
    const uint32_t stop = min(points, i + kCheckInterval);
    for (; i + kGroup <= stop; i += kGroup) {
      uint64_t met[kGroup];
#pragma unroll
      for (uint32_t k = 0; k < kGroup; ++k) {
        const int2 entry = __ldg(reinterpret_cast<const int2*>(entries + i + k));
        met[k] = LoadColumn<kTall>(in.level, {entry.x, entry.y}, node, word);
      }
      const uint64_t twos_a = AddCarry(planes[0], met[0], met[1]);
      const uint64_t twos_b = AddCarry(planes[0], met[2], met[3]);
      const uint64_t fours_a = AddCarry(planes[1], twos_a, twos_b);
      const uint64_t twos_c = AddCarry(planes[0], met[4], met[5]);
      const uint64_t twos_d = AddCarry(planes[0], met[6], met[7]);
      const uint64_t fours_b = AddCarry(planes[1], twos_c, twos_d);
      RippleCarry(AddCarry(planes[2], fours_a, fours_b), 3, planes);
    }
    for (; i < stop; ++i)
      RippleCarry(LoadColumn<kTall>(in.level, entries[i], node, word), 0, planes);
    const uint32_t left = points - i;
    if (in.min_hits <= left) continue;
    const bool alive = (AtLeast(planes, in.min_hits - left) & allowed) != 0;
    if (!__any_sync(kAllLanes, alive)) return false;
  }
  return true;
}

template <bool kTall>
__global__ void __launch_bounds__(kThreads) BoundKernel(const BoundArguments in) {
  const uint32_t index = blockIdx.x * kThreads + threadIdx.x;
  // Threads beyond the last node repeat it and do not write.
  const uint32_t number = in.first_node + min(index, in.node_count - 1);
  const uint32_t row = number / in.nodes_x;
  const BoundBlock block = in.blocks[row / in.nodes_y];
  const int32_t x = block.x + static_cast<int32_t>((number % in.nodes_x) << in.level.shift);
  const int32_t y = block.y + static_cast<int32_t>((row % in.nodes_y) << in.level.shift);
  const uint64_t* const node =
      in.level.words + (int64_t{y} << in.level.shift) * in.level.run + (x >> in.level.shift);
  const DeviceBoundEntry* const entries =
      in.entries + size_t{block.heading} * in.points_per_heading;
  uint32_t best_hits = 0;
  uint32_t best_z = 0;
  for (int32_t word = 0; word < in.level.words_per_column; ++word) {
    const uint64_t allowed = in.allowed_z[word];
    if (allowed == 0) continue;
    uint64_t planes[kPlanes] = {};
    if (!Count<kTall>(in, entries, node, word, allowed, planes)) continue;
    uint64_t heights = allowed;
    uint32_t hits = 0;
#pragma unroll
    for (int p = kPlanes - 1; p >= 0; --p) {
      const uint64_t higher = heights & planes[p];
      if (higher == 0) continue;
      heights = higher;
      hits |= 1U << p;
    }
    if (hits <= best_hits) continue;
    best_hits = hits;
    best_z = static_cast<uint32_t>(word) * 64 + static_cast<uint32_t>(__ffsll(heights) - 1);
  }
  if (index >= in.node_count) return;
  in.found[index] =
      best_hits < in.min_hits ? 0 : uint64_t{number} << 32 | uint64_t{best_hits} << 16 | best_z;
}

struct IsFound {
  __device__ __forceinline__ bool operator()(uint64_t found) const { return found != 0; }
};

}  // namespace

absl::Status LaunchFillEntries(Device& device, const DeviceLevel& level, const BoundPoint* points,
                               uint32_t count, DeviceBoundEntry* entries, cudaStream_t stream) {
  FillEntries<<<(count + kThreads - 1) / kThreads, kThreads, 0, stream>>>(level, points, count,
                                                                          entries);
  return device.Check(cudaGetLastError(), "launching the placing of points");
}

absl::Status LaunchBound(Device& device, const BoundArguments& arguments, cudaStream_t stream) {
  const bool tall = arguments.level.words_per_column > 1;
  const auto kernel = tall ? BoundKernel<true> : BoundKernel<false>;
  kernel<<<(arguments.node_count + kThreads - 1) / kThreads, kThreads, 0, stream>>>(arguments);
  return device.Check(cudaGetLastError(), "launching the bounding of nodes");
}

cudaError_t SelectScratchBytes(uint32_t count, size_t* bytes) {
  *bytes = 0;
  return cub::DeviceSelect::If(nullptr, *bytes, static_cast<const uint64_t*>(nullptr),
                               static_cast<uint64_t*>(nullptr), static_cast<uint32_t*>(nullptr),
                               count, IsFound());
}

cudaError_t SelectFound(void* scratch, size_t scratch_bytes, const uint64_t* found, uint32_t count,
                        uint64_t* selected, uint32_t* selected_count, cudaStream_t stream) {
  return cub::DeviceSelect::If(scratch, scratch_bytes, found, selected, selected_count, count,
                               IsFound(), stream);
}

}  // namespace voxloc::cuda
