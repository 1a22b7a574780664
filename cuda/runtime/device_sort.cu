// SPDX-License-Identifier: Apache-2.0

#include <thrust/iterator/counting_iterator.h>

#include <algorithm>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>

#include "cuda/runtime/device.h"
#include "cuda/runtime/device_sort.h"

namespace voxloc::cuda {
namespace {

template <typename Key>
cudaError_t SortBytes(uint32_t count, size_t* bytes) {
  cub::DoubleBuffer<Key> keys;
  cub::DoubleBuffer<uint32_t> values;
  *bytes = 0;
  return cub::DeviceRadixSort::SortPairs(nullptr, *bytes, keys, values, count, 0,
                                         static_cast<int>(8 * sizeof(Key)));
}

}  // namespace

cudaError_t ScratchBytes(uint32_t count, size_t* bytes) {
  size_t narrow = 0;
  size_t wide = 0;
  size_t select = 0;
  size_t sum = 0;
  uint32_t* const none = nullptr;
  VOXLOC_RETURN_IF_CUDA_ERROR(SortBytes<uint32_t>(count, &narrow));
  VOXLOC_RETURN_IF_CUDA_ERROR(SortBytes<uint64_t>(count, &wide));
  VOXLOC_RETURN_IF_CUDA_ERROR(
      cub::DeviceSelect::Flagged(nullptr, select, thrust::counting_iterator<uint32_t>(0),
                                 static_cast<const uint8_t*>(nullptr), none, none, count));
  VOXLOC_RETURN_IF_CUDA_ERROR(cub::DeviceScan::ExclusiveSum(nullptr, sum, none, none, count));
  *bytes = std::max({narrow, wide, select, sum});
  return cudaSuccess;
}

template <typename Key>
cudaError_t SortByKey(const Scratch& scratch, SortBuffers<Key>& buffers, uint32_t count, int bits,
                      cudaStream_t stream) {
  cub::DoubleBuffer<Key> keys(buffers.keys[0], buffers.keys[1]);
  cub::DoubleBuffer<uint32_t> values(buffers.values[0], buffers.values[1]);
  size_t bytes = scratch.bytes;
  const cudaError_t error =
      cub::DeviceRadixSort::SortPairs(scratch.memory, bytes, keys, values, count, 0, bits, stream);
  buffers = {{keys.Current(), keys.Alternate()}, {values.Current(), values.Alternate()}};
  return error;
}

template cudaError_t SortByKey<uint32_t>(const Scratch&, SortBuffers<uint32_t>&, uint32_t, int,
                                         cudaStream_t);
template cudaError_t SortByKey<uint64_t>(const Scratch&, SortBuffers<uint64_t>&, uint32_t, int,
                                         cudaStream_t);

cudaError_t SelectMarked(const Scratch& scratch, const uint8_t* marks, uint32_t count,
                         uint32_t* selected, uint32_t* selected_count, cudaStream_t stream) {
  size_t bytes = scratch.bytes;
  return cub::DeviceSelect::Flagged(scratch.memory, bytes, thrust::counting_iterator<uint32_t>(0),
                                    marks, selected, selected_count, count, stream);
}

cudaError_t ExclusiveSum(const Scratch& scratch, uint32_t* numbers, uint32_t count,
                         cudaStream_t stream) {
  size_t bytes = scratch.bytes;
  return cub::DeviceScan::ExclusiveSum(scratch.memory, bytes, numbers, numbers, count, stream);
}

}  // namespace voxloc::cuda
