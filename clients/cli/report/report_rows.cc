// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/report/report_rows.h"

namespace voxloc::cli {
namespace {

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

size_t RowStep(size_t rows) { return rows == 0 ? 1 : (rows + kMaxReportRows - 1) / kMaxReportRows; }

}  // namespace voxloc::cli
