// SPDX-License-Identifier: Apache-2.0
//
// What voxlocd does in place of serving: backing up and restoring the maps of a data directory.

#ifndef VOXLOC_SERVER_MAINTENANCE_H_
#define VOXLOC_SERVER_MAINTENANCE_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace voxloc::server {

// Runs `voxlocd backup ...` or `voxlocd restore ...` and returns what to print; nullopt: the
// arguments ask for a server. Shows its progress on standard error. `stop` is asked some hundred
// times a second whether to end without a result. InvalidArgument: wrong flags; Cancelled: it was
// ended, and left everything as it was; else the errors of BackupMapStore and RestoreMapStore.
[[nodiscard]] absl::StatusOr<std::optional<std::string>> RunMaintenance(
    int argc, const char* const* argv, const std::function<bool()>& stop);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAINTENANCE_H_
