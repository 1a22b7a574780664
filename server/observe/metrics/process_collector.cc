// SPDX-License-Identifier: Apache-2.0

#include "server/observe/metrics/process_collector.h"

#include <dirent.h>
#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>
#include <prometheus/metric_type.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "absl/time/clock.h"
#include "server/observe/logging.h"

namespace voxloc::server {
namespace {

prometheus::MetricFamily Family(const char* name, const char* help, prometheus::MetricType type,
                                double value) {
  prometheus::MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = type;
  prometheus::ClientMetric metric;
  if (type == prometheus::MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  family.metric.push_back(metric);
  return family;
}

double CpuSeconds() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0.0;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Memory {
  double virtual_bytes = 0.0;
  double resident_bytes = 0.0;
};
Memory ReadMemory() {
  std::ifstream file("/proc/self/statm");
  double virtual_pages = 0.0;
  double resident_pages = 0.0;
  if (!(file >> virtual_pages >> resident_pages)) return {};
  const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
  return {virtual_pages * page, resident_pages * page};
}

double OpenFiles() {
  DIR* folder = opendir("/proc/self/fd");
  if (folder == nullptr) return 0.0;
  int entries = 0;
  while (readdir(folder) != nullptr) ++entries;
  closedir(folder);
  return entries - 3;  // ".", ".." and the folder itself
}

}  // namespace

ProcessCollector::ProcessCollector()
    : started_s_(absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch())) {}

std::vector<prometheus::MetricFamily> ProcessCollector::Collect() const {
  using prometheus::MetricType;
  const Memory memory = ReadMemory();
  return {
      Family("process_cpu_seconds_total", "Processor time, user and system.", MetricType::Counter,
             CpuSeconds()),
      Family("process_resident_memory_bytes", "Resident memory of the process.", MetricType::Gauge,
             memory.resident_bytes),
      Family("process_virtual_memory_bytes", "Virtual memory of the process.", MetricType::Gauge,
             memory.virtual_bytes),
      Family("process_open_fds", "Open file descriptors.", MetricType::Gauge, OpenFiles()),
      Family("process_start_time_seconds", "Start of the process since the Unix epoch.",
             MetricType::Gauge, started_s_),
      Family("voxloc_log_lines_left_out_total",
             "Lines left out of the log since their event came too often.", MetricType::Counter,
             static_cast<double>(LogLinesLeftOut())),
  };
}

}  // namespace voxloc::server
