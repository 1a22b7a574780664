// SPDX-License-Identifier: Apache-2.0
//
// ClockOffset: what the device's clock shows at a time of the host's, from readings of both. Plain
// arithmetic; not thread-safe.

#ifndef VOXLOC_CUDA_RUNTIME_CLOCK_OFFSET_H_
#define VOXLOC_CUDA_RUNTIME_CLOCK_OFFSET_H_

#include <algorithm>
#include <cstdint>
#include <optional>

namespace voxloc::cuda {

// The device's clock was read at some time between the host's two; nanoseconds.
struct ClockReading {
  int64_t host_before_ns = 0;
  int64_t device_ns = 0;
  int64_t host_after_ns = 0;
};

class ClockOffset {
 public:
  // Two quartz clocks drift apart by at most this: 50 ppm each.
  static constexpr int64_t kDriftPerMillion = 100;

  // Takes the reading, unless what is known is more exact than it, drift included: a device that is
  // busy answers late.
  void Update(const ClockReading& reading) {
    if (reading_ &&
        ErrorNs(*reading_, reading.host_after_ns) < ErrorNs(reading, reading.host_after_ns)) {
      return;
    }
    reading_ = reading;
  }

  // Of DeviceTime at that time of the host, at most; nullopt before the first reading.
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

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_RUNTIME_CLOCK_OFFSET_H_
