// SPDX-License-Identifier: Apache-2.0
//
// The times of a load test. All are nanoseconds after the start of the run, which all streams
// share.

#ifndef VOXLOC_CLIENTS_CLI_LOAD_TEST_LOAD_TIMING_H_
#define VOXLOC_CLIENTS_CLI_LOAD_TEST_LOAD_TIMING_H_

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace voxloc::cli {

struct LoadTiming {
  size_t streams = 1;
  double rate_hz = 0.0;       // scans per second and stream; 0: closed loop
  double pose_rate_hz = 0.0;  // poses per second and stream; 0: none
  double ramp_s = 0.0;
  double steady_s = 0.0;
  double tile_updates_hz = 0.0;  // in the second half of the steady part; 0: none

  [[nodiscard]] bool open_loop() const { return rate_hz > 0.0; }
  [[nodiscard]] int64_t steady_begin_ns() const { return std::llround(ramp_s * 1e9); }
  [[nodiscard]] int64_t end_ns() const { return std::llround((ramp_s + steady_s) * 1e9); }
  // Whether what is due, or arrives, at this time is counted.
  [[nodiscard]] bool IsSteady(int64_t time_ns) const {
    return time_ns >= steady_begin_ns() && time_ns < end_ns();
  }

  // The first update of a tile is due here, and the steady part before it has none.
  [[nodiscard]] int64_t updates_begin_ns() const {
    return std::llround((ramp_s + 0.5 * steady_s) * 1e9);
  }
  [[nodiscard]] uint64_t updates_due() const {
    return static_cast<uint64_t>(std::ceil(0.5 * steady_s * tile_updates_hz));
  }
  [[nodiscard]] int64_t UpdateDue_ns(uint64_t index) const {
    return updates_begin_ns() + std::llround(static_cast<double>(index) / tile_updates_hz * 1e9);
  }
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_LOAD_TEST_LOAD_TIMING_H_
