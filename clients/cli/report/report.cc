// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/report/report.h"

#include <set>
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

}  // namespace

std::string PageWithData(absl::string_view page, const Json& data) {
  const std::string json =
      data.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  const size_t mark = page.find(kDataMark);
  // No "<" is left in the data.
  return absl::StrCat(page.substr(0, mark), absl::StrReplaceAll(json, {{"<", "\\u003c"}}),
                      page.substr(mark + kDataMark.size()));
}

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

size_t RowStep(size_t rows) { return rows == 0 ? 1 : (rows + kMaxReportRows - 1) / kMaxReportRows; }

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

}  // namespace voxloc::cli
