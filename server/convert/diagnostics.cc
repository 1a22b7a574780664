// SPDX-License-Identifier: Apache-2.0

#include "server/convert/diagnostics.h"

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

void RecoveryToProto(const RecoveryReport& report, bool applied, v1::RecoveryProposal& proto) {
  proto.set_search_radius_m(report.radius_m);
  proto.set_candidates(static_cast<uint32_t>(report.candidates));
  proto.set_applied(applied);
  proto.set_detail(report.detail);
  if (!report.proposal.has_value()) return;
  PoseToProto(report.proposal->map_T_base, *proto.mutable_map_t_base());
  ScoresToProto(report.proposal->after, *proto.mutable_scores());
  proto.set_confidence(report.confidence.value_or(0.0));
}

}  // namespace voxloc::server
