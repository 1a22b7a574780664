// SPDX-License-Identifier: Apache-2.0

#include "tests/chaos/idle_connections.h"

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
#include "clients/cli/load_test/load_schedule.h"
#include "core/host/process_limits.h"
#include "tests/chaos/not_reading_streams.h"
#include "tests/chaos/probe_vehicle.h"
#include "tests/chaos/process_sample.h"
#include "tests/chaos/progress.h"
#include "tests/chaos/raw_http2.h"
#include "tests/chaos/town_load.h"
#include "tests/support/eventually.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::chaos {
namespace {

using cli::Json;
using cli::RunClock;

constexpr char kAlignScans[] = "/voxloc.v1.LocalizationService/AlignScans";
// For all streams that do not read to be open.
constexpr double kOpenTimeout_s = 20.0;
// For what the program itself has open.
constexpr size_t kOtherDescriptors = 200;

// As many as this process and the servers that it starts may have.
absl::Status RaiseDescriptorLimit(size_t needed) {
  const uint64_t limit = RaiseOpenFilesLimit();
  if (limit >= needed) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("the limit of open files must be at least ",
                                                    needed, " (got ", limit, "; ulimit -Hn)"));
}

class IdleConnections {
 public:
  explicit IdleConnections(const IdleConnectionsOptions& options)
      : options_(options), drive_(TownDrive(options.points)) {}

  absl::StatusOr<Report> Run() {
    const size_t descriptors = options_.silent + options_.not_reading + kOtherDescriptors;
    if (absl::Status status = RaiseDescriptorLimit(descriptors); !status.ok()) return status;
    auto server = ServerProcess::Start(options_.server, folder_.Path(""));
    if (!server.ok()) return server.status();
    server_ = *std::move(server);
    if (absl::Status status = LoadTown(server_->address()); !status.ok()) return status;
    auto probe = ProbeVehicle::Start(server_->address(), drive_, options_.rate_hz);
    if (!probe.ok()) return probe.status();
    probe_ = *std::move(probe);
    Sleep(1.0);  // its first scans find caches cold
    MeasurePart("before");
    std::optional<NotReadingStreams> not_reading;
    not_reading.emplace(server_->address(), drive_, options_.not_reading, options_.not_reading_hz);
    AwaitSessions();
    Connect();
    MeasurePart("during");
    not_reading_sent_ = not_reading->sent();
    not_reading_ended_ = not_reading->ended();
    not_reading.reset();
    ended_by_server_ = static_cast<size_t>(std::count_if(
        silent_.begin(), silent_.end(),
        [](const RawConnection& connection) { return connection.ClosedWithin(0.0); }));
    silent_.clear();
    MeasurePart("after");
    probe_.reset();
    const bool ended_well = server_->End(SIGTERM) == 0;
    Report report = MakeReport();
    if (!ended_well) report.violations.push_back("the server did not end with exit code 0");
    return report;
  }

 private:
  static void Sleep(double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }

  // Until the streams that do not read are open: those that say nothing take the places of streams
  // that are not.
  void AwaitSessions() {
    const auto all_are_open = [this] {
      return server_->Metrics()["voxloc_sessions_active"] >
             static_cast<double>(options_.not_reading);
    };
    if (!Eventually(all_are_open, absl::Seconds(kOpenTimeout_s))) {
      Progress("not every stream that does not read could be opened");
    }
  }

