// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/report/page.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace voxloc::cli {
namespace {

constexpr absl::string_view kDataMark = "{{data}}";

}  // namespace

std::string PageWithData(absl::string_view page, const Json& data) {
  const std::string json =
      data.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  const size_t mark = page.find(kDataMark);
  // No "<" is left in the data.
  return absl::StrCat(page.substr(0, mark), absl::StrReplaceAll(json, {{"<", "\\u003c"}}),
                      page.substr(mark + kDataMark.size()));
}

}  // namespace voxloc::cli
