// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/replay/replay_results.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "clients/cli/output/message_text.h"
#include "clients/cpp/messages.h"

namespace voxloc::cli {
namespace {

// The direction that the scan observes least, where it does not observe some axis well: x y z rx ry
// rz, a unit vector in which a radian counts as Degeneracy.rotation_scale_m; otherwise null.
Json LeastObservedJson(const v1::AlignmentResult& result) {
  if (AxesWith(v1::AXIS_VERDICT_UNOBSERVED, result).empty() &&
      AxesWith(v1::AXIS_VERDICT_WEAK, result).empty()) {
    return nullptr;
  }
  // Rows are eigenvectors, and eigenvalues of the information ascend.
  if (result.degeneracy().eigenvectors_size() != 36) return nullptr;
  const auto first = result.degeneracy().eigenvectors().begin();
  return std::vector<double>(first, first + 6);
}

Json DeadReckoningJson(const ReplayRow& row) {
  if (!row.dead_reckoned_map_T_base.has_value()) return nullptr;
  const Pose& map_T_base = *row.dead_reckoned_map_T_base;
  return {{"pose", PoseJson(map_T_base)},
          {"translation_error_m", TranslationDistance(map_T_base, row.truth_map_T_base)},
          {"error_m", AxesJson(ErrorInBase(row.truth_map_T_base, map_T_base))}};
}

Json RowJson(const ReplayRow& row) {
  const bool aligned = row.map_T_base.has_value();
  // What was found is shown of aligned scans only.
  const v1::AlignmentResult& found = aligned ? row.result : v1::AlignmentResult::default_instance();
  const auto& covariance = found.map_t_base().covariance();
  return {
      {"index", row.index},
      {"file", row.file},
      {"stamp_s", static_cast<double>(row.stamp_ns) * 1e-9},
      {"stamp_ns", row.stamp_ns},
      {"sent_s", row.sent_s},
      {"status", row.status},
      {"detail", row.result.detail()},
      {"answered", row.answered},
      {"accepted", row.accepted},
      {"pose", aligned ? PoseJson(*row.map_T_base) : Json(nullptr)},
      {"truth", PoseJson(row.truth_map_T_base)},
      {"guess", row.guess_map_T_base ? PoseJson(*row.guess_map_T_base) : Json(nullptr)},
      {"translation_error_m", aligned ? Json(row.error.translation_m) : Json(nullptr)},
      {"rotation_error_deg", aligned ? Json(row.error.rotation_deg) : Json(nullptr)},
      {"error_m", aligned ? AxesJson(row.error.base_m) : Json(nullptr)},
      {"sigma_m", AxesJson(row.error.sigma_base_m)},
      {"within_3_sigma", ConsistentAxesJson(row.error)},
      {"dead_reckoning", DeadReckoningJson(row)},
      {"fused", row.fused ? FusedJson(row.result.fused(), *row.fused) : Json(nullptr)},
      {"covariance", covariance.size() == 36 ? Json(covariance) : Json(nullptr)},
      {"sigma_shares", SigmaSharesJson(row.sigma_shares)},
      {"confidence", found.has_confidence() ? Json(found.confidence().value()) : Json(nullptr)},
      {"protection", ProtectionJson(found)},
      {"diagnostics", DiagnosticsJson(row.result)},
      {"trace", TraceJson(row.result)},
      {"recovery", row.result.has_recovery() ? MessageJson(row.result.recovery()) : Json(nullptr)},
      {"unobserved_axes", AxesWith(v1::AXIS_VERDICT_UNOBSERVED, found)},
      {"weak_axes", AxesWith(v1::AXIS_VERDICT_WEAK, found)},
      {"least_observed", LeastObservedJson(found)},
      {"scores", ScoresJson(found.scores())},
      {"iterations", found.iterations()},
      {"evaluations", found.evaluations()},
      {"termination", aligned ? client::TerminationName(found.termination_reason()) : ""},
      {"points_used", found.points().used()},
      {"map_revision", row.map_revision},
      {"tiles_missing", row.result.tiles_missing()},
      {"engine", row.result.engine()},
      {"latency_ms", row.latency_ms},
      {"engine_ms", row.engine_ms},
      {"queue_ms", row.queue_ms},
      {"server_ms", row.server_ms}};
}

// Summarizes a value of the rows for which `counts` holds.
template <typename Counts, typename Value>
Summary Over(const std::vector<ReplayRow>& rows, const Counts& counts, const Value& value) {
  std::vector<double> values;
  for (const ReplayRow& row : rows) {
    if (counts(row)) values.push_back(std::invoke(value, row));
  }
  return Summarize(std::move(values));
}

std::optional<DeadReckoningSummary> SummarizeDeadReckoning(const std::vector<ReplayRow>& rows) {
  std::optional<DeadReckoningSummary> summary;
  for (const ReplayRow& row : rows) {
    if (!row.dead_reckoned_map_T_base.has_value()) continue;
    if (!summary.has_value()) summary.emplace();
    summary->end_error_base_m = ErrorInBase(row.truth_map_T_base, *row.dead_reckoned_map_T_base);
    summary->end_error_m = summary->end_error_base_m.norm();
    summary->max_error_m = std::max(summary->max_error_m, summary->end_error_m);
  }
  return summary;
}

// Of how the answers, the filter and the odometry alone err.
void SummarizeRowErrors(const std::vector<ReplayRow>& rows, ReplaySummary* summary) {
  std::vector<PoseError> errors;
  for (const ReplayRow& row : rows) {
    if (row.map_T_base.has_value()) errors.push_back(row.error);
    if (row.accepted) summary->consistency.Add(row.error);
  }
  summary->error = SummarizeErrors(errors);
  summary->dead_reckoning = SummarizeDeadReckoning(rows);
  summary->fused = SummarizeFused(rows);
}

// Empty without odometry.
std::string OdometryText(const ReplaySummary& summary) {
  if (!summary.dead_reckoning.has_value()) return "";
  std::string text =
      absl::StrFormat("dead reckoning ends %.2f m off, at most %.2f m\n",
                      summary.dead_reckoning->end_error_m, summary.dead_reckoning->max_error_m);
  if (summary.consistency.of > 0) {
    absl::StrAppendFormat(&text, "within %g sigma: %s accepted poses\n", kConsistentSigmas,
                          ConsistencyText(summary.consistency));
  }
  return text;
}

Json DeadReckoningJson(const std::optional<DeadReckoningSummary>& summary) {
  if (!summary.has_value()) return nullptr;
  return {{"end_error_m", summary->end_error_m},
          {"max_error_m", summary->max_error_m},
          {"end_m", AxesJson(summary->end_error_base_m)}};
}

}  // namespace

void FillRow(const v1::AlignmentResult& result, double latency_ms, ReplayRow* row) {
  row->answered = result.status() != v1::ALIGNMENT_STATUS_SUPERSEDED;
  row->accepted = result.accepted();
  row->status = client::StatusName(result.status());
  row->result = result;
  row->latency_ms = latency_ms;
  row->engine_ms = 1e3 * result.timings().align_s();
  row->queue_ms = 1e3 * result.timings().queue_wait_s();
  row->server_ms = 1e3 * result.timings().server_s();
  row->map_revision = result.map_revision();
  if (!row->guess_map_T_base.has_value() && result.has_guess_map_t_base()) {
    const absl::StatusOr<Pose> guess = client::DecodePose(result.guess_map_t_base());
    if (guess.ok()) row->guess_map_T_base = *guess;
  }
  if (result.has_fused()) row->fused = FusedRowOf(result.fused(), row->truth_map_T_base);
  if (!result.has_map_t_base()) return;
  const absl::StatusOr<Pose> pose = client::DecodePose(result.map_t_base().pose());
  if (!pose.ok()) return;
  row->map_T_base = *pose;
  row->error = PoseErrorOf(row->truth_map_T_base, *pose, result.map_t_base());
  row->position_sigma_m = LargestSigma_m(result.map_t_base());
  row->sigma_shares = SharesOf(result);
}

bool MapWasMissing(const ReplaySummary& summary) {
  const auto missing = summary.statuses.find("NO_MAP");
  return missing != summary.statuses.end() && 2 * missing->second > summary.answered;
}

ReplaySummary SummarizeReplay(const std::vector<ReplayRow>& rows) {
  ReplaySummary summary;
  summary.scans = rows.size();
  for (const ReplayRow& row : rows) {
    ++summary.statuses[row.status];
    if (row.status == "SUPERSEDED") ++summary.superseded;
    if (row.answered) ++summary.answered;
    if (row.accepted) ++summary.accepted;
    if (row.accepted &&
        (row.error.translation_m > kWrongFromM || row.error.rotation_deg > kWrongFromDeg)) {
      ++summary.accepted_wrong;
    }
    if (row.map_revision == 0) continue;
    if (summary.lowest_revision == 0) summary.lowest_revision = row.map_revision;
    summary.lowest_revision = std::min(summary.lowest_revision, row.map_revision);
    summary.highest_revision = std::max(summary.highest_revision, row.map_revision);
  }
  const auto has_pose = [](const ReplayRow& row) { return row.map_T_base.has_value(); };
  summary.iterations =
      Over(rows, has_pose, [](const ReplayRow& row) { return row.result.iterations(); });
  summary.nvtl =
      Over(rows, has_pose, [](const ReplayRow& row) { return row.result.scores().nvtl(); });
  summary.points_used =
      Over(rows, has_pose, [](const ReplayRow& row) { return row.result.points().used(); });
  summary.position_sigma_m = Over(
      rows, [](const ReplayRow& row) { return row.position_sigma_m.has_value(); },
      [](const ReplayRow& row) { return *row.position_sigma_m; });
  for (size_t i = 0; i < kSigmaShares; ++i) {
    summary.sigma_shares_m[i] = Over(
        rows, [](const ReplayRow& row) { return row.sigma_shares != SigmaShares{}; },
        [i](const ReplayRow& row) {
          return row.sigma_shares[i][LeastCertainAxis(row.sigma_shares)];
        });
  }
  summary.confidence = Over(
      rows, [](const ReplayRow& row) { return row.map_T_base && row.result.has_confidence(); },
      [](const ReplayRow& row) { return row.result.confidence().value(); });
  SummarizeRowErrors(rows, &summary);
  const auto answered = [](const ReplayRow& row) { return row.answered; };
  summary.latency_ms = Over(rows, answered, &ReplayRow::latency_ms);
  summary.engine_ms = Over(rows, answered, &ReplayRow::engine_ms);
  summary.server_ms = Over(rows, answered, &ReplayRow::server_ms);
  summary.queue_ms = Over(rows, answered, &ReplayRow::queue_ms);
  summary.overhead_ms =
      Over(rows, answered, [](const ReplayRow& row) { return row.latency_ms - row.engine_ms; });
  return summary;
}

std::string StatusesText(const std::map<std::string, size_t>& statuses) {
  return absl::StrJoin(
      statuses, ", ", [](std::string* out, const std::pair<const std::string, size_t>& status) {
        absl::StrAppend(out, status.first.empty() ? "none" : status.first, " ", status.second);
      });
}

std::string EndedEarlyText(const absl::Status& end, size_t done, size_t planned,
                           const std::string& server) {
  const bool named = server.empty() || absl::StrContains(end.message(), server);
  return absl::StrCat("ended after ", done, " of ", planned, " scans: ", named ? "" : server,
                      named ? "" : ": ", end.message());
}

std::string SummaryText(const ReplaySetting& setting, const ReplaySummary& summary) {
  SummaryTable table;
  const auto add_errors = [&table, &summary](const char* of, const PoseErrorSummary& error) {
    table.AddRow(absl::StrCat(of, "position error, cm"), error.translation_m, 2, 100.0);
    for (size_t axis = 0; axis < kBaseAxisNames.size() && summary.dead_reckoning; ++axis) {
      table.AddRow(absl::StrCat("  ", kBaseAxisNames[axis], ", cm"), error.base_m[axis], 2, 100.0);
    }
    table.AddRow(absl::StrCat(of, "rotation error, deg"), error.rotation_deg, 3);
  };
  add_errors("", summary.error);
  if (summary.fused.has_value()) add_errors("fused ", summary.fused->error);
  table.AddRow("position sigma, cm", summary.position_sigma_m, 2, 100.0);
  for (size_t i = 0; i < kSigmaShares && summary.sigma_shares_m[i].count > 0; ++i) {
    table.AddRow(absl::StrCat("  ", kSigmaShareNames[i], ", cm"), summary.sigma_shares_m[i], 2,
                 100.0);
  }
  table.AddRow("confidence", summary.confidence, 2);
  table.AddRow("round trip, ms", summary.latency_ms, 2);
  table.AddRow("  engine, ms", summary.engine_ms, 2);
  table.AddRow("  network and service, ms", summary.overhead_ms, 2);
  table.AddRow("iterations", summary.iterations, 1);
  table.AddRow("NVTL", summary.nvtl, 2);
  table.AddRow("points used", summary.points_used, 0);
  const double percent = 100.0 * static_cast<double>(summary.accepted) /
                         static_cast<double>(std::max<size_t>(summary.answered, 1));
  std::string text = absl::StrFormat(
      "map %s, profile %s, engine %s: %d scans, %d answered, %d accepted (%.1f %%), %.1f s\n",
      setting.map, setting.profile, setting.engine, summary.scans, summary.answered,
      summary.accepted, percent, setting.elapsed_s);
  if (summary.accepted_wrong > 0) {
    absl::StrAppendFormat(
        &text, "accepted but wrong: %d poses more than %g m or %g degrees from the truth\n",
        summary.accepted_wrong, kWrongFromM, kWrongFromDeg);
  }
  const size_t ok = summary.statuses.count("OK") > 0 ? summary.statuses.at("OK") : 0;
  if (ok != summary.scans) {
    absl::StrAppend(&text, "status: ", StatusesText(summary.statuses), "\n");
  }
  absl::StrAppend(&text, OdometryText(summary));
  if (summary.fused.has_value()) absl::StrAppend(&text, FusedText(*summary.fused));
  if (!setting.ended_early.empty()) {
    absl::StrAppend(&text, "incomplete: ", setting.ended_early, "\n");
  }
  return absl::StrCat(text, "\n", table.Text());
}

Json ReplayJson(const ReplaySetting& setting, const ReplaySummary& summary,
                const std::vector<ReplayRow>& rows) {
  Json shares = Json::object();
  for (size_t i = 0; i < kSigmaShares; ++i) {
    shares[kSigmaShareKeys[i]] = SummaryJson(summary.sigma_shares_m[i]);
  }
  Json revisions;  // null: no answer names one
  if (summary.highest_revision > 0) {
    revisions = {{"min", summary.lowest_revision}, {"max", summary.highest_revision}};
  }
  return {{"started_at", setting.started_at},
          {"command_line", setting.command_line},
          {"client_version", setting.client_version},
          {"map", setting.map},
          {"map_revisions", std::move(revisions)},
          {"profile", setting.profile},
          {"engine", setting.engine},
          {"server", setting.server},
          {"server_version", setting.server_version},
          {"scans_path", setting.scans},
          {"scan_order", setting.scan_order},
          {"guess", setting.guess},
          {"odometry", setting.odometry.empty() ? Json(nullptr) : Json(setting.odometry)},
          {"fusion", setting.fusion ? MessageJson(*setting.fusion) : Json(nullptr)},
          {"perturb", setting.perturb},
          {"filter",
           {{"min_range_m", setting.filter.min_range_m},
            {"max_range_m", setting.filter.max_range_m},
            {"leaf_m", setting.filter.leaf_m},
            {"points", setting.filter.points},
            {"seed", setting.filter.seed},
            {"record_floats", setting.filter.record_floats},
            {"by_server", setting.filtered_by_server}}},
          {"rate_hz", setting.rate_hz},
          {"elapsed_s", setting.elapsed_s},
          {"planned_scans", setting.planned_scans},
          {"ended_early", setting.ended_early.empty() ? Json(nullptr) : Json(setting.ended_early)},
          {"scans", summary.scans},
          {"answered", summary.answered},
          {"accepted", summary.accepted},
          {"accepted_wrong", summary.accepted_wrong},
          {"superseded", summary.superseded},
          {"statuses", summary.statuses},
          {"translation_error_m", SummaryJson(summary.error.translation_m)},
          {"rotation_error_deg", SummaryJson(summary.error.rotation_deg)},
          {"error_m", AxisSummariesJson(summary.error.base_m)},
          {"sigma_m", AxisSummariesJson(summary.error.sigma_base_m)},
          {"within_3_sigma", ConsistencyJson(summary.consistency)},
          {"dead_reckoning", DeadReckoningJson(summary.dead_reckoning)},
          {"fused", summary.fused ? FusedSummaryJson(*summary.fused) : Json(nullptr)},
          {"latency_ms", SummaryJson(summary.latency_ms)},
          {"engine_ms", SummaryJson(summary.engine_ms)},
          {"overhead_ms", SummaryJson(summary.overhead_ms)},
          {"server_ms", SummaryJson(summary.server_ms)},
          {"queue_ms", SummaryJson(summary.queue_ms)},
          {"iterations", SummaryJson(summary.iterations)},
          {"nvtl", SummaryJson(summary.nvtl)},
          {"points_used", SummaryJson(summary.points_used)},
          {"position_sigma_m", SummaryJson(summary.position_sigma_m)},
          {"position_sigma_shares_m", std::move(shares)},
          {"confidence", SummaryJson(summary.confidence)},
          {"results", ListJson(rows, &RowJson)}};
}

void LiveReport::Add(const ReplayRow& row) {
  ++replies_;
  if (row.accepted) ++accepted_;
  ++recent_.replies;
  recent_.latency_ms += row.latency_ms;
  if (row.map_T_base.has_value()) {
    ++recent_.poses;
    recent_.translation_error_m += row.error.translation_m;
    recent_.rotation_error_deg += row.error.rotation_deg;
  }
  if (!line_.due()) return;
  std::string text = absl::StrFormat("scan %d of %d   accepted %d   ", replies_, scans_, accepted_);
  if (recent_.poses > 0) {
    const auto poses = static_cast<double>(recent_.poses);
    absl::StrAppendFormat(&text, "error %.1f cm %.3f deg   ",
                          100.0 * recent_.translation_error_m / poses,
                          recent_.rotation_error_deg / poses);
  }
  absl::StrAppendFormat(&text, "round trip %.2f ms",
                        recent_.latency_ms / static_cast<double>(recent_.replies));
  line_.Show(text);
  recent_ = {};
}

}  // namespace voxloc::cli
