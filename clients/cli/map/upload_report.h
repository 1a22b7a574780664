// SPDX-License-Identifier: Apache-2.0
//
// An upload as people see it: while it goes on, and what came of it. For one thread.

#ifndef VOXLOC_CLIENTS_CLI_MAP_UPLOAD_REPORT_H_
#define VOXLOC_CLIENTS_CLI_MAP_UPLOAD_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/cli/flags/request_flags.h"
#include "clients/cli/output/output.h"
#include "clients/cpp/map_upload.h"

namespace voxloc::cli {

// "loading town [#####.....] 120 of 240 tiles, 80 there already, 45.0 MiB sent, 12.0 MiB/s, 3 s
// left", `seconds` after the start. A function of its own for the tests.
[[nodiscard]] std::string UploadText(const std::string& label, size_t tiles,
                                     const client::UploadProgress& progress, double seconds,
                                     bool bar);

// Brings the tiles into the map of `begin` with the flags' commit and shows how far it is. Goes on
// after lost connections for about a minute.
[[nodiscard]] absl::StatusOr<client::UploadResult> UploadWithBar(
    const ServerFlags& server, const CommitFlags& flags, v1::BeginUpdate begin,
    std::vector<client::UploadTile> tiles);

// What came of it besides the counts: nothing new, staged, sent, dropped. Lines, or none.
[[nodiscard]] std::string UploadNotes(const client::UploadResult& result, bool staged,
                                      uint64_t points_not_finite);

// `map`, and what was sent.
[[nodiscard]] Json UploadJson(const client::UploadResult& result);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_MAP_UPLOAD_REPORT_H_
