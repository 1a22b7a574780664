// SPDX-License-Identifier: Apache-2.0
//
// Whether a scan agrees with a pose that was proposed for its lost vehicle. Thread-safe: no shared
// state.

#ifndef VOXLOC_CORE_TRACKING_PROPOSAL_CHECK_H_
#define VOXLOC_CORE_TRACKING_PROPOSAL_CHECK_H_

#include <functional>
#include <optional>
#include <string>

#include "core/engine/engine.h"
#include "core/estimate/covariance/aligned_scan.h"
#include "core/tracking/recovery.h"

namespace voxloc {

// How likely an alignment is right, in [0, 1]; nullopt: not known. May be empty.
using ConfidenceFunction = std::function<std::optional<double>(const AlignedScan&)>;

// Why this result is not good enough to be proposed, with the value and the requirement; empty: it
// is good enough. `confidence`: nullopt if not known.
[[nodiscard]] std::string RejectReason(const AlignResult& result, std::optional<double> confidence,
                                       const Profile& profile, const RecoveryOptions& options);

struct ProposalCheck {
  AlignResult result;                // of the alignment from where the vehicle was expected
  std::optional<double> confidence;  // where it was asked for and known
  // Why the scan does not agree; empty where it does.
  std::string detail;

  [[nodiscard]] bool agrees() const { return detail.empty(); }
};

// `job` names map, scan, profile and regularisation; its guess is not used. `own` is the result of
// the alignment from the client's own guess, or null. If it ends at a distinct pose that explains
// the scan nearly as well, the scan does not agree with the proposal.
[[nodiscard]] ProposalCheck CheckProposal(Engine& engine, const AlignJob& job,
                                          const Pose& expected_map_T_base, const AlignResult* own,
                                          const RecoveryOptions& options,
                                          const ConfidenceFunction& confidence);

}  // namespace voxloc

#endif  // VOXLOC_CORE_TRACKING_PROPOSAL_CHECK_H_
