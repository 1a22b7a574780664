// SPDX-License-Identifier: Apache-2.0
//
// DeviceClock: converts host times to the clock that kernels read, so that a deadline counts from
// when it was set and not from the start of a kernel. Thread-safe.
//
// A kernel of one thread on a high-priority stream reads the device's clock when Now is called and
// the last reading is a second old. One caller waits for it, some 20 us on an idle device; others
// meanwhile use the last reading.

#ifndef VOXLOC_CUDA_RUNTIME_DEVICE_CLOCK_H_
#define VOXLOC_CUDA_RUNTIME_DEVICE_CLOCK_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "cuda/runtime/buffer.h"
#include "cuda/runtime/device.h"
#include "cuda/runtime/stream.h"

namespace voxloc::cuda {

// The device's clock was read between the two host times; nanoseconds.
struct ClockReading {
  int64_t host_before_ns = 0;
  int64_t device_ns = 0;
  int64_t host_after_ns = 0;
};

// Estimates the device's clock at a host time from readings of both. Plain arithmetic; not
// thread-safe.
class ClockOffset {
 public:
  // Two quartz clocks drift apart by at most this: 50 ppm each.
  static constexpr int64_t kDriftPerMillion = 100;

  // Uses the reading unless the last one is more accurate even with its drift: a busy device
  // answers late.
  void Update(const ClockReading& reading) {
    if (reading_ &&
        ErrorNs(*reading_, reading.host_after_ns) < ErrorNs(reading, reading.host_after_ns)) {
      return;
    }
    reading_ = reading;
  }

  // An upper bound of the error of DeviceTime(host_ns); nullopt before the first reading.
  [[nodiscard]] std::optional<int64_t> ErrorNs(int64_t host_ns) const {
    if (!reading_) return std::nullopt;
    return ErrorNs(*reading_, host_ns);
  }

  // After the first reading.
  [[nodiscard]] int64_t DeviceTime(int64_t host_ns) const {
    return reading_->device_ns + (host_ns - Middle(*reading_));
  }

 private:
  [[nodiscard]] static int64_t Middle(const ClockReading& reading) {
    return reading.host_before_ns + (reading.host_after_ns - reading.host_before_ns) / 2;
  }
  [[nodiscard]] static int64_t ErrorNs(const ClockReading& reading, int64_t host_ns) {
    const int64_t half = (reading.host_after_ns - reading.host_before_ns + 1) / 2;
    const int64_t age = std::max(host_ns, reading.host_after_ns) - reading.host_before_ns;
    return half + (age / 1'000'000 + 1) * kDriftPerMillion;
  }

  std::optional<ClockReading> reading_;
};

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
  int64_t last_read_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // host time of the last reading
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_RUNTIME_DEVICE_CLOCK_H_
