// SPDX-License-Identifier: Apache-2.0

#include "tests/bench/call_split.h"

namespace voxloc::bench {

std::optional<CallSplit> LastCallSplit(const Engine& /*engine*/) { return std::nullopt; }

}  // namespace voxloc::bench
