// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/load_test/generator_limit.h"

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

}  // namespace voxloc::cli
