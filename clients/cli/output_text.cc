// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/output_text.h"

#include <array>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/message_json.h"
#include "clients/cli/pose_text.h"
#include "clients/cli/scores_json.h"
#include "clients/cli/text_table.h"
#include "clients/cpp/messages.h"

namespace voxloc::cli {
namespace {

std::string LevelName(v1::DiagnosticLevel level) {
  const auto* value = v1::DiagnosticLevel_descriptor()->FindValueByNumber(level);
  return value == nullptr ? absl::StrCat(static_cast<int>(level)) : EnumName(*value);
}

Json DiagnosticValue(const v1::DiagnosticEntry& entry) {
  switch (entry.value_case()) {
    case v1::DiagnosticEntry::kBoolValue:
      return entry.bool_value();
    case v1::DiagnosticEntry::kIntValue:
      return entry.int_value();
    case v1::DiagnosticEntry::kDoubleValue:
      return entry.double_value();
    case v1::DiagnosticEntry::VALUE_NOT_SET:
      break;
  }
  return nullptr;
}

}  // namespace

std::string TraceText(const v1::AlignmentTrace& trace) {
  TextTable table(">step|>stage|>x|>y|>z|>yaw|>score|>NVTL|>Newton step|>taken");
  for (int i = 0; i < trace.iterations_size(); ++i) {
    const v1::TraceIteration& step = trace.iterations(i);
    const absl::StatusOr<Pose> pose = client::DecodePose(step.map_t_base());
    const std::array<double, 6> at = RosNumbers(pose.value_or(Pose()));
    table.AddRow({absl::StrCat(i + 1), absl::StrCat(step.stage()), absl::StrFormat("%.3f", at[0]),
                  absl::StrFormat("%.3f", at[1]), absl::StrFormat("%.3f", at[2]),
                  absl::StrFormat("%.2f", at[5]), absl::StrFormat("%.1f", step.scores().score()),
                  absl::StrFormat("%.3f", step.scores().nvtl()),
                  absl::StrFormat("%.5f", step.newton_step_norm()),
                  absl::StrFormat("%.5f%s", step.step_length(), step.reversed() ? " back" : "")});
  }
  return table.Text();
}

Json TraceJson(const v1::AlignmentResult& result) {
  if (!result.has_trace()) return nullptr;
  return MessageJson(result.trace())["iterations"];
}

std::string DiagnosticsText(const v1::Diagnostics& diagnostics) {
  std::string text =
      absl::StrCat("checks    ", LevelName(diagnostics.level()), ": ", diagnostics.message(), "\n");
  TextTable table("key|>value");
  for (const v1::DiagnosticEntry& entry : diagnostics.entries()) {
    table.AddRow({entry.key(), DiagnosticValue(entry).dump()});
  }
  return absl::StrCat(text, diagnostics.entries_size() == 0 ? "" : table.Text());
}

Json DiagnosticsJson(const v1::AlignmentResult& result) {
  if (!result.has_diagnostics()) return nullptr;
  Json values = Json::object();
  for (const v1::DiagnosticEntry& entry : result.diagnostics().entries()) {
    values[entry.key()] = DiagnosticValue(entry);
  }
  return {{"level", LevelName(result.diagnostics().level())},
          {"message", result.diagnostics().message()},
          {"values", values}};
}

Json PointScoresJson(const v1::AlignmentResult& result) {
  if (!result.has_point_scores()) return nullptr;
  return MessageJson(result.point_scores())["best_score"];
}

Json PointsJson(const PointCloud& cloud) {
  Json points = Json::array();
  for (size_t i = 0; i < cloud.size(); ++i) {
    const Eigen::Vector3d point = cloud.Point(i);
    points.push_back({point.x(), point.y(), point.z()});
  }
  return points;
}

Json AlignedPointsJson(const v1::AlignmentResult& result) {
  PointCloud cloud_map;
  if (!result.has_aligned_cloud() ||
      !client::DecodePoints(result.aligned_cloud(), &cloud_map).ok()) {
    return nullptr;
  }
  return PointsJson(cloud_map);
}

Json NoGroundJson(const v1::AlignmentResult& result) {
  if (!result.has_no_ground()) return nullptr;
  return {{"scores", ScoresJson(result.no_ground().scores())},
          {"points", result.no_ground().points()}};
}

}  // namespace voxloc::cli
