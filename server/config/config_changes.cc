// SPDX-License-Identifier: Apache-2.0

#include "server/config/config_changes.h"

namespace voxloc::server {
namespace {

void TakeOrigin(const std::string& key, const ConfigOrigins& from, ConfigOrigins& to) {
  if (const auto found = from.find(key); found != from.end()) {
    to[key] = found->second;
  } else {
    to.erase(key);
  }
}

}  // namespace

std::vector<ConfigChange> TakeReloadable(const ConfigInEffect& next, const SettingTable& table,
                                         ConfigInEffect& config) {
  std::vector<ConfigChange> changes;
  for (const Setting& setting : table) {
    const std::string before = setting.get(config.config);
    const std::string after = setting.get(next.config);
    // `set` takes what `get` returns.
    const bool applied = setting.reloadable && setting.set(after, config.config).ok();
    if (applied || before == after) TakeOrigin(setting.key, next.origins, config.origins);
    if (before == after) continue;
    changes.push_back({setting.key, setting.secret ? "(secret)" : before,
                       setting.secret ? "(secret)" : after, applied});
  }
  return changes;
}

}  // namespace voxloc::server
