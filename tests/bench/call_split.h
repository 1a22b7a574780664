// SPDX-License-Identifier: Apache-2.0
//
// Where the time of a call went on a device.

#ifndef VOXLOC_TESTS_BENCH_CALL_SPLIT_H_
#define VOXLOC_TESTS_BENCH_CALL_SPLIT_H_

#include <optional>

#include "core/engine/engine.h"

namespace voxloc::bench {

struct CallSplit {
  double upload_ms = 0.0;
  double kernel_ms = 0.0;
  double download_ms = 0.0;
};

// Of the last Align or Score on this engine; nothing where the engine does not tell.
[[nodiscard]] std::optional<CallSplit> LastCallSplit(const Engine& engine);

}  // namespace voxloc::bench

#endif  // VOXLOC_TESTS_BENCH_CALL_SPLIT_H_
