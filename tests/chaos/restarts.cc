// SPDX-License-Identifier: Apache-2.0

#include "tests/chaos/restarts.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/load_test/load_run.h"
#include "clients/cli/load_test/load_schedule.h"
#include "clients/cpp/messages.h"
#include "tests/chaos/progress.h"
#include "tests/chaos/town_load.h"
#include "tests/support/eventually.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::chaos {
namespace {

using cli::Json;
using cli::RunClock;
using cli::Tally;

// A drain and a start take about 0.5 s, and the other server must be ready before the next drain.
constexpr double kMinRestartInterval_s = 1.0;
// Runs are repeated until enough scans are sent; more than this many is an error.
constexpr int kMaxRuns = 20;

constexpr char kTakeovers[] = "voxloc_engine_takeovers_total";

class Restarts {
 public:
  explicit Restarts(const RestartsOptions& options)
      : options_(options), drives_({TownDrive(options.points)}) {}

  absl::StatusOr<Report> Run() {
    for (size_t i = 0; i < servers_.size(); ++i) {
      auto server = ServerProcess::Start(options_.server, folders_[i].Path(""));
      if (!server.ok()) return server.status();
      servers_[i] = *std::move(server);
      if (absl::Status status = LoadTown(servers_[i]->address()); !status.ok()) return status;
    }
    const auto begin = std::chrono::steady_clock::now();
    if (absl::Status status = Drive(options_.first_run_s, 0); !status.ok()) return status;
    const double rate_hz = std::max(1.0, static_cast<double>(tally_.sent) / options_.first_run_s);
    const double planned_s =
        std::max((static_cast<double>(options_.scans) - static_cast<double>(tally_.sent)) / rate_hz,
                 kMinRestartInterval_s * (options_.restarts + 1));
    Progress(absl::StrFormat("%.0f scans/s; the run takes about %.0f s", rate_hz, planned_s));
    if (absl::Status status = Drive(planned_s, options_.restarts); !status.ok()) return status;
    for (int run = 2; tally_.sent < options_.scans; ++run) {
      if (run == kMaxRuns) return absl::DeadlineExceededError("too few scans are answered");
      const double left = static_cast<double>(options_.scans - tally_.sent);
      const double now_hz = std::max(1.0, static_cast<double>(tally_.sent) / seconds_);
      if (absl::Status status = Drive(std::max(0.5, 1.05 * left / now_hz), 0); !status.ok()) {
        return status;
      }
    }
    wall_s_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    for (const auto& server : servers_) {
      takeovers_ += server->Metrics()[kTakeovers];
      if (server->End(SIGTERM) != 0) ++bad_ends_;
    }
    return MakeReport();
  }

 private:
  // A run of the vehicles, in which servers are restarted at even intervals.
  absl::Status Drive(double drive_s, int restarts) {
    cli::LoadPlan plan;
    plan.channel.server = absl::StrCat(servers_[0]->address(), ",", servers_[1]->address());
    plan.timeout_s = options_.timeout_s;
    plan.timing.streams = options_.streams;
    plan.timing.steady_s = drive_s;
    plan.faults.cancel_percent = 100.0 * options_.cancelled;
    plan.faults.seed = options_.seed + static_cast<uint64_t>(runs_);
    plan.maps = {kTown};
    const auto run = cli::LoadRun::Open(plan, drives_);
    if (!run.ok()) return run.status();
    ++runs_;
    const int64_t start_ns = RunClock::Monotonic_ns();
    std::atomic<uint64_t> answers{0};
    std::thread driving([&] {
      tally_.Merge((*run)
                       ->Run(start_ns,
                             [&answers](int64_t /*time_ns*/, uint64_t so_far) { answers = so_far; })
                       .tally);
    });
    const RunClock clock(start_ns);
    absl::Status status;
    for (int i = 0; i < restarts && status.ok(); ++i) {
      const auto due = [&](double turn) {
        const auto due_ns = static_cast<int64_t>(turn * drive_s / (restarts + 1) * 1e9);
        std::this_thread::sleep_until(clock.TimePoint(due_ns));
      };
      if (options_.engine_fault && i == restarts / 2) {
        due(i + 0.5);
        // The one that serves, until it is restarted in its turn.
        ServerProcess& server = *servers_[NextServer()];
        const double before = server.Metrics()[kTakeovers];
        server.Signal(SIGUSR1);
        Progress(absl::StrFormat("%d answers; the GPU of server %d fails", answers.load(),
                                 NextServer()));
        // A server that is restarted before that has no fault; MakeReport() reports if there was
        // none.
        static_cast<void>(Eventually([&] { return server.Metrics()[kTakeovers] > before; }));
      }
      due(i + 1);
      status = Restart(answers);
    }
    driving.join();
    seconds_ += drive_s;
    return status;
  }

  [[nodiscard]] size_t NextServer() const {
    return static_cast<size_t>(restarted_) % servers_.size();
  }

