// SPDX-License-Identifier: Apache-2.0

#include "server/observe/metrics/server_collector.h"

#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>
#include <prometheus/metric_type.h>

namespace voxloc::server {
namespace {

prometheus::MetricFamily ServerGauge(const char* name, const char* help, double value) {
  prometheus::MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = prometheus::MetricType::Gauge;
  family.metric.emplace_back().gauge.value = value;
  return family;
}

prometheus::MetricFamily StateFamily(ServerState state) {
  prometheus::MetricFamily family;
  family.name = "voxloc_server_state";
  family.help = "1 for what the server is doing, 0 for the others.";
  family.type = prometheus::MetricType::Gauge;
  const auto add = [&](ServerState of, const char* name) {
    prometheus::ClientMetric& metric = family.metric.emplace_back();
    metric.gauge.value = state == of ? 1.0 : 0.0;
    metric.label.push_back({"state", name});
  };
  add(ServerState::kStarting, "starting");
  add(ServerState::kServing, "serving");
  add(ServerState::kDraining, "draining");
  return family;
}

}  // namespace

std::vector<prometheus::MetricFamily> ServerCollector::Collect() const {
  const ServerSample sample = sample_();
  prometheus::MetricFamily told;
  told.name = "voxloc_drain_sessions_told_total";
  told.help = "Sessions that were told to leave.";
  told.type = prometheus::MetricType::Counter;
  told.metric.emplace_back().counter.value = static_cast<double>(sample.sessions_told);
  return {StateFamily(sample.state),
          ServerGauge("voxloc_server_ready", "1: the server is ready, as /readyz says.",
                      sample.ready ? 1.0 : 0.0),
          told,
          ServerGauge("voxloc_drain_remaining_seconds",
                      "Until a drain ends the remaining streams; 0: there is no drain, or it is "
                      "over.",
                      sample.drain_remaining_s)};
}

}  // namespace voxloc::server
