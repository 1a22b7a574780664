// SPDX-License-Identifier: Apache-2.0
//
// PackedUpload: uploads several arrays in one copy. Its memory is retained as in retention.h. Used
// by one thread at a time; a new upload may begin once the last one and all work that reads it are
// done.

#ifndef VOXLOC_CUDA_RUNTIME_PACKED_UPLOAD_H_
#define VOXLOC_CUDA_RUNTIME_PACKED_UPLOAD_H_

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cuda/runtime/buffer.h"
#include "cuda/runtime/device.h"
#include "cuda/runtime/stream.h"

namespace voxloc::cuda {

class PackedUpload {
 public:
  // Of each array.
  static constexpr size_t kAlignment = 256;

  explicit PackedUpload(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  // Adds an array. Send sets `of` to its address on the device.
  template <typename T>
  void Add(absl::Span<const T> array, const T** of) {
    AddPiece(array.data(), array.size() * sizeof(T),
             [of](std::byte* at) { *of = reinterpret_cast<const T*>(at); });
  }
  template <typename T>
  void Add(const std::vector<T>& array, const T** of) {
    Add(absl::MakeConstSpan(array), of);
  }

  // Behind the array added last, from the next multiple of kAlignment bytes on.
  template <typename T>
  void Append(absl::Span<const T> array) {
    AddPiece(array.data(), array.size() * sizeof(T), [](std::byte*) {});
  }
  // Device memory behind all arrays that is not initialised; `of` likewise. At most once, and last.
  template <typename T>
  void AddUninitialized(size_t bytes, T** of) {
    AddPiece(nullptr, 0, [of](std::byte* at) { *of = reinterpret_cast<T*>(at); });
    uninitialized_bytes_ = bytes;
  }

  // Queues the copy. The arrays have been read when it returns; the list is empty again, also after
  // an error.
  [[nodiscard]] absl::Status Send(const Stream& stream) {
    const absl::Status status = Copy(stream);
    pieces_.clear();
    bytes_ = 0;
    uninitialized_bytes_ = 0;
    return status;
  }

 private:
  struct Piece {
    const void* from;
    size_t bytes;
    size_t offset;
    std::function<void(std::byte*)> set;
  };

  void AddPiece(const void* from, size_t bytes, std::function<void(std::byte*)> set) {
    pieces_.push_back({from, bytes, bytes_, std::move(set)});
    bytes_ = (bytes_ + bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  [[nodiscard]] absl::Status Copy(const Stream& stream) {
    const size_t bytes = bytes_ + kAlignment;  // never nothing
    VOXLOC_TRY(host_.ReserveForUse(bytes));
    VOXLOC_TRY(memory_.ReserveForUse(bytes + uninitialized_bytes_));
    for (const Piece& piece : pieces_) {
      if (piece.bytes > 0) std::memcpy(host_.data() + piece.offset, piece.from, piece.bytes);
      piece.set(memory_.data() + piece.offset);
    }
    return stream.Upload(memory_.data(), host_.data(), bytes, "copying to the device");
  }

  const std::shared_ptr<Device> device_;
  PinnedBuffer host_{device_};
  DeviceBuffer<std::byte> memory_{device_};
  std::vector<Piece> pieces_;
  size_t bytes_ = 0;
  size_t uninitialized_bytes_ = 0;
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_RUNTIME_PACKED_UPLOAD_H_
