// SPDX-License-Identifier: Apache-2.0

#include "tests/chaos/probe_vehicle.h"

#include <chrono>
#include <utility>

#include "absl/memory/memory.h"
#include "clients/cli/load_test/load_schedule.h"
#include "tests/chaos/town_load.h"

namespace voxloc::chaos {
namespace {

using cli::RunClock;

// Its connection may have to wait for thousands of others.
constexpr double kProbeOpenTimeout_s = 60.0;

}  // namespace

absl::StatusOr<std::unique_ptr<ProbeVehicle>> ProbeVehicle::Start(const std::string& address,
                                                                  const cli::LoadDrive& drive,
                                                                  double rate_hz) {
  client::ChannelOptions channel_options;
  channel_options.server = address;
  const auto channel = client::Channel::Create(channel_options);
  if (!channel.ok()) return channel.status();
  auto vehicle = absl::WrapUnique(new ProbeVehicle(drive, rate_hz));
  client::SessionOptions options;
  options.open.mutable_setup()->set_map(kTown);
  options.open.mutable_setup()->set_vehicle("probe");
  options.open_timeout_s = kProbeOpenTimeout_s;
  options.on_result = [probe = vehicle.get()](const v1::AlignmentResult& result) {
    probe->OnResult(result);
  };
  auto session = client::LocalizationSession::Open(*channel, options);
  if (!session.ok()) return session.status();
  vehicle->session_ = *std::move(session);
  vehicle->thread_ = std::thread([probe = vehicle.get()] { probe->Drive(); });
  return vehicle;
}

ProbeVehicle::~ProbeVehicle() {
  driving_ = false;
  if (thread_.joinable()) thread_.join();
  session_.reset();  // before what its results go to
}

void ProbeVehicle::Drive() {
  const auto period_ns = static_cast<int64_t>(1e9 / rate_hz_);
  const RunClock clock(0);
  int64_t due_ns = RunClock::Monotonic_ns();
  for (uint64_t i = 0; driving_; ++i, due_ns += period_ns) {
    std::this_thread::sleep_until(clock.TimePoint(due_ns));
    client::ScanInput scan;
    const size_t index = drive_.IndexAt(i);
    scan.stamp_ns = clock.Wall_ns(due_ns);
    scan.encoded_cloud = &drive_.scans[index];
    scan.guess_map_T_base = drive_.guesses_map_T_base[index];
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      scans_.push_back({due_ns, -1.0, false});
    }
    if (!session_->Send(scan).ok()) {
      // Sequences count what the session takes.
      const std::lock_guard<std::mutex> lock(mutex_);
      scans_.pop_back();
    }
  }
}

void ProbeVehicle::OnResult(const v1::AlignmentResult& result) {
  const int64_t now_ns = RunClock::Monotonic_ns();
  const std::lock_guard<std::mutex> lock(mutex_);
  ProbedScan& scan = scans_.at(result.sequence() - 1);
  scan.latency_s = 1e-9 * static_cast<double>(now_ns - scan.due_ns);
  scan.aligned = result.accepted();
}

std::vector<ProbedScan> ProbeVehicle::Scans(int64_t begin_ns, int64_t end_ns) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<ProbedScan> scans;
  for (const ProbedScan& scan : scans_) {
    if (scan.due_ns >= begin_ns && scan.due_ns < end_ns) scans.push_back(scan);
  }
  return scans;
}

Summary TimesOf(const std::vector<ProbedScan>& scans) {
  std::vector<double> times_ms;
  for (const ProbedScan& scan : scans) {
    if (scan.aligned) times_ms.push_back(1e3 * scan.latency_s);
  }
  return Summarize(std::move(times_ms));
}

}  // namespace voxloc::chaos
