// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/load_test/load_schedule.h"

#include <algorithm>

namespace voxloc::cli {
namespace {

// What a session needs to interpolate between.
constexpr int64_t kPosesAhead = 2;

// A pose that rounding puts so little after its scan is still due with it.
constexpr int64_t kSameTime_ns = 1000;

int64_t Nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

}  // namespace

StreamAssignment AssignStream(size_t stream, size_t streams, const std::vector<size_t>& drive_scans,
                              size_t maps) {
  const size_t drives = drive_scans.size();
  StreamAssignment assignment;
  assignment.drive = stream % drives;
  assignment.map = stream % maps;
  const size_t rank = stream / drives;
  const size_t sharing = (streams - assignment.drive + drives - 1) / drives;
  assignment.first_scan = rank * drive_scans[assignment.drive] / sharing;
  return assignment;
}

StreamSchedule::StreamSchedule(const LoadTiming& timing, size_t stream) : timing_(timing) {
  const double share = static_cast<double>(stream) / static_cast<double>(timing.streams);
  start_ns_ = Nanoseconds(share * timing.ramp_s);
  if (!timing.open_loop()) return;
  // The first time of this phase in the stream's part of the ramp.
  const double phase_s = share / timing.rate_hz;
  const double periods = std::ceil((share * timing.ramp_s - phase_s) * timing.rate_hz - 1e-9);
  first_scan_ns_ = Nanoseconds(phase_s + std::max(periods, 0.0) / timing.rate_hz);
}

int64_t StreamSchedule::ScanDue_ns(uint64_t index) const {
  return first_scan_ns_ + Nanoseconds(static_cast<double>(index) / timing_.rate_hz);
}

int64_t StreamSchedule::PoseDue_ns(uint64_t index) const {
  const auto after = static_cast<double>(static_cast<int64_t>(index) - kPosesAhead);
  return first_scan_ns_ + Nanoseconds(after / timing_.pose_rate_hz);
}

std::optional<DueMessage> StreamSchedule::Next() {
  DueMessage next;
  next.due_ns = ScanDue_ns(next_scan_);
  next.position = static_cast<double>(next_scan_);
  if (timing_.pose_rate_hz > 0.0 && PoseDue_ns(next_pose_) <= next.due_ns + kSameTime_ns) {
    next.kind = DueMessage::Kind::kPose;
    next.due_ns = PoseDue_ns(next_pose_);
    next.position = 1e-9 * static_cast<double>(next.due_ns - first_scan_ns_) * timing_.rate_hz;
  }
  if (next.due_ns >= timing_.end_ns()) return std::nullopt;
  ++(next.kind == DueMessage::Kind::kPose ? next_pose_ : next_scan_);
  return next;
}

Pose LoadDrive::GuessAt(double position) const {
  const auto count = static_cast<double>(guesses_map_T_base.size());
  const double cyclic = position - count * std::floor(position / count);
  const size_t before = IndexAt(static_cast<uint64_t>(cyclic));
  const size_t after = IndexAt(before + 1);
  const double share = cyclic - std::floor(cyclic);
  const Pose& from = guesses_map_T_base[before];
  const Pose& to = guesses_map_T_base[after];
  if (after <= before) return share < 0.5 ? from : to;
  return {(1.0 - share) * from.translation + share * to.translation,
          from.rotation.slerp(share, to.rotation)};
}

}  // namespace voxloc::cli
