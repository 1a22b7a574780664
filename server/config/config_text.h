// SPDX-License-Identifier: Apache-2.0
//
// Settings as text: read from the configuration file and from environment variables (VOXLOCD_ and
// the key in upper case with dots as underscores, such as VOXLOCD_LIMITS_MAX_SESSIONS); written as
// a YAML file that reads back as the same configuration, and in short. Secret settings are not
// written. Thread-safe as long as nobody changes the environment.

#ifndef VOXLOC_SERVER_CONFIG_CONFIG_TEXT_H_
#define VOXLOC_SERVER_CONFIG_CONFIG_TEXT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/config/config.h"
#include "server/config/config_input.h"
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

#endif  // VOXLOC_SERVER_CONFIG_CONFIG_TEXT_H_
