// SPDX-License-Identifier: Apache-2.0
//
// What a reload of the configuration changes. Thread-safe: no state.

#ifndef VOXLOC_SERVER_CONFIG_CONFIG_CHANGES_H_
#define VOXLOC_SERVER_CONFIG_CONFIG_CHANGES_H_

#include <string>
#include <vector>

#include "server/config/live_config.h"
#include "server/config/settings.h"

namespace voxloc::server {

struct ConfigChange {
  std::string key;
  std::string before;    // of a secret: "(secret)"
  std::string after;     // likewise
  bool applied = false;  // false: it needs a restart
};

// Takes the values of `next` that can be reloaded over into `config`, and says what differs. Where
// the values in effect are those of `next`, so are their origins.
[[nodiscard]] std::vector<ConfigChange> TakeReloadable(const ConfigInEffect& next,
                                                       const SettingTable& table,
                                                       ConfigInEffect& config);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONFIG_CONFIG_CHANGES_H_
