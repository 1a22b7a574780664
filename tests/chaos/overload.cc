// SPDX-License-Identifier: Apache-2.0

#include "tests/chaos/overload.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/load_test/load_report.h"
#include "clients/cli/load_test/load_run.h"
#include "clients/cli/load_test/load_schedule.h"
#include "core/parallel/processors.h"
#include "tests/chaos/flood.h"
#include "tests/chaos/growth.h"
#include "tests/chaos/probe_vehicle.h"
#include "tests/chaos/process_sample.h"
#include "tests/chaos/processor_split.h"
#include "tests/chaos/progress.h"
#include "tests/chaos/town_load.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::chaos {
namespace {

using cli::Json;
using cli::RunClock;

constexpr double kFloodTimeout_s = 30.0;
// Recovered: the p99 of the probe over this time is at most twice the quiet one.
constexpr double kRecoveryWindow_s = 1.0;
constexpr double kRecoveredFactor = 2.0;
// Of the memory during the flood, after its first fifth. Allocators retain part of a peak.
constexpr double kAllowedGrowth = 0.10;
constexpr double kAllowedGrowth_bytes = 32 << 20;
// A shorter overload says nothing about the memory.
constexpr double kMinMemoryCheck_s = 60.0;
// Minimum of sent / due; below it the generator itself was too slow.
constexpr double kMinOfferedRatio = 0.95;
// Half of the scans come from sessions, the other half in equal parts from streams and calls.
constexpr double kSessionShare = 0.5;
constexpr size_t kFloodStreams = 16;

double ProcessorSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

int64_t Nanoseconds(double seconds) { return static_cast<int64_t>(seconds * 1e9); }

Json Milliseconds(const Summary& summary) {
  return {
      {"count", summary.count}, {"p50", summary.p50}, {"p99", summary.p99}, {"max", summary.max}};
}

class Overload {
 public:
  explicit Overload(const OverloadOptions& options)
      : options_(options), drives_({TownDrive(options.points)}) {}

  absl::StatusOr<Report> Run() {
    if (absl::Status status = StartServer(); !status.ok()) return status;
    if (absl::Status status = LoadTown(server_->address()); !status.ok()) return status;
    if (absl::Status status = FindCapacity(); !status.ok()) return status;
    auto probe = ProbeVehicle::Start(server_->address(), drives_[0], options_.probe_hz);
    if (!probe.ok()) return probe.status();
    probe_ = *std::move(probe);
    const int64_t quiet_ns = RunClock::Monotonic_ns();
    Sleep(options_.quiet_s);
    quiet_ = TimesOf(probe_->Scans(quiet_ns, RunClock::Monotonic_ns()));
    Progress(absl::StrFormat("quiet: p50 %.2f ms, p99 %.2f ms", quiet_.p50, quiet_.p99));
    if (absl::Status status = Flood(); !status.ok()) return status;
    // Covers the allowed recovery time plus one window.
    Sleep(std::max(options_.quiet_s, 2.0 * kRecoveryWindow_s));
    FindRecovery();
    probe_.reset();
    if (server_->End(SIGTERM) != 0)
      violations_.push_back("the server did not end with exit code 0");
    return MakeReport();
  }

 private:
  static void Sleep(double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }

  absl::Status StartServer() {
    absl::StatusOr<ProcessorSplit> split = absl::NotFoundError("shared");
    if (options_.server_processors > 0) {
      split = ProcessorSplit::Make(options_.server_processors);
      if (!split.ok()) return split.status();
      if (absl::Status status = split->UseServerCpus(); !status.ok()) return status;
    }
    auto server = ServerProcess::Start(options_.server, folder_.Path(""));
    if (!server.ok()) return server.status();
    server_ = *std::move(server);
    return split.ok() ? split->UseOtherCpus() : absl::OkStatus();
  }

  [[nodiscard]] cli::LoadPlan Plan(size_t streams, double rate_hz, double seconds) const {
    cli::LoadPlan plan;
    plan.channel.server = server_->address();
    plan.timeout_s = kFloodTimeout_s;
    plan.timing.streams = streams;
    plan.timing.rate_hz = rate_hz / static_cast<double>(streams);
    plan.timing.steady_s = seconds;
    plan.maps = {kTown};
    return plan;
  }

