// SPDX-License-Identifier: Apache-2.0

#include "tests/bench/device_time_recorder.h"

#include "core/status/try.h"

namespace voxloc::bench {

absl::Status DeviceTimeRecorder::DoAlign(absl::Span<const AlignJob> jobs,
                                         absl::Span<AlignResult> results) {
  if (!recording_.load()) return ForwardingEngine::DoAlign(jobs, results);
  std::vector<AlignJob> timed(jobs.begin(), jobs.end());
  for (AlignJob& job : timed) job.with_device_times = true;
  VOXLOC_TRY(ForwardingEngine::DoAlign(timed, results));
  std::optional<DeviceTimes> times;
  for (const AlignResult& result : results) {
    if (!result.device_times.has_value() || !result.device_times->first_of_launch) continue;
    if (!times.has_value()) times.emplace();
    times->upload_s += result.device_times->upload_s;
    times->kernel_s += result.device_times->kernel_s;
    times->download_s += result.device_times->download_s;
  }
  const absl::MutexLock lock(&mutex_);
  last_ = times;
  return absl::OkStatus();
}

std::optional<DeviceTimes> DeviceTimeRecorder::LastCall() const {
  const absl::MutexLock lock(&mutex_);
  return last_;
}

}  // namespace voxloc::bench
