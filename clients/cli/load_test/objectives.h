// SPDX-License-Identifier: Apache-2.0
//
// What a load test must show, and whether it did.

#ifndef VOXLOC_CLIENTS_CLI_LOAD_TEST_OBJECTIVES_H_
#define VOXLOC_CLIENTS_CLI_LOAD_TEST_OBJECTIVES_H_

#include <optional>
#include <string>
#include <vector>

#include "clients/cli/load_test/load_result.h"

namespace voxloc::cli {

struct Objectives {
  std::optional<double> max_p99_ms;            // of the latency
  std::optional<double> min_answered_percent;  // of the scans that were due
  bool one_outcome = false;                    // of every scan that was sent: none lost, none twice
  // The p99 of the latency while tiles are updated, divided by that before.
  std::optional<double> max_update_factor = std::nullopt;
};

struct ObjectiveResult {
  std::string name;  // as in the JSON: "max_p99_ms", "min_answered_percent", ...
  double limit = 0.0;
  double value = 0.0;  // NaN: nothing was answered, or due
  bool met = false;
};

// One for each objective that is set. What has no value is not met; a factor is not met either
// where fewer updates than asked for were made.
[[nodiscard]] std::vector<ObjectiveResult> JudgeObjectives(const Objectives& objectives,
                                                           const LoadResult& result);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_LOAD_TEST_OBJECTIVES_H_
