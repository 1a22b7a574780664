// SPDX-License-Identifier: Apache-2.0
//
// Settings in environment variables: VOXLOCD_ and the key in upper case with dots as underscores,
// such as VOXLOCD_LIMITS_MAX_SESSIONS. Thread-safe as long as nobody changes the environment.

#ifndef VOXLOC_SERVER_CONFIG_ENVIRONMENT_H_
#define VOXLOC_SERVER_CONFIG_ENVIRONMENT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/config/config_errors.h"
#include "server/config/config_place.h"
#include "server/config/settings.h"

namespace voxloc::server {

inline constexpr absl::string_view kVariablePrefix = "VOXLOCD_";
// What --config is.
inline constexpr absl::string_view kConfigVariable = "VOXLOCD_CONFIG";

[[nodiscard]] std::string VariableOfKey(absl::string_view key);

struct EnvironmentSettings {
  std::vector<ConfigValue> values;
  std::string config_path;  // of VOXLOCD_CONFIG; empty: not set
};

// `environment`: "NAME=VALUE" each, ended by null, as environ(7); null: none. A variable with the
// prefix that stands for no setting goes to `errors`, except those that Kubernetes gives the
// containers of a namespace with a service whose name begins with "voxlocd", such as
// VOXLOCD_SERVICE_HOST.
[[nodiscard]] EnvironmentSettings ReadEnvironment(const char* const* environment,
                                                  const SettingTable& table, ConfigErrors& errors);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONFIG_ENVIRONMENT_H_
