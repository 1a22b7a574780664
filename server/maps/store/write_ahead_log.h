// SPDX-License-Identifier: Apache-2.0
//
// A write-ahead log that an earlier run left.

#ifndef VOXLOC_SERVER_MAPS_STORE_WRITE_AHEAD_LOG_H_
#define VOXLOC_SERVER_MAPS_STORE_WRITE_AHEAD_LOG_H_

#include <string>

#include "absl/status/status.h"

namespace voxloc::server {

// Writes the log of a database again as it is read, and syncs it. After a sync has failed the
// system may take for written what it holds in memory only: it reads well until the machine goes
// down. A database that no connection is open on; without a log nothing is done.
[[nodiscard]] absl::Status WriteLogAgain(const std::string& database_path);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_WRITE_AHEAD_LOG_H_
