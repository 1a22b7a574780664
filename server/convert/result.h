// SPDX-License-Identifier: Apache-2.0
//
// Results to protobuf: poses, scores, estimates and the state of tracking, and the trimming of
// messages that would be too large. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_CONVERT_RESULT_H_
#define VOXLOC_SERVER_CONVERT_RESULT_H_

#include <cstdint>
#include <optional>

#include "core/cloud/filters.h"
#include "core/cloud/point_cloud.h"
#include "core/engine/align.h"
#include "core/estimate/quality/sweep_check.h"
#include "core/estimate/scan_estimate.h"
#include "core/geometry/pose.h"
#include "core/tracking/pose_fusion.h"
#include "core/tracking/pose_proposal.h"
#include "core/tracking/recovery.h"
#include "core/tracking/scan_gate.h"
#include "core/tracking/verdict.h"
#include "server/convert/options.h"
#include "voxloc/v1/alignment.pb.h"
#include "voxloc/v1/cloud.pb.h"

namespace voxloc::server {

[[nodiscard]] v1::AlignmentStatus StatusToProto(AlignmentStatus status);

void ScoresToProto(const PoseScore& scores, v1::Scores& proto);

void PointCountsToProto(const FilterCounts& counts, v1::PointCounts& proto);

void SettledByToProto(const SettledBy& settled_by, v1::AlignmentResult& proto);

// Pose, scores, counters, and what `output` asks for of them; not the verdict, nor what the engine
// does not know.
void AlignResultToProto(const AlignResult& result, const PointCloud& scan_base,
                        const v1::OutputOptions& output, v1::AlignmentResult& proto);

void ConfidenceToProto(const Confidence& confidence, v1::Confidence& proto);

// `estimate` is of a result of the recipe that ended at `map_T_base`.
void EstimateToProto(const ScanEstimate& estimate, const Pose& map_T_base, const ScanRecipe& recipe,
                     v1::AlignmentResult& proto);

void SweepReportToProto(const SweepReport& report, v1::SweepCheck& proto);

void DiagnosticsToProto(const Diagnostics& diagnostics, v1::Diagnostics& proto);

// A search, a check of a pose found before, and their outcome.
void RecoverySearchToProto(const RecoveryReport& report, v1::RecoveryProposal& proto);
void ProposalCheckToProto(const ProposalCheck& check, v1::RecoveryProposal& proto);
void RecoveryOutcomeToProto(const RecoveryOutcome& outcome, v1::RecoveryProposal& proto);

// `systematic_covariance` is what the covariance of the fused pose lacks.
void FusedPoseToProto(const FusedPose& fused, const Matrix6& systematic_covariance,
                      const std::optional<Pose>& odom_T_base, v1::FusedPose& proto);

// Removes optional outputs, clouds first, until a message with the result has at most max_bytes,
// and lists them in `omitted`. The mandatory fields always fit.
void TrimToMessageSize(uint64_t max_bytes, v1::AlignmentResult& result);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONVERT_RESULT_H_
