// SPDX-License-Identifier: Apache-2.0
//
// DeviceClock: from a time of the host to the clock that kernels read, so that a deadline counts
// from when it was set and not from when a kernel begins. Thread-safe.
//
// The device's clock is read by a kernel of one thread on a stream of its own, of high priority,
// when the time is asked for and the last reading is a second old. One caller waits for it, which
// takes some 20 us on a device at rest; others meanwhile use what is known.

#ifndef VOXLOC_CUDA_RUNTIME_DEVICE_CLOCK_H_
#define VOXLOC_CUDA_RUNTIME_DEVICE_CLOCK_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "cuda/runtime/clock_offset.h"
#include "cuda/runtime/device.h"
#include "cuda/runtime/device_buffer.h"
#include "cuda/runtime/pinned_buffer.h"
#include "cuda/runtime/stream.h"

namespace voxloc::cuda {

// A moment on both clocks.
struct DeviceMoment {
  absl::Time host;
  int64_t device_ns = 0;

  // What %globaltimer shows at that time, in nanoseconds; at least 1. Times more than a day away
  // count as a day away.
  [[nodiscard]] uint64_t At(absl::Time time) const;
};

class DeviceClock {
 public:
  // Makes the first reading.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<DeviceClock>> Create(
      std::shared_ptr<Device> device);

  DeviceClock(const DeviceClock&) = delete;
  DeviceClock& operator=(const DeviceClock&) = delete;
  ~DeviceClock() { stream_.Drain(); }

  // The device must be current.
  [[nodiscard]] DeviceMoment Now();

 private:
  DeviceClock(std::shared_ptr<Device> device, Stream stream)
      : device_(std::move(device)), stream_(std::move(stream)) {}
  absl::StatusOr<ClockReading> Read();

  const std::shared_ptr<Device> device_;
  absl::Mutex reading_mutex_;  // held by the caller that reads; taken before mutex_
  const Stream stream_;
  DeviceBuffer<uint64_t> on_device_ ABSL_GUARDED_BY(reading_mutex_){device_};
  PinnedBuffer on_host_ ABSL_GUARDED_BY(reading_mutex_){device_};

  absl::Mutex mutex_;
  ClockOffset offset_ ABSL_GUARDED_BY(mutex_);
  int64_t looked_at_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // the host's time of the last reading
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_RUNTIME_DEVICE_CLOCK_H_