  // A third says nothing at all, a third only that it speaks HTTP/2, and a third opens a stream.
  void Connect() {
    const auto begin = std::chrono::steady_clock::now();
    silent_.reserve(options_.silent);
    for (size_t i = 0; i < options_.silent; ++i) {
      RawConnection connection(server_->address());
      bool taken = connection.connected();
      if (taken && i % 3 >= 1) taken = connection.Send(ClientPreface());
      if (taken && i % 3 == 2) {
        taken =
            connection.Send(Frame(FrameType::kHeaders, kEndHeaders, 1, CallHeaders(kAlignScans)));
      }
      if (taken) {
        silent_.push_back(std::move(connection));
      } else {
        ++not_connected_;
      }
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    Progress(absl::StrFormat("%d connections after %.1f s, %d more could not be made",
                             silent_.size(), took.count(), not_connected_));
  }

  void MeasurePart(const std::string& name) {
    const int64_t begin_ns = RunClock::Monotonic_ns();
    Sleep(options_.seconds);
    const int64_t end_ns = RunClock::Monotonic_ns();
    Sleep(std::min(1.0, options_.seconds));  // for the last answers
    const std::vector<ProbedScan> scans = probe_->Scans(begin_ns, end_ns);
    const Summary times = TimesOf(scans);
    const auto unanswered = std::count_if(
        scans.begin(), scans.end(), [](const ProbedScan& scan) { return scan.latency_s < 0.0; });
    unanswered_ += static_cast<size_t>(unanswered);
    (name == "before" ? quiet_ : name == "during" ? busy_ : after_) = times;
    const ProcessSample sample = SampleProcess(server_->pid());
    auto metrics = server_->Metrics();
    Json part = {{"scans", scans.size()},
                 {"aligned", times.count},
                 {"unanswered", unanswered},
                 {"p50_ms", times.p50},
                 {"p99_ms", times.p99},
                 {"max_ms", times.max},
                 {"resident_bytes", sample.resident_bytes},
                 {"descriptors", sample.descriptors},
                 {"threads", sample.threads},
                 {"reply_bytes", metrics["voxloc_reply_bytes"]},
                 {"sessions", metrics["voxloc_sessions_active"]}};
    for (const auto& [metric, value] : metrics) {
      for (const char* const counter : {"voxloc_streams_timed_out_total", "voxloc_rejected_total",
                                        "voxloc_reads_paused_total", "voxloc_connections"}) {
        if (metric.rfind(counter, 0) == 0 && value > 0.0) part[metric] = value;
      }
    }
    json_[name] = part;
    Progress(absl::StrFormat("%s: p50 %.2f ms, p99 %.2f ms, %.0f descriptors, %.0f MB", name,
                             times.p50, times.p99, sample.descriptors,
                             1e-6 * sample.resident_bytes));
  }

  [[nodiscard]] Report MakeReport() const {
    Report report;
    report.json = {{"scenario", "idle-connections"},
                   {"gpu", options_.server.gpu},
                   {"points", options_.points},
                   {"rate_hz", options_.rate_hz},
                   {"silent", options_.silent},
                   {"not_connected", not_connected_},
                   {"ended_by_server", ended_by_server_},
                   {"not_reading", options_.not_reading},
                   {"not_reading_sent", not_reading_sent_},
                   {"not_reading_ended_by_server", not_reading_ended_},
                   {"p99_of_quiet", busy_.p99 / quiet_.p99}};
    report.json.update(json_);
    if (unanswered_ > 0) {
      report.violations.push_back(
          absl::StrCat(unanswered_, " scans of the vehicle were not answered"));
    }
    if (options_.max_p99_factor > 0.0 && !(busy_.p99 <= options_.max_p99_factor * quiet_.p99)) {
      report.violations.push_back(
          absl::StrFormat("the vehicle's p99 was %.2f ms, %.2f ms before", busy_.p99, quiet_.p99));
    }
    return report;
  }

  const IdleConnectionsOptions& options_;
  const cli::LoadDrive drive_;
  const ScratchDir folder_;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<ProbeVehicle> probe_;
  std::vector<RawConnection> silent_;
  size_t not_connected_ = 0;
  size_t ended_by_server_ = 0;
  size_t unanswered_ = 0;
  uint64_t not_reading_sent_ = 0;
  uint64_t not_reading_ended_ = 0;
  Summary quiet_;
  Summary busy_;
  Summary after_;
  Json json_;
};

}  // namespace

absl::StatusOr<Report> RunIdleConnections(const IdleConnectionsOptions& options) {
  return IdleConnections(options).Run();
}

}  // namespace voxloc::chaos
