// SPDX-License-Identifier: Apache-2.0
//
// A search for a vehicle as people and programs read it. Pure functions.

#ifndef VOXLOC_CLIENTS_CLI_OUTPUT_SEARCH_TEXT_H_
#define VOXLOC_CLIENTS_CLI_OUTPUT_SEARCH_TEXT_H_

#include <string>

#include "clients/cli/output/output_file.h"
#include "voxloc/v1/localization_service.pb.h"

namespace voxloc::cli {

// Whether the best hypothesis is one to act on: reliable, and not ambiguous.
[[nodiscard]] bool Located(const v1::SearchResult& result);

// One line.
[[nodiscard]] std::string SearchProgressText(const v1::SearchProgress& progress);

// A verdict, a table of hypotheses, and what it took.
[[nodiscard]] std::string SearchResultText(const v1::SearchResult& result, double elapsed_s);

[[nodiscard]] Json SearchResultJson(const v1::SearchResult& result, double elapsed_s);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_OUTPUT_SEARCH_TEXT_H_
