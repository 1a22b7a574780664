// SPDX-License-Identifier: Apache-2.0

#include "server/observe/metrics/registrar.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

namespace voxloc::server {

// Registering a name again returns the family that there is.

Counter Registrar::MakeCounter(const MetricName& metric, const Labels& labels) const {
  return Counter(&prometheus::BuildCounter()
                      .Name(metric.name)
                      .Help(metric.help)
                      .Register(registry_)
                      .Add(labels));
}

Gauge Registrar::MakeGauge(const MetricName& metric, const Labels& labels) const {
  return Gauge(&prometheus::BuildGauge()
                    .Name(metric.name)
                    .Help(metric.help)
                    .Register(registry_)
                    .Add(labels));
}

Histogram Registrar::MakeHistogram(const MetricName& metric, const Buckets& buckets,
                                   const Labels& labels) const {
  return Histogram(&prometheus::BuildHistogram()
                        .Name(metric.name)
                        .Help(metric.help)
                        .Register(registry_)
                        .Add(labels, buckets));
}

}  // namespace voxloc::server
