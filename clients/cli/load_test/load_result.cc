// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/load_test/load_result.h"

#include <limits>

namespace voxloc::cli {

GeneratorLimit JudgeGenerator(const LoadTiming& timing, const Tally& tally, size_t processors) {
  GeneratorLimit limit;
  limit.processors = processors;
  const uint64_t sends = tally.lateness.count();
  if (timing.open_loop() && sends > 0) {
    limit.late_percent = 100.0 * static_cast<double>(tally.late_sends) / static_cast<double>(sends);
  }
  limit.processor_percent =
      100.0 * tally.cpu_s / (timing.steady_s * static_cast<double>(processors));
  limit.limited =
      limit.late_percent > kMaxLatePercent || limit.processor_percent > kMaxProcessorPercent;
  return limit;
}

std::vector<ObjectiveResult> JudgeObjectives(const Objectives& objectives,
                                             const LoadResult& result) {
  const Tally& tally = result.tally;
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
  if (objectives.max_update_factor.has_value()) {
    const double factor =
        tally.updating_latency.Percentile(99.0) / tally.quiet_latency.Percentile(99.0);
    const bool reached = result.tile_updates.has_value() && result.tile_updates->reached();
    results.push_back({"max_update_factor", *objectives.max_update_factor, factor,
                       reached && factor <= *objectives.max_update_factor});
  }
  if (objectives.one_outcome) {
    // NaN where nothing was sent. What is neither lost nor counted would be a fault of the books.
    const uint64_t unbalanced = tally.sent > tally.outcomes() ? tally.sent - tally.outcomes()
                                                              : tally.outcomes() - tally.sent;
    const double wrong = tally.sent == 0
                             ? std::numeric_limits<double>::quiet_NaN()
                             : static_cast<double>(tally.lost + tally.duplicated + unbalanced);
    results.push_back({"one_outcome", 0.0, wrong, wrong == 0.0});
  }
  return results;
}

}  // namespace voxloc::cli
