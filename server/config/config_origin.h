// SPDX-License-Identifier: Apache-2.0
//
// Where a value of the configuration comes from. Plain values.

#ifndef VOXLOC_SERVER_CONFIG_CONFIG_ORIGIN_H_
#define VOXLOC_SERVER_CONFIG_CONFIG_ORIGIN_H_

#include <map>
#include <string>

#include "server/config/config.h"

namespace voxloc::server {

enum class ConfigOrigin { kDefault, kDetected, kFile, kEnvironment, kFlag };

struct ConfigLocation {
  ConfigOrigin origin = ConfigOrigin::kDefault;
  // For people: file and line (kFile), the variable (kEnvironment), the flag (kFlag), or what the
  // value follows from (kDetected).
  std::string place;
};

// By key, those that are not kDefault.
using ConfigOrigins = std::map<std::string, ConfigLocation>;

struct EffectiveConfig {
  Config config;
  ConfigOrigins origins;
};

// A value as a source of the configuration has it.
struct ConfigValue {
  std::string key;    // of a setting
  std::string value;  // as text
  ConfigLocation place;
  std::string where;  // for errors: as place.place, with the column in a file
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONFIG_CONFIG_ORIGIN_H_