  // In closed loop, the maximum over several numbers of streams.
  absl::Status FindCapacity() {
    for (const size_t streams :
         {std::max<size_t>(1, options_.streams / 4), options_.streams, 4 * options_.streams}) {
      const auto plan = Plan(streams, 0.0, options_.capacity_s / 3.0);
      const auto run = cli::LoadRun::Open(plan, drives_);
      if (!run.ok()) return run.status();
      const cli::Tally tally =
          (*run)
              ->Run(RunClock::Monotonic_ns(), [](int64_t /*time_ns*/, uint64_t /*answers*/) {})
              .tally;
      const double rate_hz = static_cast<double>(tally.accepted) / plan.timing.steady_s;
      capacity_hz_ = std::max(capacity_hz_, rate_hz);
      Progress(absl::StrFormat("capacity with %d streams: %.0f scans/s", streams, rate_hz));
    }
    if (capacity_hz_ > 0.0) return absl::OkStatus();
    return absl::InternalError("no scan was accepted when the server was idle");
  }

  absl::Status Flood() {
    const double offered_hz = options_.factor * capacity_hz_;
    const auto plan = Plan(options_.streams, kSessionShare * offered_hz, options_.duration_s);
    const auto run = cli::LoadRun::Open(plan, drives_);
    if (!run.ok()) return run.status();
    Progress(absl::StrFormat("offering %.0f scans/s for %g s", offered_hz, options_.duration_s));
    ProcessWatch watch(server_->pid(), std::clamp(options_.duration_s / 100.0, 0.1, 1.0));
    const double own_before_s = ProcessorSeconds();
    const double server_before_s = SampleProcess(server_->pid()).processor_s;
    const double rest_hz = 0.5 * (1.0 - kSessionShare) * offered_hz;
    StreamFlood streams(server_->address(), drives_[0], kFloodStreams, rest_hz);
    UnaryFlood calls(server_->address(), drives_[0], rest_hz);
    const int64_t begin_ns = RunClock::Monotonic_ns();
    cli::LoadResult result;
    std::thread sessions([&] {
      result = (*run)->Run(begin_ns, [last = 0.0](int64_t time_ns, uint64_t answers) mutable {
        const double time_s = 1e-9 * static_cast<double>(time_ns);
        if (time_s < last + 10.0) return;
        last = time_s;
        Progress(absl::StrFormat("%.0f s of the flood, %d answers to sessions", time_s, answers));
      });
    });
    Sleep(options_.duration_s);
    streams.StopSending();
    calls.StopSending();
    end_ns_ = RunClock::Monotonic_ns();
    const double flood_s = 1e-9 * static_cast<double>(end_ns_ - begin_ns);
    own_processors_ = (ProcessorSeconds() - own_before_s) / flood_s;
    server_processors_ = (SampleProcess(server_->pid()).processor_s - server_before_s) / flood_s;
    samples_ = watch.samples();
    stream_counts_ = streams.Finish();
    call_counts_ = calls.Finish();
    sessions.join();
    session_tally_ = result.tally;
    generator_ = cli::JudgeGenerator(plan.timing, result.tally, UsableProcessors());
    flooded_ = TimesOf(probe_->Scans(begin_ns, end_ns_));
    throughput_hz_ = static_cast<double>(session_tally_.accepted + stream_counts_.aligned +
                                         call_counts_.aligned) /
                     flood_s;
    sent_hz_ = static_cast<double>(session_tally_.sent + stream_counts_.sent + call_counts_.sent) /
               flood_s;
    return absl::OkStatus();
  }

  // The time from the end of the flood to the first window with normal latencies.
  void FindRecovery() {
    for (const ProbedScan& scan : probe_->Scans(end_ns_, RunClock::Monotonic_ns())) {
      const auto window = probe_->Scans(scan.due_ns, scan.due_ns + Nanoseconds(kRecoveryWindow_s));
      if (TimesOf(window).p99 <= kRecoveredFactor * quiet_.p99 &&
          std::all_of(window.begin(), window.end(),
                      [](const ProbedScan& probed) { return probed.aligned; })) {
        recovery_s_ = 1e-9 * static_cast<double>(scan.due_ns - end_ns_);
        return;
      }
    }
  }

