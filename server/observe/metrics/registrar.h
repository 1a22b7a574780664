// SPDX-License-Identifier: Apache-2.0
//
// Registrar: registers metrics with a Prometheus registry and returns their handles, for the groups
// of metrics. Metrics of one name are a family: they differ in the value of their label. Used by
// one thread, while the server starts.

#ifndef VOXLOC_SERVER_OBSERVE_METRICS_REGISTRAR_H_
#define VOXLOC_SERVER_OBSERVE_METRICS_REGISTRAR_H_

#include <map>
#include <string>
#include <vector>

#include "server/observe/metrics/instruments.h"

namespace prometheus {
class Registry;
}  // namespace prometheus

namespace voxloc::server {

// A metric's name and help text. With a label it is a family.
struct MetricName {
  const char* name;
  const char* help;
  const char* label = nullptr;
};

class Registrar {
 public:
  using Labels = std::map<std::string, std::string>;
  using Buckets = std::vector<double>;

  explicit Registrar(prometheus::Registry& registry) : registry_(registry) {}

  [[nodiscard]] Counter MakeCounter(const MetricName& metric, const Labels& labels = {}) const;
  [[nodiscard]] Gauge MakeGauge(const MetricName& metric, const Labels& labels = {}) const;
  [[nodiscard]] Histogram MakeHistogram(const MetricName& metric, const Buckets& buckets,
                                        const Labels& labels = {}) const;

  // One of a family.
  [[nodiscard]] Counter CounterOf(const MetricName& family, const char* value) const {
    return MakeCounter(family, {{family.label, value}});
  }
  [[nodiscard]] Gauge GaugeOf(const MetricName& family, const char* value) const {
    return MakeGauge(family, {{family.label, value}});
  }
  [[nodiscard]] Histogram HistogramOf(const MetricName& family, const Buckets& buckets,
                                      const char* value) const {
    return MakeHistogram(family, buckets, {{family.label, value}});
  }

 private:
  prometheus::Registry& registry_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_METRICS_REGISTRAR_H_
