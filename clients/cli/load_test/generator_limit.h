// SPDX-License-Identifier: Apache-2.0
//
// Whether a load test has measured the server or itself.

#ifndef VOXLOC_CLIENTS_CLI_LOAD_TEST_GENERATOR_LIMIT_H_
#define VOXLOC_CLIENTS_CLI_LOAD_TEST_GENERATOR_LIMIT_H_

#include <cstddef>

#include "clients/cli/load_test/load_timing.h"
#include "clients/cli/load_test/tally.h"

namespace voxloc::cli {

// The generator is the limit where more than 1 % of the sends began late (see kLateSend_ns), which
// then decide the p99 of the latency, or where it used more than 90 % of the processors that it may
// use. Late sends are of open loop: a closed loop is never late.
struct GeneratorLimit {
  double late_percent = 0.0;       // of the sends in the steady part
  double processor_percent = 0.0;  // of all processors that the generator may use
  size_t processors = 0;           // that it may use
  bool limited = false;
};

constexpr double kMaxLatePercent = 1.0;
constexpr double kMaxProcessorPercent = 90.0;

[[nodiscard]] GeneratorLimit JudgeGenerator(const LoadTiming& timing, const Tally& tally,
                                            size_t processors);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_LOAD_TEST_GENERATOR_LIMIT_H_
