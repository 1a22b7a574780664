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

// Of a batch in several slices, their sum: they overlap each other.
struct CallSplit {
  double upload_ms = 0.0;
  double kernel_ms = 0.0;
  double download_ms = 0.0;
};

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
  [[nodiscard]] std::optional<CallSplit> LastCall() const;

 private:
  CudaCallTimer* timer_ = nullptr;
};

}  // namespace voxloc::bench

#endif  // VOXLOC_TESTS_BENCH_CALL_SPLIT_H_
