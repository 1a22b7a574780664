// SPDX-License-Identifier: Apache-2.0

#include "server/observe/metrics/span_metrics.h"

namespace voxloc::server {
namespace {

constexpr MetricName kSpans = {
    "voxloc_spans_total",
    "Spans of sampled traces: taken by the collector (exported), left out since the queue was full "
    "or the server stopped (dropped), refused by the collector (refused), given up after the last "
    "retry (failed).",
    "outcome"};

}  // namespace

SpanGroup::SpanGroup(const Registrar& make)
    : spans_exported(make.CounterOf(kSpans, "exported")),
      spans_dropped(make.CounterOf(kSpans, "dropped")),
      spans_refused(make.CounterOf(kSpans, "refused")),
      spans_failed(make.CounterOf(kSpans, "failed")) {}

}  // namespace voxloc::server
