// SPDX-License-Identifier: Apache-2.0
//
// The settings of the database that several servers share. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_CONFIG_STORE_SETTINGS_H_
#define VOXLOC_SERVER_CONFIG_STORE_SETTINGS_H_

#include <vector>

#include "server/config/settings.h"

namespace voxloc::server {

void AppendStoreSettings(std::vector<Setting>& table);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONFIG_STORE_SETTINGS_H_
