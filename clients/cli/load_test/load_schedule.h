// SPDX-License-Identifier: Apache-2.0
//
// What the streams of a load test send, and when. All times are nanoseconds after the start of the
// run, which all streams share.

#ifndef VOXLOC_CLIENTS_CLI_LOAD_TEST_LOAD_SCHEDULE_H_
#define VOXLOC_CLIENTS_CLI_LOAD_TEST_LOAD_SCHEDULE_H_

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "clients/cpp/channel.h"
#include "core/geometry/pose.h"
#include "voxloc/v1/cloud.pb.h"
#include "voxloc/v1/localization_service.pb.h"

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

// Misbehaviour of clients: cancelled sessions with scans in flight, and slow readers.
struct ClientFaults {
  // Percentage of the scans of each stream, 0 to 50, that are cancelled: the stream cancels its
  // session with all scans in flight at a random time between sending a scan and its reply, and
  // opens a new session.
  double cancel_percent = 0.0;

  // Number of streams, the first ones, that take `read_delay_s` to read each reply. Their times are
  // not counted.
  size_t slow_readers = 0;
  double read_delay_s = 0.1;

  uint64_t seed = 0;
};

struct LoadPlan {
  client::ChannelOptions channel;
  double timeout_s = 10.0;  // for `open` and for each answer; 0: no limit
  LoadTiming timing;
  ClientFaults faults;
  std::vector<std::string> maps;
  v1::OpenSession open;  // but for the map, and the vehicle where that is empty: then one a stream
};

// The time since the start of a run, which may lie in the future, and the wall clock's time to it.
// Thread-safe.
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

  // For condition variables and sleeps.
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

// Which drive, which map and which place of the drive a stream begins with.
struct StreamAssignment {
  size_t drive = 0;
  size_t map = 0;
  size_t first_scan = 0;  // of the drive
};

// Stream s has drive s modulo their number and map s modulo their number. The streams of one drive
// are spread evenly over its scans. `drive_scans`: how many scans each drive has, at least 1;
// `maps`: at least 1.
[[nodiscard]] StreamAssignment AssignStream(size_t stream, size_t streams,
                                            const std::vector<size_t>& drive_scans, size_t maps);

struct DueMessage {
  enum class Kind { kScan, kPose };
  Kind kind = Kind::kScan;
  int64_t due_ns = 0;
  // How many of the stream's scans are due before, with a fraction for poses between scans. Below 0
  // before the first scan.
  double position = 0.0;
};

// When the scans and poses of one stream are due.
//
// Streams start one after another over the ramp. In open loop the phases of all streams are spread
// evenly over the period, so that S streams of R scans per second send a scan every 1 / (S R)
// seconds. Poses have the phase of their stream's scans, so that where their rate is a multiple of
// the scans' a pose is due with every scan, and comes before it. A session interpolates guesses
// between two poses: two are due before the first scan.
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

// Most bytes that the encoded points of all drives may take.
constexpr uint64_t kMaxDriveBytes = uint64_t{4} << 30;

// A drive as load tests send it: its scans read, thinned and encoded before the run, and the guess
// of each. The streams of a load test share it and each repeats it.
struct LoadDrive {
  std::vector<v1::Cloud> scans;
  std::vector<Pose> guesses_map_T_base;  // one for each scan
  uint64_t points = 0;                   // of all scans together

  [[nodiscard]] size_t IndexAt(uint64_t position) const { return position % scans.size(); }

  // Interpolates between the guesses of the two scans around the position, counted in scans; the
  // scans repeat. Between the last and the first scan: the guess of the nearer one.
  [[nodiscard]] Pose GuessAt(double position) const;
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_LOAD_TEST_LOAD_SCHEDULE_H_
