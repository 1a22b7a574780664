// SPDX-License-Identifier: Apache-2.0
//
// `voxloc_bench takeover`: a server whose GPU fails while a vehicle drives, and how long it takes
// until the vehicle is localized again. The whole server runs in this process, since what fails is
// the CUDA context of a process.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/cpp/channel.h"
#include "clients/cpp/map_client.h"
#include "clients/cpp/map_transaction.h"
#include "clients/cpp/session.h"
#include "server/server.h"
#include "tests/bench/bench_data.h"
#include "tests/bench/bench_options.h"
#include "tests/server/engines/failing_gpu.h"

namespace voxloc::bench {
namespace {

using Clock = std::chrono::steady_clock;

// A turn of the scanner that the scans come from.
constexpr double kPeriodS = 0.1;
constexpr char kMap[] = "bench";

struct TakeoverFlags {
  MapOptions map;
  ScanOptions scans;
  std::string data_dir;
  std::string engine = "cuda";
  std::vector<uint32_t> devices = {0};
  std::string moments_cache = "auto";
  size_t at = 20;
  double timeout_s = 120.0;
  std::string json;
};

class TakeoverRun {
 public:
  explicit TakeoverRun(const TakeoverFlags& flags)
      : flags_(flags),
        gpu_(flags.engine == "cpu" ? server::FailingGpu::Kind::kMadeUp
                                   : server::FailingGpu::Kind::kCuda) {}

  absl::Status Run() {
    auto scans = LoadScans(flags_.scans);
    if (!scans.ok()) return scans.status();
    scans_ = *std::move(scans);
    if (flags_.at + 1 >= scans_.size()) {
      return absl::InvalidArgumentError(absl::StrCat("--at must be below the number of scans, ",
                                                     scans_.size(), ", less one (got ", flags_.at,
                                                     ")"));
    }
    if (absl::Status status = Start(); !status.ok()) return status;
    if (absl::Status status = LoadMap(); !status.ok()) return status;
    if (absl::Status status = OpenSession(); !status.ok()) return status;
    if (absl::Status status = AwaitFullyResident().status(); !status.ok()) return status;
    for (size_t i = 0; i < flags_.at; ++i) {
      auto result = Align(i);
      if (!result.ok()) return result.status();
      engine_before_ = result->engine();
    }
    if (!FailEngine()) return absl::InternalError("the context of the GPU could not be ended");
    if (absl::Status status = AlignUntilRecovered(); !status.ok()) return status;
    const auto whole_s = AwaitFullyResident();
    if (!whole_s.ok()) return whole_s.status();
    return Report(SecondsSince(failed_));
  }

 private:
  absl::Status Start() {
    server::CommandLine command_line;
    server::Config& config = command_line.config;
    config.listen = "127.0.0.1:0";
    config.metrics_listen = "off";
    config.data_dir = flags_.data_dir;
    config.moments_cache = flags_.moments_cache;
    config.devices = flags_.devices;
    auto server = gpu_.StartServer(command_line);
    if (!server.ok()) return server.status();
    server_ = *std::move(server);
    client::ChannelOptions channel_options;
    channel_options.server = server_->address();
    auto channel = client::Channel::Create(channel_options);
    if (!channel.ok()) return channel.status();
    channel_ = *std::move(channel);
    return absl::OkStatus();
  }

