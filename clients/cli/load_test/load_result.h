// SPDX-License-Identifier: Apache-2.0
//
// What a load test has found out.

#ifndef VOXLOC_CLIENTS_CLI_LOAD_TEST_LOAD_RESULT_H_
#define VOXLOC_CLIENTS_CLI_LOAD_TEST_LOAD_RESULT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "clients/cli/load_test/tally.h"
#include "clients/cli/load_test/tile_updates.h"

namespace voxloc::cli {

struct LoadResult {
  // As the first session was told.
  std::string engine;
  std::string profile;
  std::string server_version;

  // What the drives hold, after thinning.
  uint64_t scans = 0;
  uint64_t points = 0;

  double steady_s = 0.0;     // that was measured; less than planned where it was interrupted
  bool interrupted = false;  // it ended early because that was asked for

  Tally tally;
  std::optional<TileUpdateCounts> tile_updates;  // nullopt: no tile was to be replaced
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_LOAD_TEST_LOAD_RESULT_H_
