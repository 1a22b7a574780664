// SPDX-License-Identifier: Apache-2.0
//
// The names of the configuration's values: the one table that the command line, the configuration
// file, the environment and GetConfig share. A key such as `limits.max_sessions` is the flag
// `--limits.max-sessions` and the variable VOXLOCD_LIMITS_MAX_SESSIONS. Thread-safe: the table is
// constant.

#ifndef VOXLOC_SERVER_CONFIG_SETTINGS_H_
#define VOXLOC_SERVER_CONFIG_SETTINGS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "server/config/config.h"

namespace voxloc::server {

// Where a value of the configuration comes from.
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

struct Setting {
  std::string key;
  std::string value_name;  // for help, such as ADDR:PORT
  std::string help;
  // InvalidArgument names the key, the value and what is allowed.
  std::function<absl::Status(absl::string_view value, Config& config)> set;
  // `set` takes what it returns, and has the same value then.
  std::function<std::string(const Config& config)> get;
  // Whether SIGHUP applies a changed value; others need a restart.
  bool reloadable = false;
  // Whether the value must not be shown. It comes from the environment alone: command lines and
  // configuration files are read by many.
  bool secret = false;
};

using SettingTable = std::vector<Setting>;

[[nodiscard]] const SettingTable& Settings();

// Null when there is none. A dash in the key stands for an underscore.
[[nodiscard]] const Setting* FindSetting(absl::string_view key,
                                         const SettingTable& table = Settings());

[[nodiscard]] std::string FlagOfKey(absl::string_view key);  // "--limits.max-sessions"

// InvalidArgument unless the address is ADDR:PORT; the message begins with `key`.
[[nodiscard]] absl::Status CheckAddress(absl::string_view key, const std::string& address);

struct ConfigChange {
  std::string key;
  std::string before;    // of a secret: "(secret)"
  std::string after;     // likewise
  bool applied = false;  // false: it needs a restart
};

// Copies the reloadable values of `next` into `config`, and returns all differences. Values that
// are equal in both get the origins of `next`.
[[nodiscard]] std::vector<ConfigChange> ApplyReloadable(const EffectiveConfig& next,
                                                        const SettingTable& table,
                                                        EffectiveConfig& config);

// LiveConfig: the current configuration, which a reload replaces as a whole. Use one snapshot for
// values that must be consistent. Thread-safe.
class LiveConfig {
 public:
  explicit LiveConfig(EffectiveConfig config)
      : config_(std::make_shared<const EffectiveConfig>(std::move(config))) {}

  // Immutable; stays as it is for as long as it is held.
  [[nodiscard]] std::shared_ptr<const EffectiveConfig> Snapshot() const {
    const absl::ReaderMutexLock lock(&mutex_);
    return config_;
  }
  // Of a snapshot. Never null.
  [[nodiscard]] std::shared_ptr<const Config> Get() const {
    const std::shared_ptr<const EffectiveConfig> snapshot = Snapshot();
    return {snapshot, &snapshot->config};
  }
  [[nodiscard]] std::shared_ptr<const Limits> limits() const {
    const std::shared_ptr<const EffectiveConfig> snapshot = Snapshot();
    return {snapshot, &snapshot->config.limits};
  }

  void Set(EffectiveConfig config) {
    auto next = std::make_shared<const EffectiveConfig>(std::move(config));
    const absl::MutexLock lock(&mutex_);
    config_.swap(next);
  }

 private:
  mutable absl::Mutex mutex_;
  std::shared_ptr<const EffectiveConfig> config_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONFIG_SETTINGS_H_
