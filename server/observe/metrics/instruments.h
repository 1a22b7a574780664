// SPDX-License-Identifier: Apache-2.0
//
// Handles to single metrics, and MetricRegistry, which makes them. Handles are cheap to copy and to
// use; the registry that gave one must outlive it. A default-constructed handle does nothing.
// Thread-safe, except for the making of metrics.

#ifndef VOXLOC_SERVER_OBSERVE_METRICS_INSTRUMENTS_H_
#define VOXLOC_SERVER_OBSERVE_METRICS_INSTRUMENTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

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

// Of a folder of captures.
struct CaptureMetrics {
  Counter written;
  Counter queue_full;
  Counter too_large;
  Counter failed;
  Counter deleted_age;
  Counter deleted_room;
  Gauge kept;
  Gauge bytes;
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

// The borders of the histograms. Metrics of one family share them, so that they can be added up.

// Of one scan, seconds: 50 ms, the objective, and 100 ms, the period of a 10 Hz scanner, are
// borders. A GPU takes between 0.2 and 2 ms, where they lie closest (docs/performance.md).
inline std::vector<double> ScanBuckets() {
  return {0.0001, 0.0002, 0.00035, 0.0005, 0.00075, 0.001, 0.0015, 0.002, 0.003, 0.005, 0.0075,
          0.01,   0.015,  0.02,    0.03,   0.05,    0.075, 0.1,    0.2,   0.5,   1.0};
}

// Of steps that scans have in common with slower work, seconds: those of a scan, and on to a
// minute.
inline std::vector<double> StepBuckets() {
  std::vector<double> buckets = ScanBuckets();
  buckets.insert(buckets.end(), {2.0, 5.0, 10.0, 30.0, 60.0});
  return buckets;
}

// Of the stages of a GPU, seconds: a launch of one scan takes 0.1 to 0.2 ms, its upload and its
// download a tenth of that or less (docs/performance.md).
inline std::vector<double> DeviceBuckets() {
  return {0.000002, 0.000005, 0.00001, 0.00002, 0.00005, 0.0001, 0.00015, 0.0002, 0.0003,
          0.0005,   0.001,    0.002,   0.005,   0.01,    0.02,   0.05,    0.1,    1.0};
}

// From a scan's stamp to its reply, seconds: a sweep takes up to 100 ms before it is even sent.
inline std::vector<double> AgeBuckets() {
  return {0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0};
}

// Of work on whole maps, and of searches, seconds: up to half an hour.
inline std::vector<double> LongBuckets() {
  return {0.001, 0.01, 0.02, 0.05, 0.1,  0.2,   0.5,   1.0,   2.0,
          5.0,   10.0, 20.0, 50.0, 100., 200.0, 500.0, 1000., 2000.};
}

// Of RPCs, seconds: from look-ups to streams that last a day.
inline std::vector<double> CallBuckets() {
  return {0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05,  0.1,    0.2,
          0.5,    1.0,   2.0,   5.0,   10.0, 60.0, 600.0, 3600.0, 86400.0};
}

// Of a share or a confidence.
inline std::vector<double> RatioBuckets() {
  return {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0};
}

// Outcomes of the scans on each map, for MapCollector: the series of a map end with it, which a
// registry does not support. Thread-safe.
class MapResults {
 public:
  enum class Revision { kActive, kStaged };
  enum class Outcome { kAccepted, kRejected, kNotAligned };
  static constexpr std::array<const char*, 2> kRevisions = {"active", "staged"};
  static constexpr std::array<const char*, 3> kOutcomes = {"accepted", "rejected", "not_aligned"};
  using Counts = std::array<std::array<uint64_t, kOutcomes.size()>, kRevisions.size()>;

  // The most maps that a server may have (limits.max_maps); scans on others are not counted.
  static constexpr size_t kMaxMaps = 10'000;

  void Count(const std::string& map, Revision revision, Outcome outcome) {
    const absl::MutexLock lock(&mutex_);
    auto found = counts_.find(map);
    if (found == counts_.end()) {
      if (counts_.size() >= kMaxMaps) return;
      found = counts_.emplace(map, Counts{}).first;
    }
    ++found->second[static_cast<size_t>(revision)][static_cast<size_t>(outcome)];
  }

  [[nodiscard]] Counts Of(const std::string& map) const {
    const absl::MutexLock lock(&mutex_);
    const auto found = counts_.find(map);
    return found == counts_.end() ? Counts{} : found->second;
  }

 private:
  mutable absl::Mutex mutex_;
  std::map<std::string, Counts> counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_METRICS_INSTRUMENTS_H_
