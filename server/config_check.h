// SPDX-License-Identifier: Apache-2.0
//
// What can be wrong with a configuration beyond its single values: settings that contradict each
// other, and the files that it names. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_CONFIG_CHECK_H_
#define VOXLOC_SERVER_CONFIG_CHECK_H_

#include "server/config/config.h"
#include "server/config/config_errors.h"

namespace voxloc::server {

// Adds all of it, each fault with its settings or its file.
void CheckConfig(const Config& config, ConfigErrors& errors);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONFIG_CHECK_H_
