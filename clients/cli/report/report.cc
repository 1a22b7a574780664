// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/report/report.h"

#include <set>
#include <utility>
#include <vector>

#include "clients/cli/report/page.h"
#include "clients/cli/report/report_rows.h"
#include "clients/cli/text_file.h"

namespace voxloc::cli {
namespace {

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

absl::Status WriteReport(const std::string& path, const Json& replay,
                         const ReportContent& content) {
  return WriteTextFile(path, ReportHtml(replay, content));
}

}  // namespace voxloc::cli
