// SPDX-License-Identifier: Apache-2.0
//
// Where the time of a call went on a device.

#ifndef VOXLOC_TESTS_BENCH_CALL_SPLIT_H_
#define VOXLOC_TESTS_BENCH_CALL_SPLIT_H_

#include <optional>

#include "core/engine/engine.h"

namespace voxloc {
class CudaCallTimer;
}

namespace voxloc::bench {

// Has the engine time its calls of Align as long as this lives. Engines that cannot are not
// available.
class SplitTimer {
 public:
  explicit SplitTimer(Engine& engine);
  ~SplitTimer();
  SplitTimer(const SplitTimer&) = delete;
  SplitTimer& operator=(const SplitTimer&) = delete;

  [[nodiscard]] bool available() const { return timer_ != nullptr; }
  // Nothing where no Align has ended since.
  [[nodiscard]] std::optional<DeviceTimes> LastCall() const;

 private:
  CudaCallTimer* timer_ = nullptr;
};

}  // namespace voxloc::bench

#endif  // VOXLOC_TESTS_BENCH_CALL_SPLIT_H_
