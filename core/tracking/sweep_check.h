// SPDX-License-Identifier: Apache-2.0
//
// SweepCheck: whether the motion that the recent scans of a session were deskewed by is right. The
// sums over many scans estimate the unexplained motion, and the differences between the scans its
// standard deviation. Not thread-safe: its session locks.

#ifndef VOXLOC_CORE_TRACKING_SWEEP_CHECK_H_
#define VOXLOC_CORE_TRACKING_SWEEP_CHECK_H_

#include <cstddef>
#include <deque>

#include "core/estimate/quality/sweep_slices.h"

namespace voxloc {

struct SweepReport {
  // Motion beyond that of the deskewing, as a share of it.
  double unexplained_motion = 0.0;
  double sigma = 0.0;  // of it; 0 with less than 2 scans
  size_t scans = 0;
  bool suspect = false;
  bool newly_suspect = false;  // suspect, and was not suspect at the previous scan
};

// The window, in scans: five seconds at 10 Hz.
constexpr size_t kSweepWindow = 50;
// With fewer scans, the standard deviation of the mean is not reliable.
constexpr size_t kMinSweeps = 20;
// With right times, the farthest of the drift-* scenes for choosing (tests/bench/scenes) is 0.12.
constexpr double kSuspectShare = 0.2;
// Scans of one place resemble each other, so that sigmas are smaller than errors.
constexpr double kSuspectSigmas = 4.0;
// The walls that are seen early and those that are seen late are each off by what a map is: 0.04 m
// (SystematicError). Their difference, of 0.06 m, is the share of kSuspectShare of this motion.
constexpr double kMinSweepMotionM = 0.3;

class SweepCheck {
 public:
  // Of a scan during which the vehicle moved by at least kMinSweepMotionM. The report is of the
  // last kSweepWindow scans, this one included.
  SweepReport Add(const SweepDerivatives& pull);
  void Clear();

 private:
  [[nodiscard]] SweepReport WindowReport() const;

  std::deque<SweepDerivatives> window_;
  bool suspect_ = false;  // as last reported
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_TRACKING_SWEEP_CHECK_H_
