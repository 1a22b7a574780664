// SPDX-License-Identifier: Apache-2.0

#include "server/config/command_line.h"

#include <CLI/CLI.hpp>
#include <exception>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/status/try.h"
#include "core/text/utf8.h"
#include "server/config/config_input.h"
#include "server/config/config_text.h"
#include "server/config/host_resources.h"
#include "server/observe/version.h"

namespace voxloc::server {
namespace {

constexpr char kDescription[] =
    "voxlocd localizes LiDAR scans in prior maps and serves gRPC (voxloc.v1).\n\n"
    "It keeps maps and engine resident: send a map with `voxloc map load`, then stream scans to "
    "it.";

constexpr char kFooter[] =
    "Examples:\n"
    "  voxlocd\n"
    "      serve on 127.0.0.1:50051, metrics on http://127.0.0.1:9464/metrics\n"
    "  voxlocd --listen=0.0.0.0:50051 --tls.certificate=server.pem --tls.private-key=server.key\n"
    "      serve the network by TLS; docs/security.md says how to let only some callers in\n"
    "  voxlocd --listen=127.0.0.1:0 --metrics-listen=127.0.0.1:0 --ready-file=/tmp/voxloc.json\n"
    "      choose free ports and write them to a file, for scripts\n"
    "  voxlocd --config=/etc/voxloc.yaml --log-level=debug\n"
    "      read a file; the environment overrides it, and flags both. In the file,\n"
    "      `limits: {max_sessions: 64}` is --limits.max-sessions=64\n"
    "  VOXLOCD_LIMITS_MAX_SESSIONS=64 voxlocd\n"
    "      set it by the environment: VOXLOCD_ and the key in upper case, dots as underscores\n"
    "  voxlocd --config=/etc/voxloc.yaml --check-config\n"
    "      check the configuration and end; --print-config shows where each value comes from\n"
    "  voxlocd --data-dir=/var/lib/voxloc\n"
    "      keep maps there, over restarts; `voxlocd backup` and `voxlocd restore` copy them\n\n"
    "SIGHUP reads the configuration anew: the log level and most limits change at once, and the\n"
    "log names changes that need a restart.\n"
    "SIGTERM or SIGINT drains and ends the server; a second one ends it at once.\n"
    "Exit codes: 0 ended by a signal, 1 failure, 2 wrong configuration, 3 an address or the\ndata "
    "directory is in use, 4 ended to be started again (--on-engine-failure=restart).";

struct Flags {
  std::string config_path;
  bool version = false;
  bool check = false;
  bool print = false;
  std::vector<ConfigValue> values;
};

void AddFlags(const SettingTable& table, CLI::App& app, Flags& flags) {
  app.add_option("--config", flags.config_path, "YAML file with the same keys as the flags")
      ->type_name("FILE");
  app.add_flag("--version", flags.version, "print the version and end");
  CLI::Option* check = app.add_flag("--check-config", flags.check,
                                    "check the configuration, print what differs from the defaults "
                                    "or all errors, and end");
  app.add_flag("--print-config", flags.print,
               "print the configuration in effect as YAML, each value with its origin, and end")
      ->excludes(check);
  const Config defaults;
  for (const Setting& setting : table) {
    if (setting.secret) continue;
    const std::string flag = FlagOfKey(setting.key);
    // What is off is switched on by its name alone; CLI11 would take its default in that case.
    const bool off = setting.value_name == "true|false" && setting.get(defaults) == "false";
    const auto keep = [&flags, flag, off, key = setting.key](const std::string& value) {
      const ConfigLocation place{ConfigOrigin::kFlag, flag};
      flags.values.push_back({key, value.empty() && off ? "true" : value, place, flag});
    };
    CLI::Option* const option = app.add_option_function<std::string>(flag, keep, setting.help);
    option->type_name(setting.value_name);
    if (off) {
      option->expected(0, 1);
    } else {
      option->default_str(setting.get(defaults));
    }
  }
}

absl::Status UnknownFlag(const std::string& argument, const SettingTable& table) {
  const std::string flag = std::vector<std::string>(absl::StrSplit(argument, '=')).front();
  std::vector<std::string> known = {"--help", "--version", "--config", "--check-config",
                                    "--print-config"};
  for (const Setting& setting : table) {
    if (setting.secret && flag == FlagOfKey(setting.key)) {
      return absl::InvalidArgumentError(absl::StrCat(
          flag, ": ", setting.key, " is a secret; set it with ", VariableOfKey(setting.key)));
    }
    known.push_back(FlagOfKey(setting.key));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown ", absl::StartsWith(flag, "-") ? "flag " : "argument ", flag,
                   DidYouMean(flag, known), " See voxlocd --help"));
}

// Sets the values in their order, so that the last of a key stays.
void Apply(const std::vector<ConfigValue>& values, const SettingTable& table, CommandLine& result,
           ConfigErrors& errors) {
  for (const ConfigValue& value : values) {
    const Setting* setting = FindSetting(value.key, table);
    if (setting == nullptr) continue;  // the sources take known keys only
    if (setting->secret && value.place.origin != ConfigOrigin::kEnvironment) {
      errors.Add(value.where,
                 absl::StrCat(value.key, " is a secret; set it with ", VariableOfKey(value.key)));
    } else if (value.value.find('\0') != std::string::npos ||
               Utf8PrefixLength(value.value) < value.value.size()) {
      errors.Add(value.where, absl::StrCat(value.key, " must be UTF-8 text without zero bytes"));
    } else if (absl::Status status = setting->set(value.value, result.config); !status.ok()) {
      errors.Add(value.where, status);
    } else {
      result.origins[value.key] = value.place;
    }
  }
}

// When all sources are read: which profiles there are depends on another setting.
absl::Status CheckDefaultProfile(const CommandLine& result) {
  const absl::Status found = result.config.profiles.Find(result.config.default_profile).status();
  if (found.ok()) return found;
  const auto origin = result.origins.find("default_profile");
  const std::string place =
      origin == result.origins.end() ? "" : absl::StrCat(origin->second.place, ": ");
  return absl::InvalidArgumentError(absl::StrCat(place, "default_profile ", found.message()));
}

// With what the zeros stand for on this machine.
std::string PrintedText(const CommandLine& printed, const SettingTable& table) {
  EffectiveConfig resolved = printed;
  ResolveDefaults(DetectHostResources(), resolved);
  ConfigOrigins origins = printed.origins;
  for (const Setting& setting : table) {
    const auto found = resolved.origins.find(setting.key);
    if (found == resolved.origins.end() || found->second.origin != ConfigOrigin::kDetected)
      continue;
    const std::string value = absl::StrCat(setting.get(resolved.config), ", ", found->second.place);
    origins.emplace(setting.key, ConfigLocation{ConfigOrigin::kDetected, value});
  }
  return ConfigYaml(printed.config, origins, table);
}

std::string CheckedText(const CommandLine& checked, const SettingTable& table) {
  const std::string differences = ConfigDifferences(checked.config, checked.origins, table);
  return absl::StrCat("OK\n", differences.empty()
                                  ? "all settings have their defaults\n"
                                  : absl::StrCat("not as by default:\n", differences));
}

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(int argc, const char* const* argv,
                                             const char* const* environment,
                                             const SettingTable& table, const ConfigCheck& check) {
  CommandLine result;
  Flags flags;
  try {
    CLI::App app(kDescription, "voxlocd");
    app.footer(kFooter);
    app.allow_extras();
    app.get_formatter()->column_width(40);
    AddFlags(table, app, flags);
    try {
      app.parse(argc, const_cast<char**>(argv));
    } catch (const CLI::CallForHelp&) {
      result.text = app.help();
      return result;
    }
    if (!app.remaining().empty()) return UnknownFlag(app.remaining().front(), table);
  } catch (const std::exception& error) {  // CLI11 reports by exception
    return absl::InvalidArgumentError(absl::StrCat(error.what(), ". See voxlocd --help"));
  }
  if (flags.version) {
    result.text = absl::StrCat("voxlocd ", kVersion, " (", kGitRevision, ", ", kBuildType, ")\n");
    return result;
  }
  ConfigErrors errors;
  const EnvironmentSettings variables = ReadEnvironment(environment, table, errors);
  const bool named_by_flag = !flags.config_path.empty();
  const std::string& path = named_by_flag ? flags.config_path : variables.config_path;
  if (!path.empty()) {
    if (const auto text = ReadConfigFile(path); text.ok()) {
      Apply(ParseYamlSettings(*text, path, table, errors), table, result, errors);
    } else {
      errors.Add(absl::StrCat(named_by_flag ? "--config" : kConfigVariable, ": ", path),
                 text.status());
    }
  }
  Apply(variables.values, table, result, errors);
  Apply(flags.values, table, result, errors);
  if (errors.Status().ok()) errors.Add(CheckDefaultProfile(result));
  if (flags.check && check != nullptr) check(result.config, errors);
  VOXLOC_TRY(errors.Status());
  if (flags.check) result.text = CheckedText(result, table);
  if (flags.print) result.text = PrintedText(result, table);
  return result;
}

}  // namespace voxloc::server
