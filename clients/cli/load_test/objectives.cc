// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/load_test/objectives.h"

namespace voxloc::cli {

std::vector<ObjectiveResult> JudgeObjectives(const Objectives& objectives, const Tally& tally) {
  std::vector<ObjectiveResult> results;
  if (objectives.max_p99_ms.has_value()) {
    const double p99_ms = 1e-6 * tally.latency.Percentile(99.0);
    results.push_back(
        {"max_p99_ms", *objectives.max_p99_ms, p99_ms, p99_ms <= *objectives.max_p99_ms});
  }
  if (objectives.min_answered_percent.has_value()) {
    // NaN where nothing was due.
    const double percent =
        100.0 * static_cast<double>(tally.answered) / static_cast<double>(tally.due());
    results.push_back({"min_answered_percent", *objectives.min_answered_percent, percent,
                       percent >= *objectives.min_answered_percent});
  }
  return results;
}

}  // namespace voxloc::cli
