// SPDX-License-Identifier: Apache-2.0
//
// Conversions between jobs and ndt::NewtonSearch, shared by all engines: the search's rules, its
// interrupts and its trace. Thread-safe: no shared state.

#ifndef VOXLOC_CORE_ENGINE_SEARCH_RULES_H_
#define VOXLOC_CORE_ENGINE_SEARCH_RULES_H_

#include <cstddef>
#include <optional>

#include "core/engine/align.h"
#include "core/engine/profile.h"
#include "core/geometry/covariance.h"
#include "core/geometry/euler.h"
#include "core/ndt/search.h"
#include "core/ndt/search_rules.h"

namespace voxloc {

// Where a search enters its schedule. Thread-safe: no shared state.

// How far a guess without a covariance is taken to move the points of a scan from their true
// places, root mean square, metres.
constexpr double kDefaultGuessDisplacementM = 2.0;

// Basin of convergence of a stage, as a ratio of its cell size. On the choosing list every search
// whose points were displaced by less converged.
constexpr double kReachPerCell = 0.625;

// The same for a guess with a covariance (about fixed map axes) and a scan whose points lie
// `scan_scale_m` from the base, root mean square: an upper bound, reached by points at right angles
// to the axis of rotation.
[[nodiscard]] double GuessDisplacement(const Matrix6& guess_covariance, double scan_scale_m);

// The stage of the profile that a search from such a guess begins with. A profile whose stages are
// not judged begins with the first. Otherwise: the last stage, up to the score stage, whose cells
// reach far enough for the displacement; without a covariance, the default above. Stages whose
// cells are larger than all that the scan sees are left out.
[[nodiscard]] size_t EntryStage(const Profile& profile,
                                const std::optional<Matrix6>& guess_covariance,
                                double scan_scale_m);

// From the plain arrays of core/ndt.
[[nodiscard]] inline ChartVector ToEigen(const double (&vector)[6]) {
  return Eigen::Map<const ChartVector>(vector);
}
[[nodiscard]] inline Matrix6 ToEigen(const double (&matrix)[6][6]) {
  return Eigen::Map<const Eigen::Matrix<double, 6, 6, Eigen::RowMajor>>(&matrix[0][0]);
}

// The length, in metres, that a rotation by one radian is equivalent to: the root mean square
// distance of the scan's points from the base, at least 0.1.
[[nodiscard]] double RotationScaleOf(const PointCloud& scan_base);
// The same where that distance is known, not less than 0.
[[nodiscard]] double RotationScaleOf(double root_mean_square_range_m);

// Whether a stage moves along observed directions only and takes its rotation scale from the scan.
[[nodiscard]] bool NeedsScanScale(const Stage& stage);
// Whether a stage does, or the scale decides which stage is the first.
[[nodiscard]] bool NeedsScanScale(const Profile& profile);

// An upper bound of a search's iterations, repetitions included.
[[nodiscard]] size_t MaxIterations(const Profile& profile);

// The prior of a job's guess; not active without prior_covariance, or where the profile leaves it
// out. The covariance is taken from fixed map axes to the chart at the guess, to first order.
// `scan_scale_m`: RotationScaleOf the scan.
[[nodiscard]] ndt::GuessPrior MakeGuessPrior(const AlignJob& job, double scan_scale_m);

// What ndt::NewtonSearch needs of a job. The profile must be valid. `scan_scale_m` is
// RotationScaleOf(*job.scan) where the profile needs it.
[[nodiscard]] ndt::SearchRules MakeSearchRules(const AlignJob& job, double scan_scale_m);
[[nodiscard]] ndt::SearchRules MakeSearchRules(const AlignJob& job);

// The state of the stop token now.
[[nodiscard]] Interrupt CheckInterrupt(const StopToken& stop);

// `score` is the one that the iteration started from.
[[nodiscard]] IterationTrace MakeTrace(const ndt::IterationRecord& record, const PoseScore& score);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ENGINE_SEARCH_RULES_H_
