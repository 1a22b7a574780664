// SPDX-License-Identifier: Apache-2.0
//
// The settings of captures: scans that went badly, kept on the server's disk. Thread-safe: no
// state.

#ifndef VOXLOC_SERVER_CONFIG_CAPTURE_SETTINGS_H_
#define VOXLOC_SERVER_CONFIG_CAPTURE_SETTINGS_H_

#include <vector>

#include "server/config/settings.h"

namespace voxloc::server {

void AppendCaptureSettings(std::vector<Setting>& table);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONFIG_CAPTURE_SETTINGS_H_
