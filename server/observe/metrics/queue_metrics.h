// SPDX-License-Identifier: Apache-2.0
//
// The metrics of the queues, one set a class of work. Thread-safe.

#ifndef VOXLOC_SERVER_OBSERVE_METRICS_QUEUE_METRICS_H_
#define VOXLOC_SERVER_OBSERVE_METRICS_QUEUE_METRICS_H_

#include "server/observe/metrics/instruments.h"
#include "server/observe/metrics/registrar.h"

namespace voxloc::server {

// Of one queue. Default-constructed, they do nothing.
struct QueueMetrics {
  Gauge depth;
  Histogram wait_s;
};

struct QueueGroup {
  explicit QueueGroup(const Registrar& make);

  QueueMetrics tracking_queue;
  QueueMetrics estimating_queue;
  QueueMetrics scoring_queue;
  QueueMetrics searching_queue;
  QueueMetrics mapping_queue;
  QueueMetrics reading_queue;
  QueueMetrics moments_queue;
  QueueMetrics fitting_queue;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_METRICS_QUEUE_METRICS_H_
