// SPDX-License-Identifier: Apache-2.0

#include "server/config/config_text.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <regex>
#include <sstream>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "core/text/utf8.h"
#include "server/config/config_input.h"

namespace voxloc::server {
namespace {

constexpr size_t kColumns = 100;  // as all files of the repository

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

using Comment = std::function<std::string(const Setting& setting)>;

// Each value with a comment in lines above it or behind it. The table has the keys of a group in a
// row.
std::string Yaml(const Config& config, const SettingTable& table, const Comment& above,
                 const Comment& behind) {
  std::string text;
  std::string group;
  for (const Setting& setting : table) {
    if (setting.secret) continue;
    const size_t dot = setting.key.find('.');
    const bool grouped = dot != std::string::npos;
    const std::string previous =
        std::exchange(group, grouped ? setting.key.substr(0, dot) : std::string());
    if (grouped && group != previous) absl::StrAppend(&text, above ? "\n" : "", group, ":\n");
    const absl::string_view indent = grouped ? "  " : "";
    if (above) absl::StrAppend(&text, "\n", Wrapped(above(setting), indent));
    absl::StrAppend(&text, indent, setting.key.substr(grouped ? dot + 1 : 0), ": ",
                    YamlScalar(setting.get(config)), behind ? "  # " + behind(setting) : "", "\n");
  }
  return text;
}

std::string OriginText(const std::string& key, const ConfigOrigins& origins) {
  const auto found = origins.find(key);
  if (found == origins.end()) return "default";
  constexpr absl::string_view kBefore[] = {"default", "default: ", "", "environment variable ",
                                           "flag "};  // by ConfigOrigin
  return absl::StrCat(kBefore[static_cast<size_t>(found->second.origin)],
                      absl::Utf8SafeCEscape(found->second.place));
}

// The address and the ports of a service (kubernetes.io, "Service: Environment variables"), with
// the names of the links of Docker that they copy.
bool IsKubernetesVariable(const std::string& name, absl::string_view value) {
  static const auto* const service = new std::regex(
      "VOXLOCD_(.*_)?(SERVICE_HOST|SERVICE_PORT(_.+)?|"
      "PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)");
  if (std::regex_match(name, *service)) return true;
  const bool url = absl::StartsWith(value, "tcp://") || absl::StartsWith(value, "udp://") ||
                   absl::StartsWith(value, "sctp://");
  return url && absl::EndsWith(name, "_PORT");
}

std::string KindOf(const YAML::Node& node) {
  if (node.IsSequence()) return "a list";
  if (node.IsMap()) return "a map";
  return "null";
}

// Marks count from 0; -1: unknown.
std::string PlaceOf(absl::string_view name, const YAML::Mark& mark) {
  if (mark.is_null()) return std::string(name);
  return absl::StrCat(name, ":", mark.line + 1, ":", mark.column + 1);
}

// Whether there are keys "GROUP.something".
bool IsSettingGroup(absl::string_view group, const SettingTable& table) {
  const std::string prefix = absl::StrCat(absl::StrReplaceAll(group, {{"-", "_"}}), ".");
  return std::any_of(table.begin(), table.end(), [&prefix](const Setting& setting) {
    return absl::StartsWith(setting.key, prefix);
  });
}

class YamlReader {
 public:
  YamlReader(absl::string_view name, const SettingTable& table, ConfigErrors& errors)
      : name_(name), table_(table), errors_(errors) {}

  void Read(const YAML::Node& map, const std::string& prefix) {
    for (const auto& entry : map) {
      if (errors_.full()) return;
      const YAML::Mark mark = entry.first.Mark();
      const std::string problem =
          entry.first.IsScalar()
              ? ReadEntry(absl::StrCat(prefix, entry.first.Scalar()), mark, entry.second)
              : absl::StrCat("a key must be a word (got ", KindOf(entry.first), ")");
      if (!problem.empty()) errors_.Add(PlaceOf(name_, mark), problem);
    }
  }

  std::vector<ConfigValue> values;

 private:
  // "": the entry is right, or the errors of its group are added.
  std::string ReadEntry(const std::string& key, const YAML::Mark& mark, const YAML::Node& node) {
    const Setting* setting = FindSetting(key, table_);
    if (setting == nullptr) {
      if (!IsSettingGroup(key, table_)) {
        std::vector<std::string> known;
        for (const Setting& each : table_) known.push_back(each.key);
        return absl::StrCat("unknown key ", key, DidYouMean(key, known));
      }
      if (!node.IsMap()) {
        return absl::StrCat(key, " must be a map of keys to values (got ",
                            node.IsScalar() ? absl::StrCat("'", node.Scalar(), "'") : KindOf(node),
                            ")");
      }
      Read(node, key + ".");
      return "";
    }
    if (!node.IsScalar()) {
      return absl::StrCat(setting->key, " must be one value (got ", KindOf(node),
                          node.IsNull() ? "; an empty text is \"\")" : ")");
    }
    const auto [first, inserted] = lines_.emplace(setting->key, mark.line + 1);
    if (!inserted) {
      return absl::StrCat(setting->key, " is there twice, in line ", first->second, " too");
    }
    const ConfigLocation place{ConfigOrigin::kFile, absl::StrCat(name_, ":", mark.line + 1)};
    values.push_back({setting->key, node.Scalar(), place, PlaceOf(name_, node.Mark())});
    return "";
  }

