// SPDX-License-Identifier: Apache-2.0
//
// Where the time of a call went on a device.

#ifndef VOXLOC_TESTS_BENCH_CALL_SPLIT_H_
#define VOXLOC_TESTS_BENCH_CALL_SPLIT_H_

#include <atomic>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "core/engine/engine.h"
#include "tests/support/forwarding_engine.h"

namespace voxloc::bench {

// An engine that has another one measure its calls of Align while it is told to. The other must
// outlive it. Thread-safe.
class SplitTimer : public ForwardingEngine {
 public:
  explicit SplitTimer(Engine& engine) : ForwardingEngine(engine) {}

  void set_timed(bool timed) { timed_.store(timed); }
  std::vector<AlignResult> Align(absl::Span<const AlignJob> jobs) override;
  // Sums over the launches of the Align that ended last while calls were timed. Nullopt before, and
  // where the engine computes on the host.
  [[nodiscard]] std::optional<DeviceTimes> LastCall() const;

 private:
  std::atomic<bool> timed_{false};
  mutable absl::Mutex mutex_;
  std::optional<DeviceTimes> last_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace voxloc::bench

#endif  // VOXLOC_TESTS_BENCH_CALL_SPLIT_H_
