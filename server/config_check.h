// SPDX-License-Identifier: Apache-2.0
//
// What can be wrong with a configuration beyond its single values: settings that contradict each
// other, and the files that it names. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_CONFIG_CHECK_H_
#define VOXLOC_SERVER_CONFIG_CHECK_H_

#include "absl/status/status.h"
#include "server/config/config.h"

namespace voxloc::server {

// InvalidArgument, NotFound: the first fault, with its settings or its file.
[[nodiscard]] absl::Status CheckConfig(const Config& config);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONFIG_CHECK_H_
