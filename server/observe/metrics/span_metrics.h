// SPDX-License-Identifier: Apache-2.0
//
// The metrics of spans on their way to the collector. Thread-safe.

#ifndef VOXLOC_SERVER_OBSERVE_METRICS_SPAN_METRICS_H_
#define VOXLOC_SERVER_OBSERVE_METRICS_SPAN_METRICS_H_

#include "server/observe/metrics/instruments.h"
#include "server/observe/metrics/registrar.h"

namespace voxloc::server {

struct SpanGroup {
  explicit SpanGroup(const Registrar& make);

  Counter spans_exported;  // that the collector took
  Counter spans_dropped;   // the queue was full, or the server stopped
  Counter spans_refused;   // by the collector
  Counter spans_failed;    // it was away, or not able, as often as they are tried
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_METRICS_SPAN_METRICS_H_
