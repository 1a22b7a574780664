// SPDX-License-Identifier: Apache-2.0
//
// Handles to single metrics, and MetricRegistry, which makes them. Handles are cheap to copy and to
// use; the registry that gave one must outlive it. A default-constructed handle does nothing.
// Thread-safe, except for the making of metrics.

#ifndef VOXLOC_SERVER_OBSERVE_METRICS_INSTRUMENTS_H_
#define VOXLOC_SERVER_OBSERVE_METRICS_INSTRUMENTS_H_

#include <memory>
#include <string>
#include <vector>

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
class Registry;
}  // namespace prometheus

namespace voxloc::server {

class Counter {
 public:
  Counter() = default;
  explicit Counter(prometheus::Counter* counter) : counter_(counter) {}
  void Increment(double by = 1.0) const;
  [[nodiscard]] double Value() const;

 private:
  prometheus::Counter* counter_ = nullptr;
};

class Gauge {
 public:
  Gauge() = default;
  explicit Gauge(prometheus::Gauge* gauge) : gauge_(gauge) {}
  void Set(double value) const;
  void Add(double by) const;

 private:
  prometheus::Gauge* gauge_ = nullptr;
};

class Histogram {
 public:
  Histogram() = default;
  explicit Histogram(prometheus::Histogram* histogram) : histogram_(histogram) {}
  void Observe(double value) const;

 private:
  prometheus::Histogram* histogram_ = nullptr;
};

// Of one queue of tasks.
struct QueueMetrics {
  Gauge depth;
  Histogram wait_s;
};

// The name and the help text of a metric, as /metrics has them. With labels it is a family, whose
// metrics differ in the labels' values.
struct MetricName {
  const char* name;
  const char* help;
  const char* label = nullptr;
  const char* second_label = nullptr;
};

// Owns metrics. Each Add makes one metric; `value` and `second_value` are those of its labels.
class MetricRegistry {
 public:
  MetricRegistry(const MetricRegistry&) = delete;
  MetricRegistry& operator=(const MetricRegistry&) = delete;

  [[nodiscard]] std::shared_ptr<prometheus::Registry> registry() const { return registry_; }

 protected:
  MetricRegistry();
  ~MetricRegistry() = default;

  [[nodiscard]] Counter AddCounter(const MetricName& metric, const std::string& value = {},
                                   const std::string& second_value = {});
  [[nodiscard]] Gauge AddGauge(const MetricName& metric, const std::string& value = {});
  [[nodiscard]] Histogram AddHistogram(const MetricName& metric, const std::vector<double>& borders,
                                       const std::string& value = {},
                                       const std::string& second_value = {});

 private:
  const std::shared_ptr<prometheus::Registry> registry_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_METRICS_INSTRUMENTS_H_
