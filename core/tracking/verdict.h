// SPDX-License-Identifier: Apache-2.0
//
// The verdict on an alignment: one status, in a fixed order of precedence, with the values behind
// it as text. Thread-safe: no shared state.

#ifndef VOXLOC_CORE_TRACKING_VERDICT_H_
#define VOXLOC_CORE_TRACKING_VERDICT_H_

#include <optional>
#include <string>
#include <vector>

#include "core/engine/align.h"
#include "core/estimate/covariance/calibrated_covariance.h"
#include "core/estimate/scan_estimate.h"
#include "core/geometry/covariance.h"
#include "core/geometry/pose.h"
#include "core/tracking/alignment_status.h"
#include "core/tracking/pose_proposal.h"
#include "core/tracking/scan_gate.h"

namespace voxloc {

// Limits that the reference does not have.
struct AcceptanceLimits {
  double min_matched_ratio = 0.0;  // 0 to 1
  double min_confidence = 0.0;     // 0 to 1; 0: a scan may be without a confidence
};

// Those of a profile, where a request sets none.
[[nodiscard]] AcceptanceLimits LimitsOf(const Profile& profile);

// The least confidence under the strict rule: of 375 right results of tracking in the choosing list
// it refuses 2 with the profile precise, and none of 380 with autoware; 0.2 would refuse 10.
constexpr double kStrictMinConfidence = 0.1;
// The same of a result that is farther from its guess than
// GateOptions::initial_to_result_distance_tolerance_m: more likely right than wrong.
constexpr double kStrictMinFarConfidence = 0.5;
// Under the strict rule, a prior makes up for unobserved directions if it bounds the error along
// them by this: beyond it, a pose counts as distinct (HypothesisOptions::min_separation_m).
constexpr double kSettledWithinM = 1.0;

// kFilter: the session's own filter (PoseFusion). What it says of the pose goes out with every
// result, so it makes up for unobserved directions however far it leaves the pose open.
enum class PriorSource { kGuess, kOdometry, kFilter };

// A pose known without the scan.
struct PriorPose {
  PriorSource source = PriorSource::kGuess;
  Pose map_T_base;
  Matrix6 covariance = Matrix6::Zero();  // about fixed map axes
};

// How far a result may be off along the directions that its scan does not observe, metres, a
// rotation counting as `degeneracy.rotation_scale_m` times its angle: its distance from the prior
// along these directions, and twice the prior's root mean square error along them. With a prior
// whose errors are normal, the error is smaller in 95 % of cases or more. 0 where the scan observes
// every direction.
[[nodiscard]] double ErrorBoundAlongUnobserved(const Degeneracy& degeneracy,
                                               const Pose& result_map_T_base,
                                               const PriorPose& prior);

// OdometryAnchor: the last pose that a scan observed in every direction, propagated by odometry. A
// prior for scans that do not observe every direction, with an uncertainty that grows with the
// distance. Not thread-safe: its session locks.
class OdometryAnchor {
 public:
  // A scan that observes every direction was accepted here.
  void Set(const Pose& map_T_base, const Pose& odometry_T_base);
  void Reset() { anchor_.reset(); }

  // Updates the odometry pose; call it for every scan, in the order of time. nullopt: odometry is
  // unknown, which resets the anchor.
  void Update(const std::optional<Pose>& odometry_T_base);

  // The pose by odometry. Standard deviations: `drift` * distance travelled since the anchor along
  // each axis, `drift` * angle turned about each axis. nullopt: there is no anchor. `drift` >= 0.
  [[nodiscard]] std::optional<PriorPose> Prior(double drift) const;

 private:
  std::optional<PropagatedPose> anchor_;
  Pose last_odometry_T_base_;
  double distance_m_ = 0.0;
  double rotation_rad_ = 0.0;
};

// Priors of a scan's pose.
struct PriorKnowledge {
  std::optional<Pose> map_T_base_guess;  // nullopt: the alignment began anywhere
  std::vector<PriorPose> priors;
};

// The prior that bounds the error along the unobserved directions, and the bound.
struct SettledBy {
  PriorSource source = PriorSource::kGuess;
  double within_m = 0.0;  // ErrorBoundAlongUnobserved
};

struct Verdict {
  AlignmentStatus status = AlignmentStatus::kOk;
  std::string detail;  // empty with kOk
  bool accepted = false;
  // Of a degenerate result that is accepted by the strict rule.
  std::optional<SettledBy> settled_by = std::nullopt;
};

// Judges a result whose own status is ok, aligned with this profile. `estimate` is null where there
// is none. Of `gate`, the limits of oscillations and of the distance from the guess count.
//
// By the profile's strict rule a result is accepted where it converged, its score and matched ratio
// suffice, its confidence is known and not below its limit, no other pose explains the scan nearly
// as well, and a prior bounds the error along the directions that the scan does not observe, if
// any. By the reference's rule, rivals and unobserved directions affect the status only.
[[nodiscard]] Verdict JudgeResult(const AlignResult& result, const ScanEstimate* estimate,
                                  const Profile& profile, const GateOptions& gate,
                                  const AcceptanceLimits& limits,
                                  const PriorKnowledge& known = PriorKnowledge());

// Of a scan whose points, up to `reach_m` from the base, cannot touch the map (CanTouch) at its
// guess.
[[nodiscard]] Verdict OutOfMapVerdict(const Bounds& map, const Pose& map_T_base_guess,
                                      double reach_m);

}  // namespace voxloc

#endif  // VOXLOC_CORE_TRACKING_VERDICT_H_
