// SPDX-License-Identifier: Apache-2.0
//
// Protection levels: distances that the error of a pose exceeds with at most a stated probability,
// although the points of one cluster may be wrong by any amount: a wall that has moved, a parked
// lorry where the map has none. Multiple-hypothesis solution separation, as in J. Blanch et al.,
// Baseline Advanced RAIM User Algorithm and Possible Improvements, 2015 (solution_separation.h has
// the references).
//
// - The gate: if no cluster is wrong, some separation of a solution without a cluster exceeds its
//   threshold, along any of three axes, with at most the probability `false_alarm`.
// - From a scan that does not pass, one cluster is excluded such that the others pass: if there are
//   several such clusters, the one with the largest separation in standard deviations. If there is
//   none, the levels are infinite.
// - The level along an axis is the least distance L for which
//     sum over the hypotheses h of  p_h * 2 Q((L - b_h) / sigma_h)
//   is at most the axis's part of the risk. For "no cluster is wrong", b is the step that is left
//   to the scan's solution, and sigma the deviation of that; for "cluster k is wrong", b also has
//   the threshold of the separation, and sigma is that of the solution without the cluster. The
//   systematic covariance is in every sigma. Q is the normal tail; both tails are counted.
// - The risk applies to each of the two levels. One half is for scans without an exclusion; the
//   other half is split over the possible exclusions, one per cluster, each of which could be
//   wrong. The horizontal level splits its risk over the two principal axes of the horizontal
//   covariance and is the root of the sum of squares of both.
//
// What is not covered: two wrong clusters at once, a place that looks like another one as a whole
// (confidence and AMBIGUOUS are for that), noise that is not Gaussian, and errors so large that the
// score is not quadratic any more.
//
// Pure functions.

#ifndef VOXLOC_CORE_ESTIMATE_INTEGRITY_PROTECTION_LEVELS_H_
#define VOXLOC_CORE_ESTIMATE_INTEGRITY_PROTECTION_LEVELS_H_

#include <Eigen/Core>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/engine/align.h"
#include "core/estimate/covariance/calibrated_covariance.h"
#include "core/estimate/integrity/solution_separation.h"
#include "core/geometry/covariance.h"
#include "core/geometry/pose.h"

namespace voxloc {

// Probability that a standard normal number is over x.
[[nodiscard]] inline double UpperTail(double x) { return 0.5 * std::erfc(x * M_SQRT1_2); }

// The number that a standard normal one is over with this probability, in (0, 0.5].
[[nodiscard]] inline double UpperTailQuantile(double probability) {
  // The tail is 0 in double precision from 39 on.
  double low = 0.0;
  double high = 40.0;
  // Halves the bracket down to the last bit.
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (UpperTail(middle) > probability ? low : high) = middle;
  }
  return high;
}

struct ProtectionOptions {
  double risk = 1e-3;  // that a level is exceeded; in (0, 1)
  // In (0, 1). A cluster that is left out by mistake costs little, a larger threshold raises every
  // level: the default is a choice, once in 100 s at 10 Hz.
  double false_alarm = 1e-3;
  SeparationOptions separation;
};

// Of one scan, about its final pose.
struct ProtectionInput {
  absl::Span<const ScoreTerms> clusters;
  // That this cluster is the wrong one; as many as clusters, each at least 0, at most 1 in all.
  absl::Span<const double> fault_probabilities;
  Matrix6 scan_covariance = Matrix6::Zero();        // of the noise: the sandwich's
  Matrix6 systematic_covariance = Matrix6::Zero();  // what all clusters share
  // For directions that the points, or those of all clusters but one, do not observe. nullopt: such
  // a direction has a level of infinity as soon as the probability of needing it is over the risk.
  std::optional<PosePrior> prior;
};

struct ProtectionLevels {
  // Of the position, metres; about the final pose, or about where `shift` leads from there.
  double horizontal_m = std::numeric_limits<double>::infinity();
  double vertical_m = std::numeric_limits<double>::infinity();
  bool fault_detected = false;
  std::optional<size_t> excluded_cluster;
  // From the final pose to the solution without the excluded cluster; 0 without an exclusion.
  Vector6 shift = Vector6::Zero();
};

// Levels of infinity where a number of the input is not finite. InvalidArgument: options or
// probabilities outside their range, a probability too many or too few.
[[nodiscard]] absl::StatusOr<ProtectionLevels> ComputeProtectionLevels(
    const ProtectionInput& input, const ProtectionOptions& options);

// Of an aligned scan, from the clusters that its covariance was made of.
struct ScanProtectionOptions {
  double risk = 1e-3;         // that a level is exceeded; in (0, 1)
  double false_alarm = 1e-3;  // that a cluster without a fault is left out; in (0, 1)
  // That one of the clusters is wrong, whichever; in [0, 1]. 1: in every scan.
  double fault_probability = 1.0;
};

// InvalidArgument names the field, its value and its range.
[[nodiscard]] absl::Status ValidateScanProtectionOptions(const ScanProtectionOptions& options);

struct ScanProtection {
  // Bounds of the error of the position, metres; infinity: there is none at this risk.
  double horizontal_m = std::numeric_limits<double>::infinity();
  double vertical_m = std::numeric_limits<double>::infinity();
  bool fault_detected = false;
  // What the levels are about: the result, or where it is without the cluster that was left out.
  Pose map_T_base;
  size_t excluded_points = 0;
  Eigen::Vector3d excluded_center_map = Eigen::Vector3d::Zero();  // of these points
};

// `calibrated` is of the scan, whose result has the pass over its clusters. `scan_covariance` is of
// its noise and `systematic_covariance` of what all clusters share, both about fixed map axes.
// Along what the scan does not observe there is a level only where its job has a covariance of the
// guess. FailedPrecondition: the pass is missing, or the covariance has failed. InvalidArgument:
// the options.
[[nodiscard]] absl::StatusOr<ScanProtection> ProtectScan(const AlignedScan& scan,
                                                         const CalibratedCovariance& calibrated,
                                                         const Matrix6& scan_covariance,
                                                         const Matrix6& systematic_covariance,
                                                         const ScanProtectionOptions& options);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_INTEGRITY_PROTECTION_LEVELS_H_
