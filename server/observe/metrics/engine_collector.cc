// SPDX-License-Identifier: Apache-2.0

#include "server/observe/metrics/engine_collector.h"

#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>
#include <prometheus/metric_type.h>

#include <string>

#include "server/observe/engine_devices.h"

namespace voxloc::server {
namespace {

prometheus::MetricFamily Gauges(const char* name, const char* help) {
  prometheus::MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = prometheus::MetricType::Gauge;
  return family;
}

prometheus::ClientMetric Value(double value) {
  prometheus::ClientMetric metric;
  metric.gauge.value = value;
  return metric;
}

prometheus::ClientMetric Value(const std::string& device, double value) {
  prometheus::ClientMetric metric = Value(value);
  prometheus::ClientMetric::Label label;
  label.name = "device";
  label.value = device;
  metric.label.push_back(label);
  return metric;
}

}  // namespace

std::vector<prometheus::MetricFamily> EngineCollector::Collect() const {
  prometheus::MetricFamily healthy =
      Gauges("voxloc_engine_healthy", "1: the engine can compute. 0: it has failed permanently.");
  healthy.metric.push_back(Value(engine_.Health().ok() ? 1.0 : 0.0));

  prometheus::MetricFamily device_healthy = Gauges(
      "voxloc_engine_device_healthy", "1: the device can compute. 0: it has failed permanently.");
  prometheus::MetricFamily total =
      Gauges("voxloc_engine_memory_total_bytes", "Memory of each GPU, bytes; absent for the CPU.");
  prometheus::MetricFamily used =
      Gauges("voxloc_engine_memory_used_bytes", "Memory of each device that is not free.");
  for (const EngineInfo& device : DevicesOf(engine_, ordinals_)) {
    device_healthy.metric.push_back(Value(device.name, device.healthy ? 1.0 : 0.0));
    if (device.memory_bytes_total == 0) continue;
    const auto bytes = static_cast<double>(device.memory_bytes_total);
    total.metric.push_back(Value(device.name, bytes));
    used.metric.push_back(
        Value(device.name, bytes - static_cast<double>(device.memory_bytes_free)));
  }
  return {healthy, device_healthy, total, used};
}

}  // namespace voxloc::server
