// SPDX-License-Identifier: Apache-2.0
//
// Transfers between host and device. Their memory is kept as by Retention (buffer.h). Each object
// is used by one thread at a time.

#ifndef VOXLOC_CUDA_RUNTIME_TRANSFERS_H_
#define VOXLOC_CUDA_RUNTIME_TRANSFERS_H_

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "cuda/runtime/buffer.h"
#include "cuda/runtime/device.h"
#include "cuda/runtime/stream.h"

namespace voxloc::cuda {

// PackedUpload: uploads several arrays in one copy. A new upload may begin once the last one and
// all work that reads it are done.
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

// Output: an array that kernels write and the host reads once the stream is done.
template <typename T>
class Output {
 public:
  // Where kernels write: to device memory, which Download copies; or directly to mapped host
  // memory, for few entries that are written once. Without page-locked memory, device memory is
  // used.
  enum class Place { kDevice, kHost };

  explicit Output(std::shared_ptr<Device> device, Place place = Place::kDevice)
      : device_(std::move(device)), place_(place) {}

  // Once for every use of a workspace, also with a count of 0. The device must be current.
  [[nodiscard]] absl::Status ReserveForUse(size_t count) {
    count_ = count;
    VOXLOC_TRY(on_host_.ReserveForUse(count * sizeof(T)));
    return on_device_.ReserveForUse(in_place() ? 0 : count);
  }
  [[nodiscard]] T* device_data() const {
    return in_place() ? reinterpret_cast<T*>(on_host_.device_data()) : on_device_.data();
  }
  // Queues the copy to the host where one is needed; `what` is for its error.
  [[nodiscard]] absl::Status Download(const Stream& stream, absl::string_view what) const {
    if (count_ == 0 || in_place()) return absl::OkStatus();
    return stream.Download(reinterpret_cast<T*>(on_host_.data()), on_device_.data(), count_, what);
  }
  // The host's copy, once the stream is done.
  [[nodiscard]] const T* data() const { return reinterpret_cast<const T*>(on_host_.data()); }

 private:
  [[nodiscard]] bool in_place() const {
    return place_ == Place::kHost && on_host_.device_data() != nullptr;
  }

  const std::shared_ptr<Device> device_;
  const Place place_;
  size_t count_ = 0;
  DeviceBuffer<T> on_device_{device_};
  PinnedBuffer on_host_{device_};
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_RUNTIME_TRANSFERS_H_
