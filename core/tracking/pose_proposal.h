// SPDX-License-Identifier: Apache-2.0
//
// PoseProposal: a pose that was found while the vehicle was lost, until later scans have confirmed
// or refuted it. Odometry carries it on from scan to scan. Not thread-safe: its session locks.

#ifndef VOXLOC_CORE_TRACKING_POSE_PROPOSAL_H_
#define VOXLOC_CORE_TRACKING_POSE_PROPOSAL_H_

#include <optional>

#include "absl/status/status.h"
#include "core/geometry/pose.h"

namespace voxloc {

// PropagatedPose: a pose at one time, propagated to later times by odometry. A plain value: any
// number of threads may read one.
struct PropagatedPose {
  Pose map_T_base;
  // At the same time, in a frame of its own; nullopt: unknown.
  std::optional<Pose> odometry_T_base;

  // The pose moved by the odometry since then; unchanged if odometry is unknown then or now.
  [[nodiscard]] Pose At(const std::optional<Pose>& later_odometry_T_base) const {
    if (!odometry_T_base || !later_odometry_T_base) return map_T_base;
    return map_T_base * (odometry_T_base->Inverse() * *later_odometry_T_base);
  }
};

// SequentialTest: the sequential probability ratio test of A. Wald (Sequential Tests of Statistical
// Hypotheses, Annals of Mathematical Statistics 16(2), 1945) for yes/no observations. A hypothesis
// is accepted once P(observations | true) / P(observations | false) >= 1 / false_acceptance.
//
// For observations that are independent given the hypothesis, the error rates are bounds and not
// approximations: the likelihood ratio is a martingale of mean 1 if the hypothesis is false, so it
// reaches 1 / false_acceptance with at most that probability (J. Ville, 1939), and its inverse
// likewise. Not thread-safe.
struct SequentialTestOptions {
  // Probability of a yes if the hypothesis is true, and if it is false; 0 < false < true < 1. The
  // defaults here are those of the confirmation of a recovery; RecoveryOptions has their origin.
  double yes_if_true = 0.9;
  double yes_if_false = 0.2;
  // Largest probability of accepting a false hypothesis, and of rejecting a true one by the ratio;
  // in (0, 1).
  double false_acceptance = 1e-3;
  double false_rejection = 1e-2;
  // A test that is still open after as many observations is rejected. >= 1.
  int max_observations = 20;
};

// InvalidArgument names the field, its value and what is allowed.
[[nodiscard]] absl::Status ValidateSequentialTestOptions(const SequentialTestOptions& options);

enum class TestDecision { kOpen, kAccepted, kRejected };

class SequentialTest {
 public:
  explicit SequentialTest(const SequentialTestOptions& options) : options_(options) {}

  // Takes an observation. A test that has been decided stays so.
  TestDecision Observe(bool yes);
  // Forgets all observations.
  void Restart() { *this = SequentialTest(options_); }

  [[nodiscard]] TestDecision decision() const { return decision_; }
  [[nodiscard]] int observations() const { return observations_; }
  [[nodiscard]] int yes_count() const { return yes_count_; }
  // Of what was observed, true over false, as a natural logarithm.
  [[nodiscard]] double log_likelihood_ratio() const { return log_ratio_; }

 private:
  SequentialTestOptions options_;
  TestDecision decision_ = TestDecision::kOpen;
  int observations_ = 0;
  int yes_count_ = 0;
  double log_ratio_ = 0.0;
};

// Where a proposed pose stands.
enum class ProposalState {
  kNone,       // no pose was found
  kPending,    // found, and not decided yet
  kConfirmed,  // later scans agree
  kDropped,    // they do not, or too many were checked, or the vehicle was found otherwise
};

// The state of the recovery of a lost vehicle after one scan.
struct RecoveryOutcome {
  ProposalState state = ProposalState::kNone;
  int checked_scans = 0;   // that were compared with the found pose
  int agreeing_scans = 0;  // those of them that agree with it
  bool decided = false;    // with this scan
  bool applied = false;    // whether the session has taken the pose as its own
};

class PoseProposal {
 public:
  // A test that accepts the pose counts once odometry has moved by `min_travel_m` from where the
  // pose was found; before that, a new test begins.
  PoseProposal(const Pose& map_T_base, const std::optional<Pose>& odometry_T_base,
               const SequentialTestOptions& confirmation, double min_travel_m = 0.0)
      : vehicle_{map_T_base, odometry_T_base},
        found_odometry_T_base_(odometry_T_base),
        min_travel_m_(min_travel_m),
        test_(confirmation) {
    outcome_.state = ProposalState::kPending;
  }

  // Where the vehicle must be if the proposal is right. Without odometry: where it was.
  [[nodiscard]] Pose Expected(const std::optional<Pose>& odometry_T_base) const {
    return vehicle_.At(odometry_T_base);
  }

  // A later scan was compared with it: the pose at which it agrees, nullopt where it does not, and
  // the odometry at that scan.
  void Check(const std::optional<Pose>& map_T_base, const std::optional<Pose>& odometry_T_base);

  // A confirmed proposal stays so until as many scans disagree as drop a new one.
  // Never applied.
  [[nodiscard]] const RecoveryOutcome& outcome() const { return outcome_; }

 private:
  PropagatedPose vehicle_;
  std::optional<Pose> found_odometry_T_base_;
  double min_travel_m_;
  double travel_m_ = 0.0;  // the farthest that odometry has been from there
  SequentialTest test_;    // since the pose was found or last confirmed
  RecoveryOutcome outcome_;
};

// PoseCorrection: the offset between a client's own poses and the vehicle's pose after a recovery,
// kept until the client's poses are right again. Meanwhile each scan is aligned from both guesses,
// the corrected one and the client's own, and the better result counts. So it works whether the
// client's poses stay wrong, converge slowly, or jump back. Not thread-safe: its session locks.
class PoseCorrection {
 public:
  // The vehicle is at `map_T_base` where its client says `odometry_T_base`. The correction ends
  // when a test of these options has accepted that the client's own poses suffice.
  PoseCorrection(const Pose& map_T_base, const Pose& odometry_T_base,
                 const SequentialTestOptions& release)
      : vehicle_{map_T_base, odometry_T_base}, release_(release) {}

  [[nodiscard]] Pose Apply(const Pose& odometry_T_base) const {
    return vehicle_.At(odometry_T_base);
  }

  // A scan was accepted at `map_T_base`; `uncorrected_suffices`: the alignment from the client's
  // own pose led there too. False: the correction has ended.
  [[nodiscard]] bool Update(const Pose& map_T_base, const Pose& odometry_T_base,
                            bool uncorrected_suffices) {
    vehicle_ = {map_T_base, odometry_T_base};
    const TestDecision decision = release_.Observe(uncorrected_suffices);
    if (decision == TestDecision::kRejected) release_.Restart();
    return decision != TestDecision::kAccepted;
  }

 private:
  PropagatedPose vehicle_;
  SequentialTest release_;
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_TRACKING_POSE_PROPOSAL_H_