  // Where the data directory does not have it.
  absl::Status LoadMap() {
    const client::MapClient maps(*channel_);
    const auto start = Clock::now();
    while (true) {
      const absl::Status there = maps.Get(kMap, flags_.timeout_s).status();
      if (absl::IsNotFound(there)) break;
      if (!absl::IsUnavailable(there) || SecondsSince(start) > flags_.timeout_s) return there;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    const auto clouds = LoadMapClouds(flags_.map);
    if (!clouds.ok()) return clouds.status();
    client::TransactionOptions options;
    options.begin.set_map(kMap);
    options.begin.set_create(true);
    auto transaction = client::MapTransaction::Begin(*channel_, options);
    if (!transaction.ok()) return transaction.status();
    for (size_t i = 0; i < clouds->size(); ++i) {
      absl::Status status = (*transaction)->AddTile(absl::StrCat(i), (*clouds)[i]);
      if (!status.ok()) return status;
    }
    return (*transaction)->Commit(v1::CommitUpdate()).status();
  }

  absl::Status OpenSession() {
    client::SessionOptions options;
    options.open.mutable_setup()->set_map(kMap);
    options.open.mutable_setup()->set_vehicle("bench");
    auto session = client::LocalizationSession::Open(*channel_, options);
    if (!session.ok()) return session.status();
    session_ = *std::move(session);
    return absl::OkStatus();
  }

  // Until all tiles are in memory; returns how long that took.
  absl::StatusOr<double> AwaitFullyResident() {
    const client::MapClient maps(*channel_);
    const auto start = Clock::now();
    while (true) {
      const auto map = maps.Get(kMap, flags_.timeout_s);
      if (map.ok() && map->resident_tiles() == map->tiles()) return SecondsSince(start);
      if (SecondsSince(start) > flags_.timeout_s) {
        return absl::DeadlineExceededError(
            absl::StrCat("the map is not in memory within ", flags_.timeout_s, " s"));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  absl::StatusOr<v1::AlignmentResult> Align(size_t i) {
    const BenchScan& scan = scans_[i];
    client::ScanInput input;
    input.stamp_ns = static_cast<int64_t>(static_cast<double>(i) * kPeriodS * 1e9);
    input.cloud = scan.cloud.get();
    input.guess_map_T_base = scan.map_T_base_guess;
    const auto sequence = session_->Send(input);
    if (!sequence.ok()) return sequence.status();
    return session_->ReceiveResultOf(*sequence, flags_.timeout_s);
  }

  bool FailEngine() {
    failed_ = Clock::now();
    return gpu_.Fail();
  }

  // Aligns the current scan of the drive again and again, until a result has all tiles around it.
  // After the last scan of the drive that one is repeated.
  absl::Status AlignUntilRecovered() {
    while (SecondsSince(failed_) < flags_.timeout_s) {
      const auto i = flags_.at + static_cast<size_t>(SecondsSince(failed_) / kPeriodS);
      auto result = Align(std::min(i, scans_.size() - 1));
      if (!result.ok()) return result.status();
      ++answered_;
      if (!result->accepted()) continue;
      engine_after_ = result->engine();
      if (!accepted_ms_.has_value()) accepted_ms_ = SecondsSince(failed_) * 1e3;
      if (result->tiles_missing() > 0) continue;
      all_tiles_ms_ = SecondsSince(failed_) * 1e3;
      return absl::OkStatus();
    }
    return absl::DeadlineExceededError("no scan had all tiles around it within the time of --most");
  }

  absl::Status Report(double whole_s) const {
    // Of a scanner at 10 Hz: those that end before a scan is accepted again.
    const auto scans_lost = static_cast<int>(std::ceil(*accepted_ms_ / (kPeriodS * 1e3)));
    std::printf("from %s to %s\n", engine_before_.c_str(), engine_after_.c_str());
    std::printf("accepted again    %8.1f ms after the failure, %d scans at 10 Hz\n", *accepted_ms_,
                scans_lost);
    std::printf("with all tiles    %8.1f ms\n", *all_tiles_ms_);
    std::printf("map in memory     %8.1f ms\n", whole_s * 1e3);
    std::printf("answered meanwhile %zu scans, every one\n", answered_);
    return WriteJson(flags_.json, {{"from", engine_before_},
                                   {"to", engine_after_},
                                   {"accepted_ms", *accepted_ms_},
                                   {"scans_lost", scans_lost},
                                   {"surrounded_ms", *all_tiles_ms_},
                                   {"whole_ms", whole_s * 1e3},
                                   {"answered", answered_}});
  }

  const TakeoverFlags& flags_;
  server::FailingGpu gpu_;
  std::vector<BenchScan> scans_;
  std::unique_ptr<server::Server> server_;
  std::optional<client::Channel> channel_;
  std::unique_ptr<client::LocalizationSession> session_;
  Clock::time_point failed_;
  std::string engine_before_;
  std::string engine_after_;
  size_t answered_ = 0;
  std::optional<double> accepted_ms_;
  std::optional<double> all_tiles_ms_;
};

}  // namespace

Command AddTakeoverCommand(CLI::App& program) {
  auto flags = std::make_shared<TakeoverFlags>();
  CLI::App* const app = program.add_subcommand(
      "takeover",
      "Ends the GPU's context while a vehicle drives, and measures until it is localized again");
  AddMapFlags(*app, flags->map);
  AddScanFlags(*app, flags->scans);
  RequireMapAndScans(*app);
  app->add_option(
      "--data-dir", flags->data_dir,
      "folder in which the server keeps the map, which is loaded where it is not there; "
      "default: in memory");
  app->add_option(
         "--engine", flags->engine,
         "cuda: a kernel that traps ends the context of device 0; cpu: a made-up GPU fails")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  app->add_option("--devices", flags->devices, "GPUs that serve")
      ->delimiter(',')
      ->capture_default_str();
  app->add_option("--moments-cache", flags->moments_cache, "as voxlocd's flag")
      ->check(CLI::IsMember({"auto", "on", "off"}))
      ->capture_default_str();
  app->add_option("--at", flags->at, "number of scans before the failure, 1 or more")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app->add_option("--most-s", flags->timeout_s, "give up after so many seconds")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  AddJsonFlag(*app, flags->json);
  return {app, [flags] { return TakeoverRun(*flags).Run(); }};
}

}  // namespace voxloc::bench
