// SPDX-License-Identifier: Apache-2.0
//
// SessionState: the state of a session between scans: whether it is active, its latest poses and
// reference positions, the scans that later ones are joined with, the number of scans since the
// last accepted result, the vehicle's last pose, and the progress of a recovery. Each call without
// a session has a new one for its scan. Thread-safe: shared by a session's stream and its scans.

#ifndef VOXLOC_SERVER_SESSION_SESSION_STATE_H_
#define VOXLOC_SERVER_SESSION_SESSION_STATE_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "core/estimate/quality/sweep_check.h"
#include "core/geometry/twist.h"
#include "core/tracking/pose_buffer.h"
#include "core/tracking/pose_fusion.h"
#include "core/tracking/pose_proposal.h"
#include "core/tracking/recovery.h"
#include "core/tracking/scan_gate.h"
#include "core/tracking/verdict.h"
#include "server/convert/options.h"
#include "voxloc/v1/scan.pb.h"

namespace voxloc::server {

// The step for a scan while its vehicle is lost: search for the vehicle, or check whether the scan
// agrees with a pose found before.
struct ProposalToCheck {
  Pose expected_map_T_base;  // at the scan
};
using RecoveryStep = std::variant<RecoverySearch, ProposalToCheck>;

class SessionState {
 public:
  struct Options {
    bool active = true;
    PoseBufferOptions poses;  // references: as many
    std::optional<RecoveryOptions> recovery;
    std::optional<AccumulationOptions> accumulation;
    std::optional<OdometryErrors> fusion;
    // Where the vehicle was last, in an earlier session; nullopt: not known, or not asked for.
    std::optional<Pose> last_map_T_base;
  };

  explicit SessionState(const Options& options);
  SessionState() : SessionState(Options()) {}

  // InvalidArgument: see PoseBuffer::Push. A pose is dropped while the session is inactive.
  [[nodiscard]] absl::Status AddPose(const BufferedPose& pose);
  [[nodiscard]] absl::Status AddReference(int64_t stamp_ns, const Eigen::Vector3d& position_map);
  // Activating deletes the poses and the scans, and resets the recovery.
  void Activate(bool active);
  // Limits on the poses that a guess is interpolated from.
  void SetPoseLimits(double timeout_s, double distance_tolerance_m) {
    const absl::MutexLock lock(&mutex_);
    poses_.SetLimits(timeout_s, distance_tolerance_m);
  }

  // What the session knows about a scan before it is aligned.
  struct ScanPrior {
    bool active = true;
    absl::Status status;  // not ok: there is no guess, and why
    Pose guess_map_T_base;
    std::optional<Matrix6> guess_covariance;
    // Where the guess is the last accepted result carried on: the motion since then.
    std::optional<Pose> carried_by;
    // The odometry pose: the interpolated session pose without a recovery's correction, or the
    // scan's own odom_T_base. A session uses the source that it had first.
    std::optional<Pose> odometry_T_base;
    std::optional<Pose> odom_T_base;  // as the scan says
    // The poses that it was interpolated from.
    std::optional<BufferedPose> older;
    std::optional<BufferedPose> newer;
    bool corrected = false;  // a recovery has corrected the guess
    // By those poses; else by the odometry of this scan and those before it; else by the last two
    // accepted results. nullopt: these are too old or too far apart in time.
    std::optional<Twist> base_twist;
    std::optional<Eigen::Vector3d> reference_map;
    OdometryAnchor anchor;  // by `odometry_T_base`
  };
  // Computes it, and drops poses that are older than the scan. `odom_T_base`: the scan's.
  [[nodiscard]] ScanPrior TakePrior(int64_t stamp_ns,
                                    const std::optional<Pose>& odom_T_base = std::nullopt);

  // Whether its scans are joined with those before them.
  [[nodiscard]] bool accumulates() const { return options_.accumulation.has_value(); }
  // For a session that accumulates: see ScanHistory::Add.
  [[nodiscard]] std::vector<PlacedCloud> Accumulate(int64_t stamp_ns, const Pose& odom_T_base,
                                                    std::shared_ptr<const PointCloud> scan_base) {
    const absl::MutexLock lock(&mutex_);
    return history_.Add(stamp_ns, odom_T_base, std::move(scan_base));
  }
  // The points of the scans that the next one may be joined with.
  [[nodiscard]] size_t accumulated_points() {
    const absl::MutexLock lock(&mutex_);
    return history_.points();
  }

  // Scans are fused with the odometry, each between a call of either; see PoseFusion. nullopt: the
  // session has no filter.
  [[nodiscard]] std::optional<PoseFusion::Prediction> BeginFusion(
      int64_t stamp_ns, const ScanPrior& prior, const SystematicError& systematic) {
    const absl::MutexLock lock(&mutex_);
    if (!fusion_.has_value()) return std::nullopt;
    return fusion_->Begin(stamp_ns, prior.odometry_T_base, prior.base_twist, systematic);
  }
  [[nodiscard]] std::optional<FusedPose> EndFusion(uint64_t scan,
                                                   const ScanObservation* observation) {
    const absl::MutexLock lock(&mutex_);
    return fusion_->End(scan, observation);
  }

  // Counts the scan and hands out its record.
  [[nodiscard]] Diagnostics Finish(ScanGate& gate) {
    const absl::MutexLock lock(&mutex_);
    return gate.Finish(skipped_);
  }

