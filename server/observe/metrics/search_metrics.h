// SPDX-License-Identifier: Apache-2.0
//
// The metrics of searches, for initial poses and lost vehicles, and of scoring. Thread-safe.

#ifndef VOXLOC_SERVER_OBSERVE_METRICS_SEARCH_METRICS_H_
#define VOXLOC_SERVER_OBSERVE_METRICS_SEARCH_METRICS_H_

#include "server/observe/metrics/instruments.h"
#include "server/observe/metrics/registrar.h"

namespace voxloc::server {

struct SearchGroup {
  explicit SearchGroup(const Registrar& make);

  Counter poses_scored;
  Counter searches_reliable;    // their best hypothesis passes, and is not ambiguous
  Counter searches_ambiguous;   // another hypothesis is as good
  Counter searches_unreliable;  // their best hypothesis does not pass
  Counter searches_nothing;     // without any hypothesis
  Counter searches_timed_out;
  Counter search_candidates;
  Histogram search_duration_s;
  Counter recoveries_found;      // searches for lost vehicles that found a pose
  Counter recoveries_failed;     // that did not
  Counter recoveries_confirmed;  // found poses that later scans confirmed
  Counter recoveries_dropped;    // that they did not
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_METRICS_SEARCH_METRICS_H_
