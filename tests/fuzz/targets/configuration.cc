// SPDX-License-Identifier: Apache-2.0
//
// The configuration file: its form, and each of its values as the setting takes it.

#include <string>

#include "server/config/config.h"
#include "server/config/config_input.h"
#include "server/config/config_text.h"
#include "server/config/settings.h"
#include "tests/fuzz/fuzz_targets.h"

namespace voxloc {

using server::Config;
using server::ConfigErrors;
using server::ConfigValue;
using server::Setting;

absl::Status FuzzConfiguration(absl::string_view bytes) {
  ConfigErrors errors;
  Config config;
  for (const ConfigValue& value :
       server::ParseYamlSettings(bytes, "fuzz.yaml", server::Settings(), errors)) {
    const Setting* setting = server::FindSetting(value.key);
    FuzzRequire(setting != nullptr, "a value is one of a setting");
    if (const absl::Status status = setting->set(value.value, config); !status.ok()) {
      errors.Add(value.where, status);
      continue;
    }
    const std::string text = setting->get(config);
    FuzzRequire(setting->set(text, config).ok(), "a setting takes what it gives");
    FuzzRequire(setting->get(config) == text, "a setting gives what it took");
  }
  return errors.Status();
}

}  // namespace voxloc
