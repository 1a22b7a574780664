// SPDX-License-Identifier: Apache-2.0
//
// The time since the start of a run, which may lie in the future, and the wall clock's time to it.
// Thread-safe.

#ifndef VOXLOC_CLIENTS_CLI_LOAD_TEST_RUN_CLOCK_H_
#define VOXLOC_CLIENTS_CLI_LOAD_TEST_RUN_CLOCK_H_

#include <chrono>
#include <cstdint>

namespace voxloc::cli {

class RunClock {
 public:
  // `start_ns`: of CLOCK_MONOTONIC.
  explicit RunClock(int64_t start_ns)
      : start_ns_(start_ns),
        wall_minus_monotonic_ns_(Count(std::chrono::system_clock::now().time_since_epoch()) -
                                 Monotonic_ns()) {}
  virtual ~RunClock() = default;

  [[nodiscard]] static int64_t Monotonic_ns() {
    return Count(std::chrono::steady_clock::now().time_since_epoch());
  }

  // Virtual for tests that hold up the thread that asks.
  [[nodiscard]] virtual int64_t Now_ns() const { return Monotonic_ns() - start_ns_; }

  // For Condition variables and sleeps.
  [[nodiscard]] std::chrono::steady_clock::time_point TimePoint(int64_t time_ns) const {
    return std::chrono::steady_clock::time_point(
        std::chrono::duration_cast<std::chrono::steady_clock::duration>(
            std::chrono::nanoseconds(start_ns_ + time_ns)));
  }

  // Nanoseconds since the Unix epoch.
  [[nodiscard]] int64_t Wall_ns(int64_t time_ns) const {
    return start_ns_ + time_ns + wall_minus_monotonic_ns_;
  }

 private:
  template <typename Duration>
  static int64_t Count(Duration duration) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
  }

  int64_t start_ns_;
  int64_t wall_minus_monotonic_ns_;
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_LOAD_TEST_RUN_CLOCK_H_
