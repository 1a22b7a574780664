// SPDX-License-Identifier: Apache-2.0
//
// All kinds of client calls, repeated, each kind in its own thread: sessions that are opened,
// closed and cancelled, unary scans, map commits, rollbacks and deletions, searches, scoring, bad
// input, scrapes.

#ifndef VOXLOC_TESTS_CHAOS_MIXED_LOAD_H_
#define VOXLOC_TESTS_CHAOS_MIXED_LOAD_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "clients/cli/load_test/load_schedule.h"

namespace voxloc::chaos {

struct MixedCounts {
  uint64_t done = 0;
  uint64_t failed = 0;  // with an unexpected answer
  std::string first_failure;
};

class MixedLoad {
 public:
  // Starts the load. The drive must outlive it.
  MixedLoad(const std::string& address, const std::string& metrics_address,
            const cli::LoadDrive& drive);
  ~MixedLoad();
  MixedLoad(const MixedLoad&) = delete;
  MixedLoad& operator=(const MixedLoad&) = delete;

  // Waits for the calls that have begun; the counts by kind.
  [[nodiscard]] std::map<std::string, MixedCounts> Finish();

 private:
  // Calls act(round) with round = 0, 1, ...
  void Repeat(const std::string& kind, double period_s, std::function<absl::Status(uint64_t)> act);

  std::mutex mutex_;
  std::map<std::string, MixedCounts> counts_;
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> threads_;
};

}  // namespace voxloc::chaos

#endif  // VOXLOC_TESTS_CHAOS_MIXED_LOAD_H_
