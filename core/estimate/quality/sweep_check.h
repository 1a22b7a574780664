// SPDX-License-Identifier: Apache-2.0
//
// Tests the motion that a scan was deskewed by. If it was right, points of all times have their
// optimum at the same pose. If the vehicle moved by (1 + k) times as much, points at time t have it
// at a pose displaced by k t r, with r the rate of the motion. So the score of the scan, as a
// function of k, has the slope and the curvature
//
//   sum of t r'g  and  sum of t^2 r'|H| r
//
// over slices of the sweep at times t from their mean, with r the rate of the pose, g the gradient
// and H the Hessian of a slice's score about fixed map axes. |H| is H with the absolute values of
// its eigenvalues, since far from the optimum the curvature may have the wrong sign.

#ifndef VOXLOC_CORE_ESTIMATE_QUALITY_SWEEP_CHECK_H_
#define VOXLOC_CORE_ESTIMATE_QUALITY_SWEEP_CHECK_H_

#include <Eigen/Core>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "core/engine/align.h"
#include "core/geometry/pose.h"
#include "core/geometry/twist.h"

namespace voxloc {

// Fine enough that the points of a slice of a tenth of a second share their time to 3 ms.
constexpr size_t kSweepSlices = 16;

struct SweepSlices {
  std::shared_ptr<const PointGroups> groups;  // of equal numbers of points, in the order of time
  std::vector<double> time_s;                 // of each group, from the mean of all
};

// `time_s` has one finite value a point of the scan. nullopt: fewer points than a slice needs to
// bend a score along all directions, or all of one time.
[[nodiscard]] std::optional<SweepSlices> SliceSweep(absl::Span<const float> time_s);

// How far a vehicle with this twist moves from the first slice to the last, metres.
[[nodiscard]] double MotionOver(const SweepSlices& slices, const Twist& base_twist);

// Makes the job evaluate the slices at its answer, under the cells of the score stage, which reach
// farther than those of the last. `scan_base`: the sliced scan, where it is not the job's; else
// null. Returns the place of the pass.
size_t RequestSweepPass(const SweepSlices& slices, std::shared_ptr<const PointCloud> scan_base,
                        AlignJob& job);

// The derivatives of the score by k at 0. The curvature is at least 0.
struct SweepDerivatives {
  double slope = 0.0;
  double curvature = 0.0;
};

// `groups`: the slices' sums at the pose. `base_twist`: what the scan was deskewed by.
[[nodiscard]] SweepDerivatives ComputeSweepDerivatives(const SweepSlices& slices,
                                                       absl::Span<const GroupSums> groups,
                                                       const Twist& base_twist,
                                                       const Pose& map_T_base);

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

// SweepCheck: whether the motion that the recent scans of a session were deskewed by is right. The
// sums over many scans estimate the unexplained motion, and the differences between the scans its
// standard deviation. Not thread-safe: its session locks.
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

#endif  // VOXLOC_CORE_ESTIMATE_QUALITY_SWEEP_CHECK_H_
