// SPDX-License-Identifier: Apache-2.0

#include "server/config/config_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/config/config_sources.h"

namespace voxloc::server {
namespace {

constexpr size_t kColumns = 100;  // as all files of the repository

// Lines before and behind "KEY: VALUE".
struct Comments {
  std::function<std::string(const Setting& setting)> before;  // its words are wrapped
  std::function<std::string(const Setting& setting)> behind;
};

std::string Wrapped(absl::string_view text, absl::string_view indent) {
  std::string result;
  std::string line;
  const auto end_line = [&] {
    if (!line.empty()) absl::StrAppend(&result, indent, "#", line, "\n");
    line.clear();
  };
  for (const absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    if (indent.size() + 1 + line.size() + 1 + word.size() > kColumns) end_line();
    absl::StrAppend(&line, " ", word);
  }
  end_line();
  return result;
}

std::string SettingYaml(const Setting& setting, absl::string_view key, const Config& config,
                        absl::string_view indent, const Comments& comments) {
  const std::string before = comments.before ? comments.before(setting) : "";
  const std::string behind = comments.behind ? comments.behind(setting) : "";
  return absl::StrCat(before.empty() ? "" : "\n", Wrapped(before, indent), indent, key, ": ",
                      YamlScalar(setting.get(config)), behind.empty() ? "" : "  # ", behind, "\n");
}

// Keys of a group follow the group's first one.
std::string Yaml(const Config& config, const SettingTable& table, const Comments& comments) {
  std::string text;
  std::set<std::string> written;  // groups
  for (const Setting& setting : table) {
    const size_t dot = setting.key.find('.');
    if (dot == std::string::npos) {
      if (!setting.secret)
        absl::StrAppend(&text, SettingYaml(setting, setting.key, config, "", comments));
      continue;
    }
    const std::string group = setting.key.substr(0, dot);
    if (!written.insert(group).second) continue;
    std::string members;
    for (const Setting& member : table) {
      if (member.secret || !absl::StartsWith(member.key, group + ".")) continue;
      absl::StrAppend(&members,
                      SettingYaml(member, member.key.substr(dot + 1), config, "  ", comments));
    }
    if (!members.empty()) {
      absl::StrAppend(&text, comments.before ? "\n" : "", group, ":\n", members);
    }
  }
  return text;
}

std::string OriginText(const std::string& key, const ConfigOrigins& origins) {
  const auto found = origins.find(key);
  if (found == origins.end()) return "default";
  const std::string place = absl::Utf8SafeCEscape(found->second.place);
  switch (found->second.origin) {
    case ConfigOrigin::kDefault:
      return "default";
    case ConfigOrigin::kDetected:
      return absl::StrCat("default: ", place);
    case ConfigOrigin::kFile:
      return place;
    case ConfigOrigin::kEnvironment:
      return absl::StrCat("environment variable ", place);
    case ConfigOrigin::kFlag:
      return absl::StrCat("flag ", place);
  }
  return "unknown";
}

}  // namespace

std::string YamlScalar(absl::string_view text) {
  const auto plain = [](char c) { return absl::ascii_isalnum(c) || absl::StrContains("_./+-", c); };
  const bool null = absl::EqualsIgnoreCase(text, "null");
  if (!text.empty() && !null && absl::ascii_isalnum(text.front()) &&
      std::all_of(text.begin(), text.end(), plain)) {
    return std::string(text);
  }
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      absl::StrAppend(&quoted, "\\", std::string(1, c));
    } else if (absl::ascii_iscntrl(c)) {
      absl::StrAppend(&quoted, "\\x", absl::Hex(static_cast<uint8_t>(c), absl::kZeroPad2));
    } else {
      quoted.push_back(c);
    }
  }
  return quoted + "\"";
}

std::string ConfigYaml(const Config& config, const ConfigOrigins& origins,
                       const SettingTable& table) {
  Comments comments;
  comments.behind = [&origins](const Setting& setting) { return OriginText(setting.key, origins); };
  return Yaml(config, table, comments);
}

std::string ConfigDifferences(const Config& config, const ConfigOrigins& origins,
                              const SettingTable& table) {
  const Config defaults;
  std::string text;
  for (const Setting& setting : table) {
    const std::string value = setting.get(config);
    if (value == setting.get(defaults)) continue;
    absl::StrAppend(&text, setting.key, ": ", setting.secret ? "(secret)" : YamlScalar(value),
                    "  # ", OriginText(setting.key, origins), "\n");
  }
  return text;
}

std::string ConfigReference(const SettingTable& table) {
  Comments comments;
  comments.before = [](const Setting& setting) {
    std::string help = setting.help;
    help.front() = absl::ascii_toupper(help.front());
    return absl::StrCat(help, ". Value: ", setting.value_name,
                        absl::EndsWith(setting.value_name, ".") ? "" : ".",
                        setting.reloadable ? " SIGHUP takes a change over." : "");
  };
  const std::string head =
      "SPDX-License-Identifier: Apache-2.0\n"
      "All settings of voxlocd with their defaults. Each is also a flag, such as "
      "--limits.max-sessions, and a variable, VOXLOCD_ with the key in upper case and dots as "
      "underscores, such as VOXLOCD_LIMITS_MAX_SESSIONS; a flag wins over the environment, the "
      "environment over the file. A change needs a restart unless SIGHUP takes it over. voxlocd "
      "--check-config --config=FILE checks a file.";
  std::string text;
  for (const absl::string_view paragraph : absl::StrSplit(head, '\n')) {
    absl::StrAppend(&text, Wrapped(paragraph, ""));
  }
  return absl::StrCat(text, Yaml(Config(), table, comments));
}

}  // namespace voxloc::server
