// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/quality/confidence.h"

#include <algorithm>

namespace voxloc {

double ConfidenceOf(const QualitySignals& signals) {
  if (signals.matched_points == 0) return 0.0;
  return std::clamp(signals.matched_ratio * (1.0 - signals.seen_through_ratio), 0.0, 1.0);
}

}  // namespace voxloc
