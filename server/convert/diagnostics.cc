// SPDX-License-Identifier: Apache-2.0

#include "server/convert/diagnostics.h"

#include <optional>

#include "server/convert/pose.h"
#include "server/convert/result.h"

namespace voxloc::server {
namespace {

v1::DiagnosticLevel LevelToProto(DiagnosticLevel level) {
  switch (level) {
    case DiagnosticLevel::kOk:
      return v1::DIAGNOSTIC_LEVEL_OK;
    case DiagnosticLevel::kWarn:
      return v1::DIAGNOSTIC_LEVEL_WARN;
    case DiagnosticLevel::kError:
      return v1::DIAGNOSTIC_LEVEL_ERROR;
  }
  return v1::DIAGNOSTIC_LEVEL_UNSPECIFIED;
}

v1::RecoveryState StateToProto(ProposalState state) {
  switch (state) {
    case ProposalState::kNone:
      return v1::RECOVERY_STATE_NOT_FOUND;
    case ProposalState::kPending:
      return v1::RECOVERY_STATE_PENDING;
    case ProposalState::kConfirmed:
      return v1::RECOVERY_STATE_CONFIRMED;
    case ProposalState::kDropped:
      return v1::RECOVERY_STATE_DROPPED;
  }
  return v1::RECOVERY_STATE_UNSPECIFIED;
}

void PoseFoundToProto(const AlignResult& result, std::optional<double> confidence,
                      v1::RecoveryProposal& proto) {
  PoseToProto(result.map_T_base, *proto.mutable_map_t_base()->mutable_pose());
  ScoresToProto(result.after, *proto.mutable_scores());
  proto.set_confidence(confidence.value_or(0.0));
}

}  // namespace

void DiagnosticsToProto(const Diagnostics& diagnostics, v1::Diagnostics& proto) {
  proto.set_level(LevelToProto(diagnostics.level()));
  proto.set_message(diagnostics.message());
  for (const DiagnosticEntry& entry : diagnostics.entries()) {
    v1::DiagnosticEntry& target = *proto.add_entries();
    target.set_key(entry.key);
    if (const auto* flag = std::get_if<bool>(&entry.value)) {
      target.set_bool_value(*flag);
    } else if (const auto* count = std::get_if<int64_t>(&entry.value)) {
      target.set_int_value(*count);
    } else if (const auto* number = std::get_if<double>(&entry.value)) {
      target.set_double_value(*number);
    }
  }
}

void SearchToProto(const RecoveryReport& report, v1::RecoveryProposal& proto) {
  proto.set_search_radius_m(report.radius_m);
  proto.set_candidates(static_cast<uint32_t>(report.candidates));
  proto.set_detail(report.detail);
  if (report.proposal.has_value()) PoseFoundToProto(*report.proposal, report.confidence, proto);
}

void CheckToProto(const ProposalCheck& check, v1::RecoveryProposal& proto) {
  proto.set_candidates(1);
  proto.set_detail(check.detail);
  if (check.agrees()) PoseFoundToProto(check.result, check.confidence, proto);
}

void OutcomeToProto(const RecoveryOutcome& outcome, v1::RecoveryProposal& proto) {
  proto.set_state(StateToProto(outcome.state));
  proto.set_checked_scans(static_cast<uint32_t>(outcome.checked_scans));
  proto.set_agreeing_scans(static_cast<uint32_t>(outcome.agreeing_scans));
  proto.set_applied(outcome.applied);
}

}  // namespace voxloc::server
