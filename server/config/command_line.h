// SPDX-License-Identifier: Apache-2.0
//
// From flags, the environment and a configuration file to a Config. A flag wins over the
// environment, the environment over the file, the file over the default. Thread-safe: no shared
// state.

#ifndef VOXLOC_SERVER_CONFIG_COMMAND_LINE_H_
#define VOXLOC_SERVER_CONFIG_COMMAND_LINE_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "server/config/config_input.h"
#include "server/config/settings.h"

namespace voxloc::server {

struct CommandLine : EffectiveConfig {
  // Not empty: print this (help, version, the checked or the printed configuration) and end.
  std::string text;
};

using ConfigCheck = std::function<void(const Config& config, ConfigErrors& errors)>;

// `environment`: as environ(7), or null for none. Reads all sources, also the files that settings
// name. Values of 0 that stand for what follows from the machine stay 0: see ResolveDefaults.
// InvalidArgument or another error: all that is wrong, a line each with the flag, the variable or
// the file and line, the key, its value and what is allowed; NotFound, a file that is not there.
// `check` adds further errors where --check-config is given, also where there are others already.
[[nodiscard]] absl::StatusOr<CommandLine> ParseCommandLine(int argc, const char* const* argv,
                                                           const char* const* environment = nullptr,
                                                           const SettingTable& table = Settings(),
                                                           const ConfigCheck& check = nullptr);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONFIG_COMMAND_LINE_H_
