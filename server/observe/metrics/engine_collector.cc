// SPDX-License-Identifier: Apache-2.0

#include "server/observe/metrics/engine_collector.h"

#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>
#include <prometheus/metric_type.h>

#include <fstream>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "server/observe/engine_devices.h"
#include "server/version/version.h"

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

// Of the kernel's driver of the GPUs, such as "580.65.06"; empty: there is none.
std::string DriverVersion() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::getline(file, line);
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul ...": the first word that
  // begins with a digit and has a dot.
  for (const absl::string_view word : absl::StrSplit(line, ' ', absl::SkipEmpty())) {
    if (absl::ascii_isdigit(static_cast<unsigned char>(word.front())) &&
        absl::StrContains(word, '.')) {
      return std::string(word);
    }
  }
  return {};
}

prometheus::MetricFamily BuildInfo(const EngineInfo& engine) {
  prometheus::MetricFamily family = Gauges(
      "voxloc_build_info",
      "Always 1; the labels describe the server: its version, git revision and type of "
      "build, the CUDA toolkit that it was built with (empty: none), the engine, the version "
      "of the GPUs' driver and the GPUs (empty: none).");
  const bool gpu = engine.name != "cpu";
  prometheus::ClientMetric& metric = family.metric.emplace_back(Value(1.0));
  const auto add = [&metric](const char* name, std::string value) {
    prometheus::ClientMetric::Label& label = metric.label.emplace_back();
    label.name = name;
    label.value = std::move(value);
  };
  add("version", kVersion);
  add("git", kGitRevision);
  add("build", kBuildType);
  add("cuda", kCudaVersion);
  add("engine", engine.name);
  add("driver", gpu ? DriverVersion() : std::string());
  add("gpu", gpu ? engine.device : std::string());
  return family;
}

}  // namespace

std::vector<prometheus::MetricFamily> EngineCollector::Collect() const {
  prometheus::MetricFamily healthy =
      Gauges("voxloc_engine_healthy", "1: the engine works. 0: it has failed permanently.");
  healthy.metric.push_back(Value(engine_.Health().ok() ? 1.0 : 0.0));

  prometheus::MetricFamily device_healthy =
      Gauges("voxloc_engine_device_healthy",
             "1: the device (cpu, or cuda:0 and so on) works. 0: it has failed permanently.");
  prometheus::MetricFamily total =
      Gauges("voxloc_engine_memory_total_bytes", "Memory of each GPU; absent for the CPU engine.");
  prometheus::MetricFamily used =
      Gauges("voxloc_engine_memory_used_bytes",
             "Memory of each GPU that is not free; absent for the CPU engine.");
  for (const EngineInfo& device : DevicesOf(engine_, ordinals_)) {
    device_healthy.metric.push_back(Value(device.name, device.healthy ? 1.0 : 0.0));
    if (device.memory_bytes_total == 0) continue;
    const auto bytes = static_cast<double>(device.memory_bytes_total);
    total.metric.push_back(Value(device.name, bytes));
    used.metric.push_back(
        Value(device.name, bytes - static_cast<double>(device.memory_bytes_free)));
  }
  return {BuildInfo(engine_.Info()), healthy, device_healthy, total, used};
}

}  // namespace voxloc::server
