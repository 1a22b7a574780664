// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/report/report.h"

#include <cstdint>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace voxloc::cli {
namespace {

constexpr absl::string_view kDataMark = "{{data}}";

constexpr size_t kAxes = 6;

Json PositionCovariance(const Json& row) {
  const auto found = row.find("covariance");
  if (found == row.end() || !found->is_array() || found->size() != kAxes * kAxes) return nullptr;
  Json values = Json::array();
  for (size_t i = 0; i < 3; ++i) {
    for (size_t j = i; j < 3; ++j) values.push_back((*found)[kAxes * i + j]);
  }
  return values;
}

Json PictureJson(const MapPicture& picture) {
  const MapPicture::Encoded encoded = picture.Encode();
  return {{"cell_m", encoded.cell_m},
          {"low", {encoded.low.x(), encoded.low.y()}},
          {"cells", encoded.cells},
          {"base64", encoded.base64}};
}

// The page with its data. No text in the data can end the script element that holds it.
std::string PageWithData(absl::string_view page, const Json& data) {
  const std::string json =
      data.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  const size_t mark = page.find(kDataMark);
  // No "<" is left in the data.
  return absl::StrCat(page.substr(0, mark), absl::StrReplaceAll(json, {{"<", "\\u003c"}}),
                      page.substr(mark + kDataMark.size()));
}

// Every how many rows one is kept, so that at most kMaxReportRows are left. 1: all.
size_t RowStep(size_t rows) { return rows == 0 ? 1 : (rows + kMaxReportRows - 1) / kMaxReportRows; }

// Which rows are shown: every step-th, and those whose points are.
std::vector<size_t> ShownRows(size_t rows, size_t step, const ScanViews& views) {
  std::set<size_t> shown;
  for (size_t i = 0; i < rows; i += step) shown.insert(i);
  for (const ScanView& view : views.scans) {
    if (view.index < rows) shown.insert(view.index);
  }
  return {shown.begin(), shown.end()};
}

// The replay with rows as the page wants them.
Json ReplayForPage(const Json& replay, const std::vector<size_t>& rows_shown) {
  Json shown = Json::object();
  for (const auto& entry : replay.items()) {
    if (entry.key() != "results") shown[entry.key()] = entry.value();
  }
  Json rows = Json::array();
  for (const size_t i : rows_shown) rows.push_back(ReportRow(replay["results"][i]));
  shown["results"] = std::move(rows);
  return shown;
}

// About 400,000 rows; more than a report shows.
constexpr uintmax_t kMaxRunBytes = uintmax_t{1} << 30;

bool IsNumberOrNull(const Json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && (found->is_number() || found->is_null());
}

bool IsPose(const Json& row, const char* key, bool may_be_null) {
  const auto found = row.find(key);
  if (found == row.end()) return false;
  if (found->is_null()) return may_be_null;
  if (!found->is_array() || found->size() != 7) return false;
  for (const Json& number : *found) {
    if (!number.is_number()) return false;
  }
  return true;
}

bool IsRow(const Json& row) {
  if (!row.is_object()) return false;
  const auto has = [&row](const char* key, bool (Json::*is)() const noexcept) {
    const auto found = row.find(key);
    return found != row.end() && ((*found).*is)();
  };
  const auto scores = row.find("scores");
  return has("stamp_ns", &Json::is_number_integer) && has("file", &Json::is_string) &&
         has("status", &Json::is_string) && has("accepted", &Json::is_boolean) &&
         has("answered", &Json::is_boolean) && IsPose(row, "pose", true) &&
         IsPose(row, "truth", false) && IsNumberOrNull(row, "translation_error_m") &&
         IsNumberOrNull(row, "rotation_error_deg") && IsNumberOrNull(row, "latency_ms") &&
         scores != row.end() && scores->is_object() && IsNumberOrNull(*scores, "nvtl");
}

std::string TextOf(const Json& run, const char* key) {
  const auto found = run.find(key);
  return found != run.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

Json ReportRow(const Json& row) {
  Json kept = Json::object();
  for (const char* key : {"index",
                          "file",
                          "stamp_s",
                          "status",
                          "answered",
                          "accepted",
                          "pose",
                          "truth",
                          "guess",
                          "translation_error_m",
                          "rotation_error_deg",
                          "sigma_shares",
                          "confidence",
                          "protection",
                          "unobserved_axes",
                          "weak_axes",
                          "least_observed",
                          "iterations",
                          "points_used",
                          "map_revision",
                          "latency_ms",
                          "engine_ms"}) {
    const auto found = row.find(key);
    kept[key] = found == row.end() ? Json(nullptr) : *found;
  }
  const auto scores = row.find("scores");
  kept["scores"] = {{"nvtl", nullptr}};
  if (scores != row.end() && scores->contains("nvtl")) kept["scores"]["nvtl"] = (*scores)["nvtl"];
  kept["position_covariance"] = PositionCovariance(row);
  return kept;
}

std::string ReportHtml(const Json& replay, const ReportContent& content) {
  const size_t step = RowStep(replay["results"].size());
  const std::vector<size_t> shown = ShownRows(replay["results"].size(), step, content.views);
  Json compared = content.compared;
  if (!compared.is_null()) {
    Json rows = Json::array();
    for (const size_t i : shown) rows.push_back(compared["results"][i]);
    compared["results"] = std::move(rows);
  }
  const Json data = {{"replay", ReplayForPage(replay, shown)},
                     {"row_step", step},
                     {"picture", PictureJson(content.picture)},
                     {"views", ScanViewsJson(content.views)},
                     {"compared", std::move(compared)}};
  return PageWithData(ReportPage(), data);
}

std::string FleetHtml(const Json& fleet) { return PageWithData(FleetPage(), fleet); }

absl::StatusOr<Json> ReadRun(const std::string& path) {
  std::error_code problem;
  const uintmax_t bytes = std::filesystem::file_size(path, problem);
  if (problem) return absl::NotFoundError(absl::StrCat(path, ": ", problem.message()));
  if (bytes > kMaxRunBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " must have at most ", kMaxRunBytes, " bytes (got ", bytes, ")"));
  }
  std::ifstream file(path, std::ios::binary);
  Json run = Json::parse(file, nullptr, false);
  if (!run.is_object() || !run.contains("results") || !run["results"].is_array()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " must be the JSON of voxloc replay --json"));
  }
  for (size_t i = 0; i < run["results"].size(); ++i) {
    if (!IsRow(run["results"][i])) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": row ", i, " of results is not one of voxloc replay --json"));
    }
  }
  return run;
}

absl::StatusOr<Json> CompareRuns(const Json& replay, const Json& other, const std::string& name) {
  std::map<int64_t, std::deque<const Json*>> by_stamp;
  for (const Json& row : other["results"]) {
    by_stamp[row["stamp_ns"].get<int64_t>()].push_back(&row);
  }
  Json results = Json::array();
  size_t matched = 0;
  for (const Json& row : replay["results"]) {
    const auto found = by_stamp.find(row["stamp_ns"].get<int64_t>());
    if (found == by_stamp.end() || found->second.empty()) {
      results.push_back(nullptr);
      continue;
    }
    results.push_back(ReportRow(*found->second.front()));
    found->second.pop_front();
    ++matched;
  }
  if (matched == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " must be a run over the same scans (not one of its ",
                     other["results"].size(), " stamps is in this one)"));
  }
  Json compared = {{"name", name},
                   {"unmatched", other["results"].size() - matched},
                   {"results", std::move(results)}};
  for (const char* key : {"map", "profile", "engine", "guess", "server_version"}) {
    compared[key] = TextOf(other, key);
  }
  return compared;
}

}  // namespace voxloc::cli