  absl::Status Restart(uint64_t answers) {
    ServerProcess& server = *servers_[NextServer()];
    // Spread over the restarts.
    const bool kill = (restarted_ + 1) * options_.kills / options_.restarts >
                      restarted_ * options_.kills / options_.restarts;
    takeovers_ += server.Metrics()[kTakeovers];
    const auto begin = std::chrono::steady_clock::now();
    const int exit_code = server.End(kill ? SIGKILL : SIGTERM);
    if (!kill && exit_code != 0) ++bad_ends_;
    if (kill) ++killed_;
    if (absl::Status status = server.Relaunch(); !status.ok()) return status;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    Progress(
        absl::StrFormat("%d answers; restart %d of %d: server %d was %s and is back after %.1f s",
                        answers, restarted_ + 1, options_.restarts, NextServer(),
                        kill ? "killed" : "drained", took.count()));
    ++restarted_;
    return absl::OkStatus();
  }

  [[nodiscard]] Report MakeReport() const {
    const uint64_t given_up = tally_.local_stale + tally_.local_superseded;
    Report report;
    report.json = {{"scenario", "restarts"},
                   {"gpu", options_.server.gpu},
                   {"points", options_.points},
                   {"streams", options_.streams},
                   {"seconds", wall_s_},
                   {"sent", tally_.sent},
                   {"answered", tally_.answered},
                   {"accepted", tally_.accepted},
                   {"superseded", tally_.superseded},
                   {"given_up", given_up},
                   {"cancelled", tally_.cancelled},
                   {"lost", tally_.lost},
                   {"duplicated", tally_.duplicated},
                   {"sessions_cancelled", tally_.sessions_cancelled},
                   {"streams_ended", tally_.streams_ended},
                   {"unsent", tally_.unsent},
                   {"reconnects", tally_.reconnects},
                   {"restarts", restarted_},
                   {"killed", killed_},
                   {"bad_ends", bad_ends_},
                   {"engine_takeovers", takeovers_},
                   {"latency_p50_ms", tally_.latency.Percentile(50) * 1e-6},
                   {"latency_p99_ms", tally_.latency.Percentile(99) * 1e-6}};
    Json statuses = Json::object();
    for (const auto& [status, count] : tally_.statuses) {
      statuses[client::StatusName(static_cast<v1::AlignmentStatus>(status))] = count;
    }
    report.json["statuses"] = statuses;
    report.json["problems"] = tally_.problems;
    report.Require(tally_.lost == 0, absl::StrCat(tally_.lost, " scans have no result"));
    report.Require(tally_.duplicated == 0,
                   absl::StrCat(tally_.duplicated, " results are a scan's second one"));
    report.Require(
        tally_.outcomes() == tally_.sent,
        absl::StrCat(tally_.sent, " scans were sent, and ", tally_.outcomes(), " have a result"));
    report.Require(tally_.streams_ended == 0,
                   absl::StrCat(tally_.streams_ended, " streams ended early"));
    report.Require(restarted_ == options_.restarts, absl::StrCat("only ", restarted_, " restarts"));
    report.Require(bad_ends_ == 0,
                   absl::StrCat(bad_ends_, " servers did not end with exit code 0"));
    report.Require(options_.kills > 0 || given_up == 0,
                   absl::StrCat(given_up, " scans were given up though every server drained"));
    report.Require(
        !options_.engine_fault || takeovers_ == 1.0,
        absl::StrCat("the CPU engine took over ", takeovers_, " times, in place of once"));
    report.Require(
        options_.engine_fault || tally_.statuses.count(v1::ALIGNMENT_STATUS_ENGINE_FAULT) == 0,
        "an engine failed without being told to");
    report.Require(static_cast<double>(tally_.cancelled) + 1.0 >=
                       0.9 * options_.cancelled * static_cast<double>(tally_.sent),
                   absl::StrCat("only ", tally_.cancelled, " scans were cancelled"));
    return report;
  }

  const RestartsOptions& options_;
  const std::vector<cli::LoadDrive> drives_;
  const std::array<ScratchDir, 2> folders_;
  std::array<std::unique_ptr<ServerProcess>, 2> servers_;
  Tally tally_;
  double seconds_ = 0.0;  // of all runs
  double wall_s_ = 0.0;
  int runs_ = 0;
  int restarted_ = 0;
  int killed_ = 0;
  int bad_ends_ = 0;
  double takeovers_ = 0.0;
};

}  // namespace

absl::StatusOr<Report> RunRestarts(const RestartsOptions& options) {
  if (options.engine_fault && options.server.gpu == "none") {
    return absl::InvalidArgumentError("--engine-fault must come with --gpu made-up or cuda");
  }
  if (options.kills > options.restarts) {
    return absl::InvalidArgumentError(absl::StrCat("--kills must be at most --restarts, ",
                                                   options.restarts, " (got ", options.kills, ")"));
  }
  return Restarts(options).Run();
}

}  // namespace voxloc::chaos
