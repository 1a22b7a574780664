// SPDX-License-Identifier: Apache-2.0

#include "server/observe/metrics/queue_metrics.h"

#include "server/observe/metrics/buckets.h"

namespace voxloc::server {
namespace {

constexpr MetricName kDepth = {
    "voxloc_queue_depth",
    "Waiting tasks: scans (tracking), sessions and calls whose slow estimates wait (estimating), "
    "slices of pose sets (scoring), searches (searching), steps of transactions and loads "
    "(mapping), messages of tiles and cells (reading), tiles for the cache (moments), scans to be "
    "compared with their map (fitting).",
    "class"};
constexpr MetricName kWait = {
    "voxloc_queue_wait_seconds",
    "Time from the receipt of a task to the start of its work; of tracking, only scans that are "
    "aligned.",
    "class"};

QueueMetrics Queue(const Registrar& make, const char* work_class) {
  return {make.GaugeOf(kDepth, work_class), make.HistogramOf(kWait, StepBuckets(), work_class)};
}

}  // namespace

QueueGroup::QueueGroup(const Registrar& make)
    : tracking_queue(Queue(make, "tracking")),
      estimating_queue(Queue(make, "estimating")),
      scoring_queue(Queue(make, "scoring")),
      searching_queue(Queue(make, "searching")),
      mapping_queue(Queue(make, "mapping")),
      reading_queue(Queue(make, "reading")),
      moments_queue(Queue(make, "moments")),
      fitting_queue(Queue(make, "fitting")) {}

}  // namespace voxloc::server
