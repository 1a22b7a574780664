// SPDX-License-Identifier: Apache-2.0

#include "server/config/config_sources.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <map>
#include <regex>
#include <sstream>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/text/nearest_name.h"
#include "core/text/utf8.h"
#include "server/config/text_file.h"

namespace voxloc::server {
namespace {

// Of a service: its address and ports (kubernetes.io, "Service: Environment variables"), with the
// names of the links of Docker that they copy.
bool IsKubernetesVariable(const std::string& name, absl::string_view value) {
  static const auto* const service = new std::regex(
      "VOXLOCD_(.*_)?(SERVICE_HOST|SERVICE_PORT(_.+)?|"
      "PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)");
  if (std::regex_match(name, *service)) return true;
  const bool url = absl::StartsWith(value, "tcp://") || absl::StartsWith(value, "udp://") ||
                   absl::StartsWith(value, "sctp://");
  return url && absl::EndsWith(name, "_PORT");
}

absl::string_view KindOf(const YAML::Node& node) {
  if (node.IsSequence()) return "a list";
  if (node.IsMap()) return "a map";
  return "null";
}

class Reader {
 public:
  Reader(absl::string_view name, const SettingTable& table, ConfigErrors& errors)
      : name_(name), table_(table), errors_(errors) {}

  void Read(const YAML::Node& map, const std::string& prefix) {
    for (const auto& entry : map) {
      if (errors_.full()) return;
      const YAML::Mark mark = entry.first.Mark();
      if (!entry.first.IsScalar()) {
        errors_.Add(Where(mark),
                    absl::StrCat("a key must be a word (got ", KindOf(entry.first), ")"));
        continue;
      }
      ReadEntry(absl::StrCat(prefix, entry.first.Scalar()), mark, entry.second);
    }
  }

  std::vector<ConfigValue> Take() { return std::move(values_); }

 private:
  void ReadEntry(const std::string& key, const YAML::Mark& mark, const YAML::Node& node) {
    const Setting* setting = FindSetting(key, table_);
    const bool group = setting == nullptr && IsSettingGroup(key, table_);
    if (setting == nullptr && !group) {
      errors_.Add(Where(mark), UnknownSetting("key", key, SettingKeys(table_)));
    } else if (group) {
      if (node.IsMap()) {
        Read(node, key + ".");
      } else {
        errors_.Add(Where(mark),
                    absl::StrCat(key, " must be a map of keys to values (got ",
                                 node.IsScalar() ? absl::StrCat("'", node.Scalar(), "'")
                                                 : std::string(KindOf(node)),
                                 ")"));
      }
    } else if (!node.IsScalar()) {
      errors_.Add(Where(mark), absl::StrCat(setting->key, " must be one value (got ", KindOf(node),
                                            node.IsNull() ? "; an empty text is \"\")" : ")"));
    } else {
      Keep(*setting, mark, node);
    }
  }

  void Keep(const Setting& setting, const YAML::Mark& mark, const YAML::Node& node) {
    const auto [first, inserted] = lines_.emplace(setting.key, mark.line + 1);
    if (!inserted) {
      errors_.Add(Where(mark),
                  absl::StrCat(setting.key, " is there twice, in line ", first->second, " too"));
      return;
    }
    const ConfigLocation place{ConfigOrigin::kFile, absl::StrCat(name_, ":", mark.line + 1)};
    values_.push_back({setting.key, node.Scalar(), place, Where(node.Mark())});
  }

  // Marks count from 0; -1: unknown.
  [[nodiscard]] std::string Where(const YAML::Mark& mark) const {
    if (mark.is_null()) return std::string(name_);
    return absl::StrCat(name_, ":", mark.line + 1, ":", mark.column + 1);
  }

  const absl::string_view name_;
  const SettingTable& table_;
  ConfigErrors& errors_;
  std::map<std::string, int> lines_;
  std::vector<ConfigValue> values_;
};

class IgnoreEvents : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}
  void OnAlias(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}
  void OnScalar(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                const std::string& /*value*/) override {}
  void OnSequenceStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/,
                       YAML::anchor_t /*anchor*/, YAML::EmitterStyle::value /*style*/) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {}
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
      const std::string nearest = NearestName(absl::AsciiStrToUpper(name), known);
      errors.Add(
          "environment",
          absl::StrCat("unknown variable ", name,
                       nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?")));
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
  Reader reader(name, table, errors);
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
    const std::string line =
        error.mark.is_null() ? ""
                             : absl::StrCat(":", error.mark.line + 1, ":", error.mark.column + 1);
    errors.Add(absl::StrCat(name, line), absl::StrCat("not YAML: ", error.msg));
  } catch (const std::exception& error) {
    errors.Add(name, absl::StrCat("not YAML: ", error.what()));
  }
  return reader.Take();
}

}  // namespace voxloc::server
