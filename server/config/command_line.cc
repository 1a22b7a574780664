// SPDX-License-Identifier: Apache-2.0

#include "server/config/command_line.h"

#include <yaml-cpp/yaml.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/text/nearest_name.h"
#include "server/config/settings.h"
#include "server/version/version.h"

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
    "  voxlocd --listen=0.0.0.0:50051 --metrics-listen=0.0.0.0:9464 --threads=4\n"
    "      serve the network with four threads\n"
    "  voxlocd --listen=127.0.0.1:0 --metrics-listen=127.0.0.1:0 --ready-file=/tmp/voxloc.json\n"
    "      choose free ports and write them to a file, for scripts\n"
    "  voxlocd --config=/etc/voxloc.yaml --log-level=debug\n"
    "      read a file; flags override it. In the file, `limits: {max_sessions: 64}` is\n"
    "      --limits.max-sessions=64\n"
    "  voxlocd --data-dir=/var/lib/voxloc\n"
    "      keep maps there, over restarts; `voxlocd backup` and `voxlocd restore` copy them\n\n"
    "SIGTERM or SIGINT drains and ends the server; a second one ends it at once.\n"
    "Exit codes: 0 ended by a signal, 1 failure, 2 wrong flag or file, 3 an address or the\ndata "
    "directory is in use, 4 ended to be started again (--on-engine-failure=restart).";

absl::Status Apply(const std::map<std::string, std::string>& values, ConfigOrigin origin,
                   CommandLine& result) {
  for (const auto& [key, value] : values) {
    const Setting* setting = FindSetting(key);
    if (setting == nullptr) return absl::InternalError(absl::StrCat("no setting ", key));
    if (absl::Status status = setting->set(value, result.config); !status.ok()) return status;
    result.origins[setting->key] = origin;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadText(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    return absl::NotFoundError(absl::StrCat("--config: cannot read ", path));
  }
  return text.str();
}

absl::Status UnknownFlag(const std::string& argument) {
  const std::string flag = std::vector<std::string>(absl::StrSplit(argument, '=')).front();
  std::vector<std::string> known = {"--help", "--version", "--config"};
  for (const Setting& setting : Settings()) known.push_back(FlagOfKey(setting.key));
  const std::string nearest = NearestName(flag, known);
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown ", absl::StartsWith(flag, "-") ? "flag " : "argument ", flag,
      nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?"), " See voxlocd --help"));
}

absl::Status Flatten(const YAML::Node& node, const std::string& prefix, absl::string_view name,
                     std::map<std::string, std::string>& values) {
  for (const auto& entry : node) {
    if (!entry.first.IsScalar()) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": a key is not a word"));
    }
    const std::string key = absl::StrCat(prefix, entry.first.Scalar());
    if (entry.second.IsMap()) {
      if (absl::Status status = Flatten(entry.second, key + ".", name, values); !status.ok()) {
        return status;
      }
      continue;
    }
    const Setting* setting = FindSetting(key);
    if (setting == nullptr) {
      std::vector<std::string> known;
      for (const Setting& one : Settings()) known.push_back(one.key);
      const std::string nearest = NearestName(key, known);
      return absl::InvalidArgumentError(
          absl::StrCat(name, ": unknown key ", key, " in line ", entry.first.Mark().line + 1,
                       nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?")));
    }
    if (!entry.second.IsScalar()) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": ", key, " needs one value"));
    }
    values[setting->key] = entry.second.Scalar();
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::map<std::string, std::string>> ParseYamlSettings(absl::string_view yaml,
                                                                     absl::string_view name) {
  std::map<std::string, std::string> values;
  try {
    const YAML::Node root = YAML::Load(std::string(yaml));
    if (root.IsNull()) return values;
    if (!root.IsMap()) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": not a map of keys to values"));
    }
    if (absl::Status status = Flatten(root, "", name, values); !status.ok()) return status;
  } catch (const std::exception& error) {  // yaml-cpp reports by exception
    return absl::InvalidArgumentError(absl::StrCat(name, ": ", error.what()));
  }
  return values;
}

absl::StatusOr<CommandLine> ParseCommandLine(int argc, const char* const* argv) {
  CommandLine result;
  try {
    CLI::App app(kDescription, "voxlocd");
    app.footer(kFooter);
    app.allow_extras();
    app.get_formatter()->column_width(40);
    std::string config_path;
    app.add_option("--config", config_path, "YAML file with the same keys as the flags")
        ->type_name("FILE");
    bool version = false;
    app.add_flag("--version", version, "print the version and end");
    std::map<std::string, std::string> flags;
    for (const Setting& setting : Settings()) {
      app.add_option_function<std::string>(
             FlagOfKey(setting.key),
             [&flags, key = setting.key](const std::string& value) { flags[key] = value; },
             setting.help)
          ->type_name(setting.value_name)
          ->default_str(setting.get(result.config));
    }
    try {
      app.parse(argc, const_cast<char**>(argv));
    } catch (const CLI::CallForHelp&) {
      result.text = app.help();
      return result;
    }
    if (version) {
      result.text = absl::StrCat("voxlocd ", kVersion, " (", kGitRevision, ", ", kBuildType, ")\n");
      return result;
    }
    if (!app.remaining().empty()) return UnknownFlag(app.remaining().front());
    if (!config_path.empty()) {
      auto text = ReadText(config_path);
      if (!text.ok()) return text.status();
      auto values = ParseYamlSettings(*text, config_path);
      if (!values.ok()) return values.status();
      if (absl::Status status = Apply(*values, ConfigOrigin::kFile, result); !status.ok()) {
        return absl::Status(status.code(), absl::StrCat(config_path, ": ", status.message()));
      }
    }
    if (absl::Status status = Apply(flags, ConfigOrigin::kFlag, result); !status.ok()) {
      return status;
    }
  } catch (const std::exception& error) {  // CLI11 reports by exception
    return absl::InvalidArgumentError(absl::StrCat(error.what(), ". See voxlocd --help"));
  }
  return result;
}

}  // namespace voxloc::server
