// SPDX-License-Identifier: Apache-2.0
//
// When the scans and poses of one stream are due.
//
// Streams start one after another over the ramp. In open loop the phases of all streams are spread
// evenly over the period, so that S streams of R scans per second send a scan every 1 / (S R)
// seconds. Poses have the phase of their stream's scans, so that where their rate is a multiple of
// the scans' a pose is due with every scan, and comes before it. A session interpolates guesses
// between two poses: two are due before the first scan.

#ifndef VOXLOC_CLIENTS_CLI_LOAD_TEST_STREAM_SCHEDULE_H_
#define VOXLOC_CLIENTS_CLI_LOAD_TEST_STREAM_SCHEDULE_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "clients/cli/load_test/load_timing.h"

namespace voxloc::cli {

struct DueMessage {
  enum class Kind { kScan, kPose };
  Kind kind = Kind::kScan;
  int64_t due_ns = 0;
  // How many of the stream's scans are due before, with a fraction for poses between scans. Below 0
  // before the first scan.
  double position = 0.0;
};

class StreamSchedule {
 public:
  // `stream`, counted from 0, must be below `timing.streams`.
  StreamSchedule(const LoadTiming& timing, size_t stream);

  // When the stream begins; in closed loop, when its first scan leaves.
  [[nodiscard]] int64_t start_ns() const { return start_ns_; }

  // Open loop only: the next message in the order of time, until none is due before the end.
  [[nodiscard]] std::optional<DueMessage> Next();

 private:
  [[nodiscard]] int64_t ScanDue_ns(uint64_t index) const;
  [[nodiscard]] int64_t PoseDue_ns(uint64_t index) const;

  LoadTiming timing_;
  int64_t start_ns_ = 0;
  int64_t first_scan_ns_ = 0;
  uint64_t next_scan_ = 0;
  uint64_t next_pose_ = 0;
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_LOAD_TEST_STREAM_SCHEDULE_H_