  [[nodiscard]] Report MakeReport() const {
    std::vector<TimedValue> resident;
    for (const ProcessSample& sample : samples_) {
      resident.push_back({sample.time_s, sample.resident_bytes});
    }
    const Growth growth =
        JudgeGrowth(resident, 0.2 * options_.duration_s, kAllowedGrowth, kAllowedGrowth_bytes);
    const auto processors = static_cast<double>(UsableProcessors());
    const double offered = sent_hz_ / (options_.factor * capacity_hz_);
    Report report;
    report.json = {{"scenario", "overload"},
                   {"gpu", options_.server.gpu},
                   {"points", options_.points},
                   {"capacity_hz", capacity_hz_},
                   {"offered_hz", options_.factor * capacity_hz_},
                   {"sent_hz", sent_hz_},
                   {"seconds", options_.duration_s},
                   {"throughput_hz", throughput_hz_},
                   {"throughput_of_capacity", throughput_hz_ / capacity_hz_},
                   {"generator_limited", generator_.limited || offered < kMinOfferedRatio},
                   {"late_percent", generator_.late_percent},
                   {"processors", processors},
                   {"server_has_processors", options_.server_processors},
                   {"generator_processors", own_processors_},
                   {"server_processors", server_processors_},
                   {"quiet_ms", Milliseconds(quiet_)},
                   {"flooded_ms", Milliseconds(flooded_)},
                   {"recovery_s", recovery_s_.has_value() ? Json(*recovery_s_) : Json()},
                   {"resident_bytes", growth.ToJson()},
                   {"sessions",
                    {{"sent", session_tally_.sent},
                     {"unsent", session_tally_.unsent},
                     {"answered", session_tally_.answered},
                     {"accepted", session_tally_.accepted},
                     {"superseded", session_tally_.superseded},
                     {"given_up", session_tally_.local_stale + session_tally_.local_superseded},
                     {"lost", session_tally_.lost},
                     {"duplicated", session_tally_.duplicated}}},
                   {"streams", stream_counts_.ToJson()},
                   {"calls", call_counts_.ToJson()}};
    Json series = Json::array();
    for (const ProcessSample& sample : samples_) {
      series.push_back({sample.time_s, sample.resident_bytes});
    }
    report.json["resident_series"] = series;
    report.violations = violations_;
    report.Require(session_tally_.lost == 0 && session_tally_.outcomes() == session_tally_.sent,
                   absl::StrCat(session_tally_.lost, " scans of sessions have no result"));
    report.Require(stream_counts_.answered() == stream_counts_.sent,
                   absl::StrCat("streams sent ", stream_counts_.sent, " scans and got ",
                                stream_counts_.answered(), " answers"));
    report.Require(
        call_counts_.answered() == call_counts_.sent,
        absl::StrCat(call_counts_.sent, " calls began and ", call_counts_.answered(), " ended"));
    report.Require(session_tally_.duplicated + stream_counts_.duplicated == 0,
                   "scans were answered more than once");
    report.Require(
        throughput_hz_ >= options_.min_throughput * capacity_hz_,
        absl::StrFormat("%.0f scans/s were aligned under overload, of %.0f scans/s without",
                        throughput_hz_, capacity_hz_));
    report.Require(!growth.grows || options_.duration_s < kMinMemoryCheck_s,
                   "the memory grows while the overload lasts");
    report.Require(recovery_s_.value_or(options_.max_recovery_s + 1.0) <= options_.max_recovery_s,
                   "the quiet latency was not back in time");
    return report;
  }

  const OverloadOptions& options_;
  const std::vector<cli::LoadDrive> drives_;
  const ScratchDir folder_;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<ProbeVehicle> probe_;
  double capacity_hz_ = 0.0;
  double throughput_hz_ = 0.0;
  double sent_hz_ = 0.0;
  double own_processors_ = 0.0;
  double server_processors_ = 0.0;
  int64_t end_ns_ = 0;
  Summary quiet_;
  Summary flooded_;
  std::optional<double> recovery_s_;
  cli::Tally session_tally_;
  cli::GeneratorLimit generator_;
  FloodCounts stream_counts_;
  FloodCounts call_counts_;
  std::vector<ProcessSample> samples_;
  std::vector<std::string> violations_;
};

}  // namespace

absl::StatusOr<Report> RunOverload(const OverloadOptions& options) {
  return Overload(options).Run();
}

}  // namespace voxloc::chaos
