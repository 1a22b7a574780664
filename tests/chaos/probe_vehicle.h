// SPDX-License-Identifier: Apache-2.0
//
// ProbeVehicle: a vehicle that sends scans on schedule during a fault or flood, and records the
// latency of each answer from the time when its scan was due.

#ifndef VOXLOC_TESTS_CHAOS_PROBE_VEHICLE_H_
#define VOXLOC_TESTS_CHAOS_PROBE_VEHICLE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/cli/load_test/load_schedule.h"
#include "clients/cpp/session.h"
#include "clients/dataset/summary.h"

namespace voxloc::chaos {

struct ProbedScan {
  int64_t due_ns = 0;     // of RunClock::Monotonic_ns
  double latency_s = -1;  // below 0: not answered
  bool aligned = false;   // else superseded, rejected, abandoned or not answered
};

class ProbeVehicle {
 public:
  // The drive must outlive the vehicle.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<ProbeVehicle>> Start(
      const std::string& address, const cli::LoadDrive& drive, double rate_hz);
  ~ProbeVehicle();
  ProbeVehicle(const ProbeVehicle&) = delete;
  ProbeVehicle& operator=(const ProbeVehicle&) = delete;

  // Those that were due in [begin_ns, end_ns).
  [[nodiscard]] std::vector<ProbedScan> Scans(int64_t begin_ns, int64_t end_ns) const;

 private:
  ProbeVehicle(const cli::LoadDrive& drive, double rate_hz) : drive_(drive), rate_hz_(rate_hz) {}
  void Drive();
  void OnResult(const v1::AlignmentResult& result);

  const cli::LoadDrive& drive_;
  const double rate_hz_;
  std::atomic<bool> driving_{true};
  mutable std::mutex mutex_;
  std::vector<ProbedScan> scans_;  // by sequence, from 1
  std::unique_ptr<client::LocalizationSession> session_;
  std::thread thread_;
};

// Milliseconds, of those that were aligned.
[[nodiscard]] Summary TimesOf(const std::vector<ProbedScan>& scans);

}  // namespace voxloc::chaos

#endif  // VOXLOC_TESTS_CHAOS_PROBE_VEHICLE_H_
