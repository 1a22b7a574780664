// SPDX-License-Identifier: Apache-2.0
//
// Growth over time by the Theil-Sen estimator, the median of the slopes between all pairs of
// samples, which is robust against up to 29 % of outliers.

#ifndef VOXLOC_TESTS_CHAOS_GROWTH_H_
#define VOXLOC_TESTS_CHAOS_GROWTH_H_

#include <string>
#include <vector>

#include "clients/cli/output/output.h"

namespace voxloc::chaos {

struct TimedValue {
  double time_s = 0.0;
  double value = 0.0;
};

// The median of the slopes of all pairs, per second; 0 of fewer than two samples.
[[nodiscard]] double TheilSenSlope(const std::vector<TimedValue>& samples);

struct Growth {
  double first = 0.0;  // medians of the first and the last quarter of the samples
  double last = 0.0;
  double per_hour = 0.0;  // the slope
  double over_run = 0.0;  // the slope times the time between the first and the last sample
  double allowed = 0.0;   // over the run
  bool grows = false;     // over_run is over allowed

  [[nodiscard]] cli::Json ToJson() const;
};

// Of the samples from `warm_up_s` on. Allowed is the larger of `allowed_share` of the samples'
// median and `allowed_at_least`.
[[nodiscard]] Growth JudgeGrowth(const std::vector<TimedValue>& samples, double warm_up_s,
                                 double allowed_share, double allowed_at_least);

}  // namespace voxloc::chaos

#endif  // VOXLOC_TESTS_CHAOS_GROWTH_H_
