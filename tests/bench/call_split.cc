// SPDX-License-Identifier: Apache-2.0

#include "tests/bench/call_split.h"

#if defined(VOXLOC_HAVE_CUDA)
#include "cuda/cuda_engine.h"
#endif

namespace voxloc::bench {

#if defined(VOXLOC_HAVE_CUDA)

SplitTimer::SplitTimer(Engine& engine) : timer_(dynamic_cast<CudaCallTimer*>(&engine)) {
  if (timer_ != nullptr) timer_->TimeCalls(true);
}

SplitTimer::~SplitTimer() {
  if (timer_ != nullptr) timer_->TimeCalls(false);
}

std::optional<DeviceTimes> SplitTimer::LastCall() const { return timer_->LastAlign(); }

#else

SplitTimer::SplitTimer(Engine& /*engine*/) {}
SplitTimer::~SplitTimer() = default;
std::optional<DeviceTimes> SplitTimer::LastCall() const { return std::nullopt; }

#endif

}  // namespace voxloc::bench
