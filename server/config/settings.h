// SPDX-License-Identifier: Apache-2.0
//
// The names of the configuration's values: the one table that the command line, the configuration
// file and GetConfig share. A key such as `limits.max_sessions` is the flag
// `--limits.max-sessions`. Thread-safe: the table is constant.

#ifndef VOXLOC_SERVER_CONFIG_SETTINGS_H_
#define VOXLOC_SERVER_CONFIG_SETTINGS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/config/config.h"

namespace voxloc::server {

struct Setting {
  std::string key;
  std::string value_name;  // for help, such as ADDR:PORT
  std::string help;
  // InvalidArgument names the key, the value and what is allowed.
  std::function<absl::Status(absl::string_view value, Config& config)> set;
  std::function<std::string(const Config& config)> get;
};

[[nodiscard]] const std::vector<Setting>& Settings();

// Null when there is none.
[[nodiscard]] const Setting* FindSetting(absl::string_view key);

[[nodiscard]] std::string FlagOfKey(absl::string_view key);  // "--limits.max-sessions"

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONFIG_SETTINGS_H_
