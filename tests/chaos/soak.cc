// SPDX-License-Identifier: Apache-2.0

#include "tests/chaos/soak.h"

#include <chrono>
#include <csignal>
#include <fstream>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/chaos/growth.h"
#include "tests/chaos/mixed_load.h"
#include "tests/chaos/process_sample.h"
#include "tests/chaos/progress.h"
#include "tests/chaos/town_load.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::chaos {
namespace {

using cli::Json;

// A column of the samples and its allowed growth over the run. Memory: an allocator with per-thread
// arenas reaches new peaks for a while. Descriptors, threads and series vary with sessions and
// maps, by at most the number of these in the load.
struct Column {
  const char* name;
  double allowed_share;
  double allowed_at_least;
};
constexpr Column kColumns[] = {
    {"resident_bytes", 0.05, 16 << 20},
    {"descriptors", 0.0, 8.0},
    {"threads", 0.0, 8.0},
    {"series", 0.0, 16.0},
    {"device_bytes", 0.01, 16 << 20},
};

struct SoakSample {
  double time_s = 0.0;
  std::vector<double> values;  // of kColumns
};

SoakSample Sample(const ServerProcess& server, double time_s) {
  const ProcessSample process = SampleProcess(server.pid());
  const auto metrics = server.Metrics();
  double device_bytes = 0.0;
  for (const auto& [name, value] : metrics) {
    if (absl::StartsWith(name, "voxloc_engine_memory_used_bytes")) device_bytes += value;
  }
  return {time_s,
          {process.resident_bytes, process.descriptors, process.threads,
           static_cast<double>(metrics.size()), device_bytes}};
}

absl::Status WriteCsv(const std::string& path, const std::vector<SoakSample>& samples) {
  if (path.empty()) return absl::OkStatus();
  std::ofstream file(path);
  file << "time_s";
  for (const Column& column : kColumns) file << "," << column.name;
  file << "\n";
  for (const SoakSample& sample : samples) {
    file << absl::StrFormat("%.1f", sample.time_s);
    for (const double value : sample.values) file << absl::StrFormat(",%.0f", value);
    file << "\n";
  }
  file.close();
  if (file) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("cannot write ", path));
}

Report MakeReport(const SoakOptions& options, const std::vector<SoakSample>& samples,
                  const std::map<std::string, MixedCounts>& counts) {
  Report report;
  report.json = {{"scenario", "soak"},
                 {"gpu", options.server.gpu},
                 {"seconds", options.duration_s},
                 {"warm_up_s", options.warm_up_s},
                 {"samples", samples.size()}};
  Json load;
  for (const auto& [kind, count] : counts) {
    load[kind] = {{"done", count.done}, {"failed", count.failed}};
    if (count.failed == 0) continue;
    report.violations.push_back(absl::StrCat(count.failed, " of ", count.done, " ", kind,
                                             " failed: ", count.first_failure));
  }
  report.json["load"] = load;
  for (size_t c = 0; c < std::size(kColumns); ++c) {
    std::vector<TimedValue> values;
    for (const SoakSample& sample : samples) values.push_back({sample.time_s, sample.values[c]});
    const Column& column = kColumns[c];
    const Growth growth =
        JudgeGrowth(values, options.warm_up_s, column.allowed_share, column.allowed_at_least);
    report.json[column.name] = growth.ToJson();
    if (!growth.grows) continue;
    report.violations.push_back(absl::StrFormat("%s grew by %.0f; %.0f is allowed", column.name,
                                                growth.over_run, growth.allowed));
  }
  return report;
}

}  // namespace

absl::StatusOr<Report> RunSoak(const SoakOptions& options) {
  if (options.warm_up_s >= options.duration_s) {
    return absl::InvalidArgumentError(absl::StrCat("--warm-up must be below --duration, ",
                                                   options.duration_s, " (got ", options.warm_up_s,
                                                   ")"));
  }
  const cli::LoadDrive drive = TownDrive(options.points);
  const ScratchDir folder;
  const auto server = ServerProcess::Start(options.server, folder.Path(""));
  if (!server.ok()) return server.status();
  if (absl::Status status = LoadTown((*server)->address()); !status.ok()) return status;
  std::vector<SoakSample> samples;
  std::map<std::string, MixedCounts> counts;
  {
    MixedLoad load((*server)->address(), (*server)->metrics_address(), drive);
    const auto begin = std::chrono::steady_clock::now();
    for (double time_s = 0.0; time_s <= options.duration_s; time_s += options.sample_s) {
      std::this_thread::sleep_until(begin + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                                std::chrono::duration<double>(time_s)));
      if (!(*server)->running()) return absl::InternalError("the server has ended");
      samples.push_back(Sample(**server, time_s));
      const std::vector<double>& now = samples.back().values;
      Progress(absl::StrFormat("%.0f of %g s: %.1f MB, %.0f descriptors, %.0f threads, %.0f series",
                               time_s, options.duration_s, 1e-6 * now[0], now[1], now[2], now[3]));
      // What a run that is broken off has found.
      if (absl::Status status = WriteCsv(options.csv, samples); !status.ok()) return status;
    }
    counts = load.Finish();
  }
  Report report = MakeReport(options, samples, counts);
  if ((*server)->End(SIGTERM) != 0) {
    report.violations.push_back("the server did not end with exit code 0");
  }
  return report;
}

}  // namespace voxloc::chaos
