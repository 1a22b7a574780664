// SPDX-License-Identifier: Apache-2.0
//
// Searches for a lost vehicle: candidates in a disc, aligned as one batch. A pose is proposed only
// if it passes all checks. Thread-safe: no shared state.

#ifndef VOXLOC_CORE_TRACKING_RECOVERY_SEARCH_H_
#define VOXLOC_CORE_TRACKING_RECOVERY_SEARCH_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/engine.h"
#include "core/estimate/covariance/calibrated_covariance.h"
#include "core/estimate/initial_pose/pose_search.h"
#include "core/tracking/recovery.h"

namespace voxloc {

// How likely an alignment is right, in [0, 1]; nullopt: not known. May be empty.
using ConfidenceFunction = std::function<std::optional<double>(const AlignedScan&)>;

// Why this result is not good enough to be proposed, with the value and the requirement; empty: it
// is good enough. `confidence`: nullopt if not known.
[[nodiscard]] std::string RejectReason(const AlignResult& result, std::optional<double> confidence,
                                       const Profile& profile, const RecoveryOptions& options);

// Whether a scan agrees with a pose that was proposed for its lost vehicle.
struct ProposalCheck {
  AlignResult result;                // of the alignment from where the vehicle was expected
  std::optional<double> confidence;  // where it was asked for and known
  // Why the scan does not agree; empty where it does.
  std::string detail;

  [[nodiscard]] bool agrees() const { return detail.empty(); }
};

// Whether a scan agrees with a pose that was proposed for its lost vehicle. `job` names map, scan,
// profile and regularisation; its guess is not used. `own` is the result of the alignment from the
// client's own guess, or null. If it ends at a distinct pose that explains
// the scan nearly as well, the scan does not agree with the proposal.
[[nodiscard]] ProposalCheck CheckProposal(Engine& engine, const AlignJob& job,
                                          const Pose& expected_map_T_base, const AlignResult* own,
                                          const RecoveryOptions& options,
                                          const ConfidenceFunction& confidence);

// options.candidates poses; the first is the middle. Evenly over the disc, at the middle's height
// and tilt; headings around the middle's, or all around. The same search and options give the same
// poses.
[[nodiscard]] std::vector<Pose> MakeRecoveryCandidates(const RecoverySearch& search,
                                                       const RecoveryOptions& options);

struct RecoveryReport {
  double radius_m = 0.0;  // that was searched
  size_t candidates = 0;  // that were aligned
  // The best of them; a good one is in `proposal` too.
  RankedHypotheses ranked;
  std::optional<double> confidence;  // of the best, where it was asked for and known
  std::optional<AlignResult> proposal;
  // Why there is no proposal, with the value and what is asked for; empty where there is one.
  std::string detail;
};

// `job` names map, scan, profile and regularisation; its guess is not used, and its stop token ends
// the search without a proposal. For the confidence the best candidate is aligned once more, from
// where it ended, and with point scores if the job wants them; the others never have any.
[[nodiscard]] RecoveryReport SearchForVehicle(Engine& engine, const AlignJob& job,
                                              const RecoverySearch& search,
                                              const RecoveryOptions& options,
                                              const ConfidenceFunction& confidence);

}  // namespace voxloc

#endif  // VOXLOC_CORE_TRACKING_RECOVERY_SEARCH_H_
