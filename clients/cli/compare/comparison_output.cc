// SPDX-License-Identifier: Apache-2.0
//
// ComparisonText and ComparisonJson.

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/compare/comparison.h"

namespace voxloc::cli {
namespace {

constexpr std::array<const char*, 4> kDiagnosticLevels = {"OK", "WARN", "ERROR", "STALE"};

Json NumberJson(const std::optional<double>& number) {
  return number.has_value() ? Json(*number) : Json(nullptr);
}

void AddValuesJson(const RecordedNumbers& values, Json* json) {
  for (size_t k = 0; k < kRecordedValues.size(); ++k) {
    (*json)[kRecordedValues[k].key] = NumberJson(values[k]);
  }
}

Json RecordedJson(const std::optional<RecordedScan>& scan) {
  if (!scan.has_value()) return nullptr;
  Json json = {{"accepted", scan->map_T_base.has_value()},
               {"pose", scan->map_T_base ? PoseJson(*scan->map_T_base) : Json(nullptr)}};
  AddValuesJson(scan->values, &json);
  json["diagnostics"] = nullptr;
  if (scan->diagnostics_level.has_value()) {
    const auto level = static_cast<size_t>(*scan->diagnostics_level);
    json["diagnostics"] = {
        {"level", level < kDiagnosticLevels.size() ? kDiagnosticLevels[level] : "UNKNOWN"},
        {"message", scan->diagnostics_message}};
  }
  return json;
}

Json VoxlocJson(const ScanComparison& scan) {
  const ReplayRow& row = *scan.row;
  Json json = {{"accepted", row.accepted},
               {"status", row.status},
               {"detail", row.result.detail()},
               {"pose", row.map_T_base ? PoseJson(*row.map_T_base) : Json(nullptr)}};
  AddValuesJson(scan.values, &json);
  json["engine_ms"] = row.engine_ms;
  return json;
}

// {KEY: VALUE} for each field of a difference; `of` gives the value of a field.
template <typename Of>
Json DifferenceJson(const Of& of) {
  Json json = Json::object();
  for (size_t i = 0; i < kDifferenceFields.size(); ++i) json[kDifferenceFields[i].key] = of(i);
  return json;
}

Json ScanJson(const ScanComparison& scan) {
  const ReplayRow& row = *scan.row;
  return {{"index", row.index},
          {"file", row.file},
          {"stamp_s", static_cast<double>(row.stamp_ns) * 1e-9},
          {"stamp_ns", row.stamp_ns},
          {"verdicts", kVerdictPairNames[static_cast<size_t>(scan.verdicts)]},
          {"guess", row.guess_map_T_base ? PoseJson(*row.guess_map_T_base) : Json(nullptr)},
          {"recorded", RecordedJson(scan.recorded)},
          {"voxloc", VoxlocJson(scan)},
          {"difference", scan.difference
                             ? DifferenceJson([&](size_t i) { return (*scan.difference)[i]; })
                             : Json(nullptr)}};
}

// The line of a check: what was measured, by how people read it, and its limit.
std::string CheckText(const CompareCheck& check, double percentile) {
  const std::string name = check.name;
  if (std::isnan(check.value)) return absl::StrCat("FAIL  ", name, ": nothing to compare\n");
  const char* const verdict = check.passed ? "PASS" : "FAIL";
  if (name == "verdict_agreement" || name == "compared_share") {
    return absl::StrFormat("%s  %s %.2f %% of the scans, at least %g %%\n", verdict,
                           name == "compared_share" ? "compared" : "same verdict in",
                           100.0 * check.value, 100.0 * check.limit);
  }
  if (name == "position_m") {
    return absl::StrFormat("%s  p%g of the position difference %.2f mm, at most %g mm\n", verdict,
                           percentile, 1e3 * check.value, 1e3 * check.limit);
  }
  return absl::StrFormat("%s  p%g of the rotation difference %.4f deg, at most %g deg\n", verdict,
                         percentile, check.value, check.limit);
}

}  // namespace

std::string ComparisonText(const ReplaySetting& setting, const RecordedRun& recorded,
                           const Comparison& comparison) {
  const auto count = [&](VerdictPair pair) { return comparison.Count(pair); };
  std::string text = absl::StrFormat(
      "map %s, profile %s, engine %s: %d scans beside the poses of %s, %.1f s\n", setting.map,
      setting.profile, setting.engine, comparison.scans.size(), recorded.poses, setting.elapsed_s);
  absl::StrAppendFormat(
      &text,
      "accepted: %d by both, %d by voxloc alone, %d by the recorded localizer alone, %d by "
      "neither\n",
      count(VerdictPair::kBothAccepted), count(VerdictPair::kOnlyVoxloc),
      count(VerdictPair::kOnlyRecorded), count(VerdictPair::kNeither));
  if (count(VerdictPair::kBothAccepted) != comparison.scans.size()) {
    absl::StrAppend(&text, "voxloc's status: ", StatusesText(comparison.statuses), "\n");
  }
  const size_t only_voxloc = count(VerdictPair::kNotRecorded);
  if (only_voxloc + comparison.only_recorded_scans > 0) {
    absl::StrAppendFormat(&text, "scans of one side alone: %d of voxloc, %d recorded\n",
                          only_voxloc, comparison.only_recorded_scans);
  }
  if (!setting.ended_early.empty()) {
    absl::StrAppend(&text, "incomplete: ", setting.ended_early, "\n");
  }
  SummaryTable table;
  for (size_t i = 0; i < kDifferenceFields.size(); ++i) {
    const DifferenceField& field = kDifferenceFields[i];
    table.AddRow(field.title, comparison.difference[i], field.digits, field.factor);
  }
  for (size_t k = 0; k < kRecordedValues.size(); ++k) {
    const ValueComparison& value = comparison.values[k];
    if (value.voxloc.count == 0) continue;
    const int digits = kRecordedValues[k].digits;
    table.AddRow(kRecordedValues[k].title, value.voxloc, digits);
    table.AddRow("  recorded", value.recorded, digits);
    table.AddRow("  difference", value.difference, digits);
  }
  absl::StrAppend(&text, "\n", table.Text(), "\n");
  for (const CompareCheck& check : comparison.checks) {
    absl::StrAppend(&text, CheckText(check, comparison.percentile));
  }
  return absl::StrCat(text, comparison.Passed(setting) ? "PASS" : "FAIL", "\n");
}

Json ComparisonJson(const ReplaySetting& setting, const RecordedRun& recorded,
                    const Comparison& comparison) {
  Json verdicts = Json::object();
  for (size_t i = 0; i < kVerdictPairNames.size(); ++i) {
    verdicts[kVerdictPairNames[i]] = comparison.verdicts[i];
  }
  Json values = Json::object();
  for (size_t k = 0; k < kRecordedValues.size(); ++k) {
    values[kRecordedValues[k].key] = {{"scans", comparison.values[k].voxloc.count},
                                      {"voxloc", SummaryJson(comparison.values[k].voxloc)},
                                      {"recorded", SummaryJson(comparison.values[k].recorded)},
                                      {"difference", SummaryJson(comparison.values[k].difference)}};
  }
  return {{"passed", comparison.Passed(setting)},
          {"checks", ListJson(comparison.checks,
                              [](const CompareCheck& check) -> Json {
                                return {{"name", check.name},
                                        {"value", check.value},
                                        {"limit", check.limit},
                                        {"passed", check.passed}};
                              })},
          {"percentile", comparison.percentile},
          {"started_at", setting.started_at},
          {"command_line", setting.command_line},
          {"client_version", setting.client_version},
          {"map", setting.map},
          {"profile", setting.profile},
          {"engine", setting.engine},
          {"server", setting.server},
          {"server_version", setting.server_version},
          {"scans_path", setting.scans},
          {"guesses", setting.guess},
          {"poses", recorded.poses},
          {"elapsed_s", setting.elapsed_s},
          {"planned_scans", setting.planned_scans},
          {"ended_early", setting.ended_early.empty() ? Json(nullptr) : Json(setting.ended_early)},
          {"scans", comparison.scans.size()},
          {"compared_poses", comparison.difference[kTranslation].count},
          {"verdicts", std::move(verdicts)},
          {"statuses", comparison.statuses},
          {"verdict_agreement", comparison.verdict_agreement},
          {"compared_share", comparison.compared_share},
          {"only_recorded_scans", comparison.only_recorded_scans},
          {"difference",
           DifferenceJson([&](size_t i) { return SummaryJson(comparison.difference[i]); })},
          {"values", std::move(values)},
          {"results", ListJson(comparison.scans, &ScanJson)}};
}

}  // namespace voxloc::cli
