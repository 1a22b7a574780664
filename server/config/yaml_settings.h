// SPDX-License-Identifier: Apache-2.0
//
// The configuration file. Thread-safe: no state.

#ifndef VOXLOC_SERVER_CONFIG_YAML_SETTINGS_H_
#define VOXLOC_SERVER_CONFIG_YAML_SETTINGS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/config/config_errors.h"
#include "server/config/config_place.h"
#include "server/config/settings.h"

namespace voxloc::server {

// The file with all keys and their help (deploy/voxlocd.full.yaml) is a fortieth of this.
inline constexpr size_t kMaxConfigFileBytes = size_t{1} << 20;

// NotFound, InvalidArgument: it is not there; it is a directory, too large, or not UTF-8.
[[nodiscard]] absl::StatusOr<std::string> ReadConfigFile(const std::string& path);

// The values of a YAML document in which nested maps give keys with dots. What is wrong with its
// form, an unknown key or one that is there twice goes to `errors`; values are not looked at.
// `name` is the file's, for errors and places.
[[nodiscard]] std::vector<ConfigValue> ParseYamlSettings(absl::string_view yaml,
                                                         absl::string_view name,
                                                         const SettingTable& table,
                                                         ConfigErrors& errors);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONFIG_YAML_SETTINGS_H_
