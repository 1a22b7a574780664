// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/time/clock.h"
#include "cuda/runtime/clock.cuh"
#include "cuda/runtime/device_clock.h"

namespace voxloc::cuda {
namespace {

// In a second the clocks drift apart by a tenth of a millisecond at most.
constexpr int64_t kNsBetweenReadings = 1'000'000'000;
constexpr int64_t kNsPerDay = int64_t{86'400} * 1'000'000'000;

int64_t HostNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

__global__ void ReadClockKernel(uint64_t* now) { *now = NowNs(); }

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceClock>> DeviceClock::Create(std::shared_ptr<Device> device) {
  VOXLOC_TRY(device->MakeCurrent());
  VOXLOC_ASSIGN_OR_RETURN(Stream stream, Stream::Create(device, Priority::kHigh));
  std::unique_ptr<DeviceClock> clock(new DeviceClock(device, std::move(stream)));
  absl::MutexLock reading_lock(&clock->reading_mutex_);
  // The first reading may wait for the kernel to be loaded.
  for (int i = 0; i < 2; ++i) {
    VOXLOC_ASSIGN_OR_RETURN(const ClockReading reading, clock->Read());
    absl::MutexLock lock(&clock->mutex_);
    clock->offset_.Update(reading);
    clock->last_read_ns_ = reading.host_after_ns;
  }
  return clock;
}

uint64_t DeviceMoment::At(absl::Time time) const {
  const int64_t away_ns = std::clamp(absl::ToInt64Nanoseconds(time - host), -kNsPerDay, kNsPerDay);
  return static_cast<uint64_t>(std::max<int64_t>(1, device_ns + away_ns));
}

DeviceMoment DeviceClock::Now() {
  bool stale = false;
  {
    const int64_t now_ns = HostNs();
    absl::MutexLock lock(&mutex_);
    stale = now_ns - last_read_ns_ > kNsBetweenReadings;
    if (stale) last_read_ns_ = now_ns;  // other callers use the last reading meanwhile
  }
  if (stale) {
    absl::MutexLock reading_lock(&reading_mutex_);
    // On failure the last reading stays in use.
    if (const absl::StatusOr<ClockReading> reading = Read(); reading.ok()) {
      absl::MutexLock lock(&mutex_);
      offset_.Update(*reading);
    }
  }
  absl::MutexLock lock(&mutex_);
  return {absl::Now(), offset_.DeviceTime(HostNs())};
}

absl::StatusOr<ClockReading> DeviceClock::Read() {
  reading_mutex_.AssertHeld();
  VOXLOC_TRY(on_device_.Reserve(1));
  ClockReading reading;
  reading.host_before_ns = HostNs();
  ReadClockKernel<<<1, 1, 0, stream_.get()>>>(on_device_.data());
  VOXLOC_CUDA_TRY(*device_, cudaGetLastError(), "reading the clock");
  VOXLOC_ASSIGN_OR_RETURN(const uint64_t* const fetched,
                          on_host_.Fetch(on_device_.data(), 1, stream_, "fetching the clock"));
  reading.host_after_ns = HostNs();
  reading.device_ns = static_cast<int64_t>(*fetched);
  return reading;
}

}  // namespace voxloc::cuda