  const absl::string_view name_;
  const SettingTable& table_;
  ConfigErrors& errors_;
  std::map<std::string, int> lines_;
};

// yaml-cpp's own handlers are not exported from its library.
struct IgnoreEvents : YAML::EventHandler {
  using Mark = YAML::Mark;
  using Anchor = YAML::anchor_t;
  using Style = YAML::EmitterStyle::value;
  void OnDocumentStart(const Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const Mark&, Anchor) override {}
  void OnAlias(const Mark&, Anchor) override {}
  void OnScalar(const Mark&, const std::string&, Anchor, const std::string&) override {}
  void OnSequenceStart(const Mark&, const std::string&, Anchor, Style) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const Mark&, const std::string&, Anchor, Style) override {}
  void OnMapEnd() override {}
};

// Two steps of the parser, not YAML::LoadAll: with a comma at the start of a document, yaml-cpp 0.7
// yields documents forever, and LoadAll does not return.
bool HasSecondDocument(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  IgnoreEvents events;
  return parser.HandleNextDocument(events) && parser.HandleNextDocument(events);
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
  return Yaml(config, table, nullptr,
              [&origins](const Setting& setting) { return OriginText(setting.key, origins); });
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
  const auto above = [](const Setting& setting) {
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
  return absl::StrCat(text, Yaml(Config(), table, above, nullptr));
}

std::string VariableOfKey(absl::string_view key) {
  return absl::StrCat(kVariablePrefix,
                      absl::AsciiStrToUpper(absl::StrReplaceAll(key, {{".", "_"}})));
}

EnvironmentSettings ReadEnvironment(const char* const* environment, const SettingTable& table,
                                    ConfigErrors& errors) {
  EnvironmentSettings result;
  std::map<std::string, const Setting*> settings;
  std::vector<std::string> known = {std::string(kConfigVariable)};
  for (const Setting& setting : table) {
    known.push_back(VariableOfKey(setting.key));
    settings.emplace(known.back(), &setting);
  }
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const absl::string_view variable = *environment;
    if (!absl::StartsWith(variable, kVariablePrefix)) continue;
    const std::string name(variable.substr(0, variable.find('=')));
    if (name.size() == variable.size()) continue;  // not of the form NAME=VALUE
    const absl::string_view value = variable.substr(name.size() + 1);
    if (name == kConfigVariable) {
      result.config_path = std::string(value);
    } else if (const auto found = settings.find(name); found != settings.end()) {
      const ConfigLocation place{ConfigOrigin::kEnvironment, name};
      result.values.push_back({found->second->key, std::string(value), place, name});
    } else if (!IsKubernetesVariable(name, value)) {
      errors.Add("environment", absl::StrCat("unknown variable ", name,
                                             DidYouMean(absl::AsciiStrToUpper(name), known)));
    }
  }
  return result;
}

absl::StatusOr<std::string> ReadConfigFile(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return absl::InvalidArgumentError("the configuration must be a file (got a directory)");
  }
  auto text = ReadTextFile(path, kMaxConfigFileBytes);
  // The caller adds the path.
  if (absl::IsInvalidArgument(text.status())) {
    return absl::InvalidArgumentError(absl::StrCat("the configuration must have at most ",
                                                   kMaxConfigFileBytes, " bytes (got more)"));
  }
  if (!text.ok()) return absl::NotFoundError("cannot read the file");
  if (const size_t valid = Utf8PrefixLength(*text); valid < text->size()) {
    const auto line =
        1 + std::count(text->begin(), text->begin() + static_cast<ptrdiff_t>(valid), '\n');
    return absl::InvalidArgumentError(
        absl::StrCat("the configuration must be UTF-8 text (line ", line, " is not)"));
  }
  return text;
}

std::vector<ConfigValue> ParseYamlSettings(absl::string_view yaml, absl::string_view name,
                                           const SettingTable& table, ConfigErrors& errors) {
  YamlReader reader(name, table, errors);
  try {
    const std::string text(yaml);
    const YAML::Node document = YAML::Load(text);
    if (HasSecondDocument(text)) {
      errors.Add(name, "the configuration must be one YAML document (got more)");
    } else if (document.IsMap()) {
      reader.Read(document, "");
    } else if (!document.IsNull()) {
      errors.Add(name, absl::StrCat("the configuration must be a map of keys to values (got ",
                                    document.IsScalar() ? "one value" : "a list", ")"));
    }
  } catch (const YAML::Exception& error) {  // yaml-cpp reports by exception
    errors.Add(PlaceOf(name, error.mark), absl::StrCat("not YAML: ", error.msg));
  } catch (const std::exception& error) {
    errors.Add(name, absl::StrCat("not YAML: ", error.what()));
  }
  return std::move(reader.values);
}

}  // namespace voxloc::server
