// SPDX-License-Identifier: Apache-2.0

#include "server/observe/metrics/map_collector.h"

#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>
#include <prometheus/metric_type.h>

#include <algorithm>

#include "absl/time/clock.h"

namespace voxloc::server {
namespace {

prometheus::MetricFamily MapGauges(const char* name, const char* help) {
  prometheus::MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = prometheus::MetricType::Gauge;
  return family;
}

void AddOfMap(const ServedMap& map, double value, prometheus::MetricFamily& family) {
  prometheus::ClientMetric& metric = family.metric.emplace_back();
  metric.gauge.value = value;
  metric.label.push_back({"map", map.name});
}

}  // namespace

std::vector<prometheus::MetricFamily> MapCollector::Collect() const {
  prometheus::MetricFamily revision =
      MapGauges("voxloc_map_revision", "Active revision of each map. A map's series end with it.");
  prometheus::MetricFamily age = MapGauges(
      "voxloc_map_age_seconds", "Time since the active revision of each map was committed.");
  prometheus::MetricFamily results = MapGauges(
      "voxloc_map_results_total",
      "Replies to scans on each map: with an accepted pose (accepted), with one that is not "
      "(rejected), without an alignment (not_aligned). A map's series end with it.");
  results.type = prometheus::MetricType::Counter;
  const int64_t now_unix_ns = absl::GetCurrentTimeNanos();
  for (const ServedMap& map : list_()) {
    AddOfMap(map, static_cast<double>(map.revision), revision);
    // A clock that was set back makes nothing younger than now.
    AddOfMap(map,
             1e-9 * static_cast<double>(std::max<int64_t>(0, now_unix_ns - map.committed_unix_ns)),
             age);
    const MapResults::Counts counts = results_.Of(map.name);
    for (size_t i = 0; i < counts.size(); ++i) {
      prometheus::ClientMetric& metric = results.metric.emplace_back();
      metric.counter.value = static_cast<double>(counts[i]);
      metric.label.push_back({"map", map.name});
      metric.label.push_back({"outcome", MapResults::kNames[i]});
    }
  }
  return {revision, age, results};
}

}  // namespace voxloc::server
