// SPDX-License-Identifier: Apache-2.0
//
// What a load test has found out, in one process or in all together.

#ifndef VOXLOC_CLIENTS_CLI_LOAD_TEST_LOAD_RESULT_H_
#define VOXLOC_CLIENTS_CLI_LOAD_TEST_LOAD_RESULT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "clients/cli/json_output.h"
#include "clients/cli/load_test/tally.h"
#include "clients/cli/load_test/tile_updates.h"

namespace voxloc::cli {

struct LoadResult {
  // As the first session was told.
  std::string engine;
  std::string profile;
  std::string server_version;

  // What the drives hold, after thinning. The same in every process.
  uint64_t scans = 0;
  uint64_t points = 0;

  double steady_s = 0.0;     // that was measured; less than planned where it was interrupted
  bool interrupted = false;  // it ended early because that was asked for

  Tally tally;

  // Of the process that replaces tiles, the one that the others' results are added to.
  std::optional<TileUpdateCounts> tile_updates;

  // For the way from one process to another; without updates.
  [[nodiscard]] Json ToJson() const;
  // Internal: what ToJson cannot have written.
  [[nodiscard]] static absl::StatusOr<LoadResult> FromJson(const Json& json);
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_LOAD_TEST_LOAD_RESULT_H_
