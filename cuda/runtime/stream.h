// SPDX-License-Identifier: Apache-2.0
//
// Stream and Event: RAII owners of CUDA streams and events, movable. The device must be current
// when they are created. Nothing in this module uses the default stream.

#ifndef VOXLOC_CUDA_RUNTIME_STREAM_H_
#define VOXLOC_CUDA_RUNTIME_STREAM_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cuda/runtime/device.h"

namespace voxloc::cuda {

// Blocks of a high-priority stream are scheduled before waiting blocks of others; running blocks
// are not preempted.
enum class Priority { kHigh, kLow };

class Stream {
 public:
  [[nodiscard]] static absl::StatusOr<Stream> Create(std::shared_ptr<Device> device,
                                                     Priority priority);

  Stream() = default;
  Stream(Stream&& other) noexcept { *this = std::move(other); }
  Stream& operator=(Stream&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~Stream();

  [[nodiscard]] cudaStream_t get() const { return stream_; }
  // Queue copies of `count` entries to and from the device; `what` is for an error.
  template <typename T>
  [[nodiscard]] absl::Status Upload(T* to, const T* from, size_t count,
                                    absl::string_view what) const {
    return Copy(to, from, count * sizeof(T), cudaMemcpyHostToDevice, what);
  }
  template <typename T>
  [[nodiscard]] absl::Status Download(T* to, const T* from, size_t count,
                                      absl::string_view what) const {
    return Copy(to, from, count * sizeof(T), cudaMemcpyDeviceToHost, what);
  }
  // Waits for all that is queued; the first error of that work.
  [[nodiscard]] absl::Status Synchronize() const;
  // Whether all queued work is done, or some of it has failed: Synchronize would not block.
  [[nodiscard]] bool IsDone() const noexcept;
  // Waits and ignores errors, for the end of a workspace: the next call returns an error that ends
  // the context too.
  void Drain() const noexcept;

 private:
  absl::Status Copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                    absl::string_view what) const {
    return device_->Check(cudaMemcpyAsync(to, from, bytes, kind, stream_), what);
  }

  std::shared_ptr<Device> device_;
  cudaStream_t stream_ = nullptr;
};

// Drains the stream at the end of a scope, before variables declared earlier are destroyed.
class DrainAtExit {
 public:
  explicit DrainAtExit(const Stream& stream) : stream_(stream) {}
  DrainAtExit(const DrainAtExit&) = delete;
  DrainAtExit& operator=(const DrainAtExit&) = delete;
  ~DrainAtExit() { stream_.Drain(); }

 private:
  const Stream& stream_;
};

class Event {
 public:
  [[nodiscard]] static absl::StatusOr<Event> Create(std::shared_ptr<Device> device);

  Event() = default;
  Event(Event&& other) noexcept { *this = std::move(other); }
  Event& operator=(Event&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(event_, other.event_);
    return *this;
  }
  ~Event();

  [[nodiscard]] absl::Status Record(const Stream& stream) const;
  [[nodiscard]] absl::Status Synchronize() const;
  // Milliseconds from `start`, which like this one must have been recorded and have happened.
  [[nodiscard]] absl::StatusOr<double> MillisecondsSince(const Event& start) const;

 private:
  std::shared_ptr<Device> device_;
  cudaEvent_t event_ = nullptr;
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_RUNTIME_STREAM_H_
