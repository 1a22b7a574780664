// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/output/result_text.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "clients/cli/output/message_text.h"
#include "clients/cpp/messages.h"
#include "core/geometry/euler.h"

namespace voxloc::cli {
namespace {

// One standard deviation along or about an axis; for poses with a covariance.
double SigmaOf(const v1::PoseWithCovariance& pose, int axis) {
  return std::sqrt(pose.covariance(7 * axis));
}

// One standard deviation of all shares together along an axis.
double SigmaAlong(const SigmaShares& shares, size_t axis) {
  double variance = 0.0;
  for (const auto& share : shares) variance += share[axis] * share[axis];
  return std::sqrt(variance);
}

constexpr std::array<const char*, 6> kAxes = {"x", "y", "z", "rx", "ry", "rz"};

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

std::string Verdict(const v1::SearchResult& result) {
  if (result.hypotheses_size() == 0) {
    return "nothing: no candidate meets the map (voxloc map info shows its bounds)";
  }
  return absl::StrCat(
      result.ambiguous()  ? "ambiguous: another pose explains the scan nearly as well"
      : result.reliable() ? "reliable"
                          : "not reliable: the best score is not over the threshold",
      result.timed_out() ? "; the best so far, for the time was up" : "");
}

// Standard deviations of x, y, z and yaw, metres and degrees; empty: not estimated.
std::string SigmaText(const v1::PoseHypothesis& hypothesis) {
  if (hypothesis.map_t_base().covariance_size() != 36) return "";
  const auto sigma = [&hypothesis](int axis) { return SigmaOf(hypothesis.map_t_base(), axis); };
  return absl::StrFormat("%.3f %.3f %.3f m %.3f deg", sigma(0), sigma(1), sigma(2),
                         kDegreesPerRadian * sigma(5));
}

}  // namespace

std::array<double, 6> RosNumbers(const Pose& pose) {
  const Eigen::Vector3d angles = RosAnglesFromRotation(pose.rotation) * kDegreesPerRadian;
  return {pose.translation.x(), pose.translation.y(), pose.translation.z(),
          angles.x(),           angles.y(),           angles.z()};
}

std::string PoseText(const Pose& pose) {
  const std::array<double, 6> n = RosNumbers(pose);
  return absl::StrFormat("x %.3f  y %.3f  z %.3f m   roll %.3f  pitch %.3f  yaw %.3f deg", n[0],
                         n[1], n[2], n[3], n[4], n[5]);
}

SigmaShares SharesOf(const v1::AlignmentResult& result) {
  const v1::SigmaShares& proto = result.covariance_report().sigma_shares();
  SigmaShares shares{};
  size_t next = 0;
  for (const auto* sigmas :
       {&proto.scan(), &proto.map_and_mounting(), &proto.time(), &proto.sweep()}) {
    if (sigmas->size() == 6) std::copy(sigmas->begin(), sigmas->end(), shares[next].begin());
    ++next;
  }
  return shares;
}

size_t LeastCertainAxis(const SigmaShares& shares) {
  size_t least = 0;
  for (size_t axis = 1; axis < 3; ++axis) {
    if (SigmaAlong(shares, axis) > SigmaAlong(shares, least)) least = axis;
  }
  return least;
}

Json SigmaSharesJson(const SigmaShares& shares) {
  if (shares == SigmaShares{}) return nullptr;
  Json json = Json::object();
  for (size_t i = 0; i < kSigmaShares; ++i) json[kSigmaShareKeys[i]] = shares[i];
  return json;
}

std::string SigmaSharesText(const SigmaShares& shares) {
  if (shares == SigmaShares{}) return "";
  const size_t axis = LeastCertainAxis(shares);
  std::vector<std::string> parts;
  for (size_t i = 0; i < kSigmaShares; ++i) {
    parts.push_back(absl::StrFormat("%s %.3f", kSigmaShareNames[i], shares[i][axis]));
  }
  return absl::StrFormat("along the base's %c %.3f m: %s", "xyz"[axis], SigmaAlong(shares, axis),
                         absl::StrJoin(parts, ", "));
}

std::vector<std::string> AxesWith(v1::AxisVerdict verdict, const v1::AlignmentResult& result) {
  std::vector<std::string> axes;
  for (int i = 0; i < result.degeneracy().axes_size() && i < 6; ++i) {
    if (result.degeneracy().axes(i) == verdict) axes.emplace_back(kAxes[static_cast<size_t>(i)]);
  }
  return axes;
}

Json ProtectionJson(const v1::AlignmentResult& result) {
  if (!result.has_protection()) return nullptr;
  const v1::ProtectionLevels& levels = result.protection();
  const auto bound = [](double level_m) {
    return std::isfinite(level_m) ? Json(level_m) : Json(nullptr);
  };
  return {{"horizontal_m", bound(levels.horizontal_m())},
          {"vertical_m", bound(levels.vertical_m())},
          {"risk", levels.risk()},
          {"fault_detected", levels.fault_detected()},
          {"excluded_points", levels.excluded_points()},
          {"pose", levels.has_map_t_base() ? MessageJson(levels.map_t_base()) : Json(nullptr)}};
}

std::string SigmaText(const v1::AlignmentResult& result) {
  if (result.map_t_base().covariance_size() != 36) return "";
  const auto sigma = [&result](int axis) { return SigmaOf(result.map_t_base(), axis); };
  return absl::StrFormat("x %.3f  y %.3f  z %.3f m   rx %.3f  ry %.3f  rz %.3f deg", sigma(0),
                         sigma(1), sigma(2), kDegreesPerRadian * sigma(3),
                         kDegreesPerRadian * sigma(4), kDegreesPerRadian * sigma(5));
}

std::string ConfidenceText(const v1::AlignmentResult& result) {
  std::vector<std::string> parts;
  if (result.has_confidence()) {
    parts.push_back(absl::StrFormat("confidence %.2f", result.confidence().value()));
  }
  if (result.has_degeneracy()) {
    const std::vector<std::string> axes = AxesWith(v1::AXIS_VERDICT_UNOBSERVED, result);
    parts.push_back(axes.empty() ? "all axes observed"
                                 : absl::StrCat("not observed: ", absl::StrJoin(axes, ", ")));
  }
  if (result.has_protection()) {
    const v1::ProtectionLevels& levels = result.protection();
    parts.push_back(absl::StrFormat("within %.2f m horizontally, %.2f m vertically (risk %g)",
                                    levels.horizontal_m(), levels.vertical_m(), levels.risk()));
    if (levels.excluded_points() > 0) {
      parts.push_back(absl::StrCat("without ", levels.excluded_points(), " points"));
    }
  }
  return absl::StrJoin(parts, "   ");
}

Json ScoresJson(const v1::Scores& scores) {
  return {{"score", scores.score()},
          {"transform_probability", scores.transform_probability()},
          {"nvtl", scores.nvtl()},
          {"matched_ratio", scores.matched_ratio()}};
}

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
  TextTable table("key|>value");
  for (const v1::DiagnosticEntry& entry : diagnostics.entries()) {
    table.AddRow({entry.key(), DiagnosticValue(entry).dump()});
  }
  return absl::StrCat("checks    ", LevelName(diagnostics.level()), ": ", diagnostics.message(),
                      "\n", diagnostics.entries_size() == 0 ? "" : table.Text());
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
  for (size_t i = 0; i < cloud.size(); ++i) points.push_back(VectorJson(cloud.Point(i)));
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

bool Located(const v1::SearchResult& result) {
  return result.hypotheses_size() > 0 && result.reliable() && !result.ambiguous();
}

std::string SearchProgressText(const v1::SearchProgress& progress) {
  std::string text = absl::StrFormat("%-9s %3.0f %%", EnumWordOr(progress.phase(), "preparing"),
                                     100.0 * progress.fraction());
  if (progress.candidates_scored() > 0) {
    absl::StrAppend(&text, "   scored ", GroupDigits(progress.candidates_scored()));
  }
  absl::StrAppend(&text, "   aligned ", GroupDigits(progress.candidates_aligned()));
  if (progress.has_best()) {
    const v1::Vector3& at = progress.best().map_t_base().pose().position();
    absl::StrAppendFormat(&text, "   best NVTL %.2f at %.1f, %.1f", progress.best().scores().nvtl(),
                          at.x(), at.y());
  }
  return text;
}

std::string SearchResultText(const v1::SearchResult& result, double elapsed_s) {
  std::string text = absl::StrCat("found     ", Verdict(result), "\n");
  if (result.prior_height_shift_m() != 0.0) {
    absl::StrAppendFormat(&text,
                          "prior     its height misses the map's surface and was moved by "
                          "%+.1f m\n",
                          result.prior_height_shift_m());
  }
  TextTable table(
      ">|>x|>y|>z|>roll|>pitch|>yaw|>NVTL|>confidence|>support|status|sigma x y z, yaw");
  for (int i = 0; i < result.hypotheses_size(); ++i) {
    const v1::PoseHypothesis& hypothesis = result.hypotheses(i);
    const absl::StatusOr<Pose> pose = client::DecodePose(hypothesis.map_t_base().pose());
    std::vector<std::string> row = {absl::StrCat(i + 1)};
    const std::array<double, 6> numbers = RosNumbers(pose.value_or(Pose()));
    for (size_t axis = 0; axis < 6; ++axis) {
      row.push_back(pose.ok() ? absl::StrFormat("%.*f", axis < 3 ? 3 : 2, numbers[axis]) : "-");
    }
    row.push_back(absl::StrFormat("%.3f", hypothesis.scores().nvtl()));
    row.push_back(hypothesis.has_confidence()
                      ? absl::StrFormat("%.2f", hypothesis.confidence().value())
                      : "-");
    row.push_back(GroupDigits(hypothesis.support()));
    row.push_back(client::StatusName(hypothesis.status()));
    row.push_back(SigmaText(hypothesis));
    table.AddRow(std::move(row));
  }
  if (result.hypotheses_size() > 0) absl::StrAppend(&text, "\n", table.Text(), "\n");
  if (result.hypotheses_size() > 1) {
    absl::StrAppendFormat(&text, "gap       %.3f of the best NVTL to the second\n",
                          result.ambiguity_gap());
  }
  absl::StrAppend(&text, "work      ", GroupDigits(result.candidates_scored()), " scored, ",
                  GroupDigits(result.candidates_aligned()), " aligned   ",
                  GroupDigits(result.points().used()), " of ",
                  GroupDigits(result.points().received()), " points\n");
  absl::StrAppendFormat(&text, "time      %.2f s, %.2f s search (%s)\n", elapsed_s,
                        result.timings().align_s(), result.engine());
  absl::StrAppend(&text, "map       ", result.map(), ", revision ", result.map_revision(), "\n");
  return text;
}

Json SearchResultJson(const v1::SearchResult& result, double elapsed_s) {
  Json hypotheses = Json::array();
  for (const v1::PoseHypothesis& hypothesis : result.hypotheses()) {
    const absl::StatusOr<Pose> pose = client::DecodePose(hypothesis.map_t_base().pose());
    Json row = {{"pose", pose.ok() ? PoseJson(*pose) : Json(nullptr)},
                {"pose_rpy_deg", pose.ok() ? Json(RosNumbers(*pose)) : Json(nullptr)},
                {"covariance", hypothesis.map_t_base().covariance()},
                {"scores", ScoresJson(hypothesis.scores())},
                {"status", client::StatusName(hypothesis.status())},
                {"confidence", nullptr},
                {"support", hypothesis.support()}};
    if (hypothesis.has_confidence()) row["confidence"] = hypothesis.confidence().value();
    hypotheses.push_back(row);
  }
  return {{"located", Located(result)},
          {"reliable", result.reliable()},
          {"ambiguous", result.ambiguous()},
          {"ambiguity_gap", result.ambiguity_gap()},
          {"timed_out", result.timed_out()},
          {"prior_height_shift_m", result.prior_height_shift_m()},
          {"hypotheses", hypotheses},
          {"candidates_scored", result.candidates_scored()},
          {"candidates_aligned", result.candidates_aligned()},
          {"points_received", result.points().received()},
          {"points_used", result.points().used()},
          {"map", result.map()},
          {"map_revision", result.map_revision()},
          {"engine", result.engine()},
          {"elapsed_s", elapsed_s},
          {"search_s", result.timings().align_s()},
          {"server_s", result.timings().server_s()}};
}

}  // namespace voxloc::cli
