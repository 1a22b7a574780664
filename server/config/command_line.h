// SPDX-License-Identifier: Apache-2.0
//
// From flags and a configuration file to a Config. A flag wins over the file, the file over the
// default. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_CONFIG_COMMAND_LINE_H_
#define VOXLOC_SERVER_CONFIG_COMMAND_LINE_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/config/config.h"

namespace voxloc::server {

enum class ConfigOrigin { kDefault, kFile, kFlag };

struct CommandLine {
  Config config;
  std::map<std::string, ConfigOrigin> origins;  // by key, those that are not kDefault
  // Not empty: print this (help or version) and end.
  std::string text;
};

// InvalidArgument names the flag or key, its value and what is allowed; NotFound, a file that is
// not there.
[[nodiscard]] absl::StatusOr<CommandLine> ParseCommandLine(int argc, const char* const* argv);

// Keys and values of a YAML document: nested maps give keys with dots.
[[nodiscard]] absl::StatusOr<std::map<std::string, std::string>> ParseYamlSettings(
    absl::string_view yaml, absl::string_view name);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONFIG_COMMAND_LINE_H_
