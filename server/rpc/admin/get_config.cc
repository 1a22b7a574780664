// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/admin/get_config.h"

#include <memory>

#include "server/config/settings.h"

namespace voxloc::server {
namespace {

v1::ConfigSource SourceToProto(ConfigOrigin origin) {
  switch (origin) {
    case ConfigOrigin::kDefault:
      return v1::CONFIG_SOURCE_DEFAULT;
    case ConfigOrigin::kDetected:
      return v1::CONFIG_SOURCE_DETECTED;
    case ConfigOrigin::kFile:
      return v1::CONFIG_SOURCE_FILE;
    case ConfigOrigin::kEnvironment:
      return v1::CONFIG_SOURCE_ENVIRONMENT;
    case ConfigOrigin::kFlag:
      return v1::CONFIG_SOURCE_FLAG;
  }
  return v1::CONFIG_SOURCE_UNSPECIFIED;
}

}  // namespace

absl::Status GetConfig(const Runtime& runtime, const v1::GetConfigRequest& /*request*/,
                       v1::GetConfigResponse& response) {
  const std::shared_ptr<const ConfigInEffect> live = runtime.live.Snapshot();
  for (const Setting& setting : Settings()) {
    if (setting.secret) continue;
    v1::ConfigEntry& entry = *response.add_entries();
    entry.set_key(setting.key);
    entry.set_value(setting.get(live->config));
    entry.set_reloadable(setting.reloadable);
    const auto found = live->origins.find(setting.key);
    const ConfigPlace place = found == live->origins.end() ? ConfigPlace() : found->second;
    entry.set_source(SourceToProto(place.origin));
    entry.set_place(place.place);
  }
  return absl::OkStatus();
}

}  // namespace voxloc::server