  // For a scan that was accepted and deskewed.
  [[nodiscard]] SweepReport CheckSweep(const SweepDerivatives& pull) {
    const absl::MutexLock lock(&mutex_);
    return sweeps_.Add(pull);
  }

  // Checks the result against the session's earlier ones, and rejects one that does not follow from
  // the vehicle's track: see TrackCheck. `near_guess`: the result is near its guess.
  void CheckTrack(int64_t stamp_ns, const Pose& map_T_base, bool near_guess, Verdict& verdict);

  // The end of a scan, with or without an accepted result. The stamp is that of TakePrior. A step
  // that Missed returns must be ended by EndSearch, EndProposalCheck or AbandonStep.
  struct FoundFacts {
    // For a scan with a corrected guess: the alignment from the uncorrected one agrees.
    bool uncorrected_suffices = false;
    bool observed = false;  // the scan observes every direction
  };
  void Found(int64_t stamp_ns, const Pose& map_T_base, const ScanPrior& prior,
             const FoundFacts& facts);
  [[nodiscard]] std::optional<RecoveryStep> Missed(const std::optional<Pose>& odometry_T_base);

  // nullopt: the session does not look for its vehicle.
  [[nodiscard]] const std::optional<RecoveryOptions>& recovery() const { return options_.recovery; }
  // End a step: a search with the pose that it found, or nullopt; a check of a proposal with the
  // pose at which the scan agrees, or nullopt. The odometry is that of the scan.
  RecoveryOutcome EndSearch(const std::optional<Pose>& map_T_base,
                            const std::optional<Pose>& odometry_T_base);
  RecoveryOutcome EndProposalCheck(const std::optional<Pose>& map_T_base,
                                   const std::optional<Pose>& odometry_T_base);
  // Ends a step that could not run; the next missed scan retries it.
  void AbandonStep(const RecoveryStep& step);

 private:
  // The last two accepted results, in the order of their stamps.
  struct AcceptedResult {
    int64_t stamp_ns = 0;
    Pose map_T_base;
  };
  struct ScanOdometry {
    int64_t stamp_ns = 0;
    Pose odom_T_base;
    std::optional<Twist> mean_twist;  // since the scan before
    double duration_s = 0.0;          // of that
  };
  // The twist at the stamp of a scan with this odometry, which becomes the last one.
  std::optional<Twist> TwistByOdometry(int64_t stamp_ns, const Pose& odom_T_base)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<Twist> TwistByPoses(int64_t stamp_ns) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<Twist> TwistByResults(int64_t stamp_ns) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  absl::Mutex mutex_;
  bool active_ ABSL_GUARDED_BY(mutex_);
  PoseBuffer poses_ ABSL_GUARDED_BY(mutex_);
  PoseBuffer references_ ABSL_GUARDED_BY(mutex_);
  std::optional<AcceptedResult> accepted_ ABSL_GUARDED_BY(mutex_);
  std::optional<AcceptedResult> previous_accepted_ ABSL_GUARDED_BY(mutex_);
  // The last accepted result of a scan with odom_T_base.
  std::optional<PropagatedPose> carried_ ABSL_GUARDED_BY(mutex_);
  // Until the first accepted result.
  std::optional<Pose> last_map_T_base_ ABSL_GUARDED_BY(mutex_);
  // What ScanPrior::odometry_T_base is taken from, once it is known.
  enum class Odometry { kPoses, kScans };
  std::optional<Odometry> odometry_ ABSL_GUARDED_BY(mutex_);
  std::optional<ScanOdometry> scan_odometry_ ABSL_GUARDED_BY(mutex_);  // of the last scan with one
  OdometryAnchor anchor_ ABSL_GUARDED_BY(mutex_);
  std::optional<PoseFusion> fusion_ ABSL_GUARDED_BY(mutex_);
  ScanHistory history_ ABSL_GUARDED_BY(mutex_);
  SweepCheck sweeps_ ABSL_GUARDED_BY(mutex_);
  TrackCheck track_ ABSL_GUARDED_BY(mutex_);
  SkippedScans skipped_ ABSL_GUARDED_BY(mutex_);
  std::optional<RecoveryPolicy> policy_ ABSL_GUARDED_BY(mutex_);
  bool step_in_progress_ ABSL_GUARDED_BY(mutex_) = false;  // a step has been returned and not ended
  std::optional<PoseProposal> proposal_ ABSL_GUARDED_BY(mutex_);
  std::optional<PoseCorrection> correction_ ABSL_GUARDED_BY(mutex_);
};

// ScanSource: what the scans of one client have in common. A plain value, shared unchanged by the
// scans that it holds for; only the object that `state` points to changes from scan to scan.
struct ScanSource {
  std::string session;  // for logs; empty for callers without one
  std::string vehicle;
  std::string map;
  ScanRecipe recipe;
  uint64_t max_points = 0;
  double timeout_s = 0.0;    // of scans that name none; 0: none
  double max_delay_s = 0.0;  // 0: no limit
  bool own_clock = false;    // stamps are of a clock of the vehicle's own
  std::shared_ptr<SessionState> state;
  // As the client asked for it, in effect now, for captures; null: there are none.
  std::shared_ptr<const v1::ScanSetup> setup;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SESSION_SESSION_STATE_H_
