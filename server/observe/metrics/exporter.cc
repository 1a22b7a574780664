// SPDX-License-Identifier: Apache-2.0

#include "server/observe/metrics/exporter.h"

#include <dirent.h>
#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>
#include <prometheus/metric_type.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "server/observe/logging.h"
#include "server/observe/version.h"

namespace voxloc::server {
namespace {

using prometheus::MetricFamily;
using Families = std::vector<MetricFamily>;
using Labels = std::vector<prometheus::ClientMetric::Label>;

constexpr auto kCounter = prometheus::MetricType::Counter;
constexpr auto kGauge = prometheus::MetricType::Gauge;

MetricFamily Family(prometheus::MetricType type, const char* name, const char* help) {
  MetricFamily family;
  family.type = type;
  family.name = name;
  family.help = help;
  return family;
}

void Add(MetricFamily& family, double value, Labels labels = {}) {
  prometheus::ClientMetric& metric = family.metric.emplace_back();
  (family.type == kCounter ? metric.counter.value : metric.gauge.value) = value;
  metric.label = std::move(labels);
}

// A metric without labels.
MetricFamily Single(prometheus::MetricType type, const char* name, const char* help, double value) {
  MetricFamily family = Family(type, name, help);
  Add(family, value);
  return family;
}

void AppendServer(const MetricsSample& server, Families& families) {
  MetricFamily states =
      Family(kGauge, "voxloc_server_state", "1 for what the server is doing, 0 for the others.");
  for (const auto& [state, name] :
       {std::pair{ServerState::kStarting, "starting"}, std::pair{ServerState::kServing, "serving"},
        std::pair{ServerState::kDraining, "draining"}}) {
    Add(states, server.state == state ? 1.0 : 0.0, {{"state", name}});
  }
  families.push_back(std::move(states));
  families.push_back(Single(kGauge, "voxloc_server_ready",
                            "1: the server is ready, as /readyz says.", server.ready ? 1.0 : 0.0));
  families.push_back(Single(kCounter, "voxloc_drain_sessions_told_total",
                            "Sessions that were told to leave.",
                            static_cast<double>(server.sessions_notified)));
  families.push_back(
      Single(kGauge, "voxloc_drain_remaining_seconds",
             "Until a drain ends the remaining streams; 0: there is no drain, or it is over.",
             server.drain_remaining_s));
}

// The version of the kernel's driver of the GPUs, such as "580.65.06"; empty: there is none.
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

void AppendEngine(const Engine& engine, const std::vector<uint32_t>& ordinals, Families& families) {
  const EngineInfo info = engine.Info();
  const bool gpu = info.name != "cpu";
  MetricFamily build = Family(
      kGauge, "voxloc_build_info",
      "Always 1; the labels describe the server: its version, git revision and type of "
      "build, the CUDA toolkit that it was built with (empty: none), the engine, the version "
      "of the GPUs' driver and the GPUs (empty: none).");
  Add(build, 1.0,
      {{"version", kVersion},
       {"git", kGitRevision},
       {"build", kBuildType},
       {"cuda", kCudaVersion},
       {"engine", info.name},
       {"driver", gpu ? DriverVersion() : std::string()},
       {"gpu", gpu ? info.device : std::string()}});
  MetricFamily healthy =
      Family(kGauge, "voxloc_engine_device_healthy",
             "1: the device (cpu, or cuda:0 and so on) works. 0: it has failed permanently.");
  MetricFamily total = Family(kGauge, "voxloc_engine_memory_total_bytes",
                              "Memory of each GPU; absent for the CPU engine.");
  MetricFamily used = Family(kGauge, "voxloc_engine_memory_used_bytes",
                             "Memory of each GPU that is not free; absent for the CPU engine.");
  for (const EngineInfo& device : DevicesOf(engine, ordinals)) {
    const Labels labels = {{"device", device.name}};
    Add(healthy, device.healthy ? 1.0 : 0.0, labels);
    if (device.memory_bytes_total == 0) continue;
    const auto bytes = static_cast<double>(device.memory_bytes_total);
    Add(total, bytes, labels);
    Add(used, bytes - static_cast<double>(device.memory_bytes_free), labels);
  }
  families.push_back(std::move(build));
  families.push_back(Single(kGauge, "voxloc_engine_healthy",
                            "1: the engine works. 0: it has failed permanently.",
                            engine.Health().ok() ? 1.0 : 0.0));
  families.push_back(std::move(healthy));
  families.push_back(std::move(total));
  families.push_back(std::move(used));
}

void AppendMaps(const std::vector<ServedMap>& maps, const MapResults& results, Families& families) {
  MetricFamily revisions = Family(kGauge, "voxloc_map_revision",
                                  "Active revision of each map. A map's series end with it.");
  MetricFamily age = Family(kGauge, "voxloc_map_age_seconds",
                            "Time since the active revision of each map was committed.");
  MetricFamily outcomes = Family(
      kCounter, "voxloc_map_results_total",
      "Replies to scans on each map: with an accepted pose (accepted), with one that is not "
      "(rejected), without an alignment (not_aligned); by the active revision, or by a staged "
      "one that the vehicle tries. A map's series end with it.");
  const int64_t now_unix_ns = absl::GetCurrentTimeNanos();
  for (const ServedMap& map : maps) {
    Add(revisions, static_cast<double>(map.revision), {{"map", map.name}});
    // A clock that was set back makes nothing younger than now.
    const int64_t age_ns = std::max<int64_t>(0, now_unix_ns - map.committed_unix_ns);
    Add(age, 1e-9 * static_cast<double>(age_ns), {{"map", map.name}});
    const MapResults::Counts counts = results.Of(map.name);
    for (size_t revision = 0; revision < counts.size(); ++revision) {
      for (size_t outcome = 0; outcome < counts[revision].size(); ++outcome) {
        Add(outcomes, static_cast<double>(counts[revision][outcome]),
            {{"map", map.name},
             {"revision", MapResults::kRevisions[revision]},
             {"outcome", MapResults::kOutcomes[outcome]}});
      }
    }
  }
  families.push_back(std::move(revisions));
  families.push_back(std::move(age));
  families.push_back(std::move(outcomes));
}

double CpuSeconds() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0.0;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double OpenFiles() {
  DIR* folder = opendir("/proc/self/fd");
  if (folder == nullptr) return 0.0;
  int entries = 0;
  while (readdir(folder) != nullptr) ++entries;
  closedir(folder);
  return entries - 3;  // ".", ".." and the folder itself
}

// What the kernel says about this process, by the names of Prometheus' own client libraries, and
// what the log has left out.
void AppendProcess(double started_unix_s, Families& families) {
  double virtual_pages = 0.0;
  double resident_pages = 0.0;
  std::ifstream memory("/proc/self/statm");
  if (!(memory >> virtual_pages >> resident_pages)) virtual_pages = resident_pages = 0.0;
  const auto page_bytes = static_cast<double>(sysconf(_SC_PAGESIZE));
  families.push_back(Single(kCounter, "process_cpu_seconds_total",
                            "Processor time, user and system.", CpuSeconds()));
  families.push_back(Single(kGauge, "process_resident_memory_bytes",
                            "Resident memory of the process.", resident_pages * page_bytes));
  families.push_back(Single(kGauge, "process_virtual_memory_bytes",
                            "Virtual memory of the process.", virtual_pages * page_bytes));
  families.push_back(Single(kGauge, "process_open_fds", "Open file descriptors.", OpenFiles()));
  families.push_back(Single(kGauge, "process_start_time_seconds",
                            "Start of the process since the Unix epoch.", started_unix_s));
  families.push_back(Single(kCounter, "voxloc_log_lines_left_out_total",
                            "Lines left out of the log since their event came too often.",
                            static_cast<double>(SuppressedLogLines())));
}

}  // namespace

std::string MetricsText(const MetricsSample& sample) {
  Families families = sample.metrics.registry()->Collect();
  AppendServer(sample, families);
  AppendEngine(sample.engine, sample.ordinals, families);
  AppendMaps(sample.maps, sample.metrics.map_results(), families);
  AppendProcess(1e-9 * static_cast<double>(sample.started_unix_ns), families);
  return prometheus::TextSerializer().Serialize(families);
}

std::vector<EngineInfo> DevicesOf(const Engine& engine, const std::vector<uint32_t>& ordinals) {
  EngineInfo info = engine.Info();
  std::vector<EngineInfo> devices = std::move(info.parts);
  if (devices.empty()) {
    info.healthy = engine.Health().ok();
    info.parts.clear();
    devices.push_back(std::move(info));
  }
  for (size_t i = 0; i < devices.size() && i < ordinals.size(); ++i) {
    absl::StrAppend(&devices[i].name, ":", ordinals[i]);
  }
  return devices;
}

}  // namespace voxloc::server
