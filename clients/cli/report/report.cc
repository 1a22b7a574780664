// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/report/report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "clients/cli/report/page.h"
#include "clients/cli/text_file.h"

namespace voxloc::cli {
namespace {

constexpr absl::string_view kDataMark = "{{data}}";

}  // namespace

std::string ReportHtml(const Json& replay, const MapPicture& picture) {
  const MapPicture::Encoded encoded = picture.Encode();
  const Json data = {{"replay", replay},
                     {"picture",
                      {{"cell_m", encoded.cell_m},
                       {"low", {encoded.low.x(), encoded.low.y()}},
                       {"cells", encoded.cells},
                       {"base64", encoded.base64}}}};
  const std::string json =
      data.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  const absl::string_view page = ReportPage();
  const size_t mark = page.find(kDataMark);
  // A name in the data cannot end the script element: no "<" is left in it.
  return absl::StrCat(page.substr(0, mark), absl::StrReplaceAll(json, {{"<", "\\u003c"}}),
                      page.substr(mark + kDataMark.size()));
}

absl::Status WriteReport(const std::string& path, const Json& replay, const MapPicture& picture) {
  return WriteTextFile(path, ReportHtml(replay, picture));
}

}  // namespace voxloc::cli
