// SPDX-License-Identifier: Apache-2.0
//
// A configuration as text: as a YAML file that reads back as the same configuration, and in short.
// Secret settings are left out. Thread-safe: no state.

#ifndef VOXLOC_SERVER_CONFIG_CONFIG_TEXT_H_
#define VOXLOC_SERVER_CONFIG_CONFIG_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "server/config/config.h"
#include "server/config/settings.h"

namespace voxloc::server {

// A scalar of YAML that reads as this UTF-8 text.
[[nodiscard]] std::string YamlScalar(absl::string_view text);

// All values, each with a comment that says where it comes from (--print-config).
[[nodiscard]] std::string ConfigYaml(const Config& config, const ConfigOrigins& origins,
                                     const SettingTable& table);

// The values that are not those of the default configuration, a line each (--check-config).
[[nodiscard]] std::string ConfigDifferences(const Config& config, const ConfigOrigins& origins,
                                            const SettingTable& table);

// All keys with their defaults and their help: deploy/voxlocd.full.yaml.
[[nodiscard]] std::string ConfigReference(const SettingTable& table);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONFIG_CONFIG_TEXT_H_
