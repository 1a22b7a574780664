// SPDX-License-Identifier: Apache-2.0
//
// The times of upload, kernels and download of a call.

#ifndef VOXLOC_TESTS_BENCH_DEVICE_TIME_RECORDER_H_
#define VOXLOC_TESTS_BENCH_DEVICE_TIME_RECORDER_H_

#include <atomic>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "core/engine/engine.h"
#include "tests/support/forwarding_engine.h"

namespace voxloc::bench {

// A forwarding engine that requests device times of Align while set_recording(true). The other
// engine must outlive it. Thread-safe.
class DeviceTimeRecorder : public ForwardingEngine {
 public:
  explicit DeviceTimeRecorder(Engine& engine) : ForwardingEngine(engine) {}

  void set_recording(bool timed) { recording_.store(timed); }
  absl::Status DoAlign(absl::Span<const AlignJob> jobs, absl::Span<AlignResult> results) override;
  // Sums over the launches of the last timed Align. Nullopt before the first, and for engines that
  // compute on the host.
  [[nodiscard]] std::optional<DeviceTimes> LastCall() const;

 private:
  std::atomic<bool> recording_{false};
  mutable absl::Mutex mutex_;
  std::optional<DeviceTimes> last_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace voxloc::bench

#endif  // VOXLOC_TESTS_BENCH_DEVICE_TIME_RECORDER_H_
