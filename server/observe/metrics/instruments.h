// SPDX-License-Identifier: Apache-2.0
//
// Handles to single metrics. Cheap to copy and to use; the Metrics that gave one must outlive it. A
// default-constructed handle does nothing. Thread-safe.

#ifndef VOXLOC_SERVER_OBSERVE_METRICS_INSTRUMENTS_H_
#define VOXLOC_SERVER_OBSERVE_METRICS_INSTRUMENTS_H_

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
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

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_METRICS_INSTRUMENTS_H_
