// SPDX-License-Identifier: Apache-2.0
//
// PackedUpload: several arrays on their way to the device in one copy. Grow-only memory, used by
// one thread at a time; a new upload may begin once the stream has done the last one and all that
// reads it.

#ifndef VOXLOC_CUDA_MAP_PACKED_UPLOAD_H_
#define VOXLOC_CUDA_MAP_PACKED_UPLOAD_H_

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "cuda/runtime/device.h"
#include "cuda/runtime/device_buffer.h"
#include "cuda/runtime/pinned_buffer.h"
#include "cuda/runtime/stream.h"

namespace voxloc::cuda {

class PackedUpload {
 public:
  explicit PackedUpload(const std::shared_ptr<Device>& device)
      : device_(device), host_(device), memory_(device) {}

  // An array of the upload. `of` is where the device finds it once Send has returned.
  template <typename T>
  void Add(const std::vector<T>& array, const T** of) {
    pieces_.push_back({array.data(), array.size() * sizeof(T), bytes_,
                       [of](std::byte* at) { *of = reinterpret_cast<const T*>(at); }});
    bytes_ = (bytes_ + array.size() * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
  }

  // Queues the copy. The arrays have been read, and the next upload may be put together.
  [[nodiscard]] absl::Status Send(const Stream& stream) {
    const size_t bytes = bytes_ + kAlignment;  // never nothing
    const std::vector<Piece> pieces = std::move(pieces_);
    pieces_.clear();
    bytes_ = 0;
    VOXLOC_TRY(host_.Reserve(bytes));
    VOXLOC_TRY(memory_.Reserve(bytes));
    for (const Piece& piece : pieces) {
      if (piece.bytes > 0) std::memcpy(host_.data() + piece.offset, piece.from, piece.bytes);
      piece.set(memory_.data() + piece.offset);
    }
    return device_->Check(
        cudaMemcpyAsync(memory_.data(), host_.data(), bytes, cudaMemcpyHostToDevice, stream.get()),
        "copying to the device");
  }

 private:
  static constexpr size_t kAlignment = 256;
  struct Piece {
    const void* from;
    size_t bytes;
    size_t offset;
    std::function<void(std::byte*)> set;
  };

  const std::shared_ptr<Device> device_;
  PinnedBuffer host_;
  DeviceBuffer<std::byte> memory_;
  std::vector<Piece> pieces_;
  size_t bytes_ = 0;
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_MAP_PACKED_UPLOAD_H_
