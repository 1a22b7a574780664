// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/flags/contexts.h"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/dataset/yaml_file.h"
#include "core/cloud/io/file_bytes.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

namespace fs = std::filesystem;
using client::ChannelOptions;

struct TextField {
  const char* key;
  std::string ChannelOptions::*value;
  bool is_file = false;
};
constexpr std::array<TextField, 6> kTexts = {
    {{"server", &ChannelOptions::server},
     {"tls_ca", &ChannelOptions::tls_ca_file, true},
     {"tls_cert", &ChannelOptions::tls_certificate_file, true},
     {"tls_key", &ChannelOptions::tls_key_file, true},
     {"tls_server_name", &ChannelOptions::tls_server_name},
     {"token_file", &ChannelOptions::token_file, true}}};

struct SwitchField {
  const char* key;
  bool ChannelOptions::*value;
};
constexpr std::array<SwitchField, 2> kSwitches = {
    {{"tls", &ChannelOptions::tls},
     {"allow_insecure_token", &ChannelOptions::allow_insecure_token}}};

absl::Status ReadField(const std::string& path, const YAML::Node& key, const YAML::Node& value,
                       ChannelOptions& context) {
  const std::string name = key.IsScalar() ? key.Scalar() : "";
  for (const TextField& field : kTexts) {
    if (name != field.key) continue;
    if (!value.IsScalar() || value.Scalar().empty()) {
      return YamlErrorAt(path, key, absl::StrCat(name, " must be a text"));
    }
    context.*field.value = value.Scalar();
    return absl::OkStatus();
  }
  for (const SwitchField& field : kSwitches) {
    if (name != field.key) continue;
    if (!value.IsScalar() || (value.Scalar() != "true" && value.Scalar() != "false")) {
      return YamlErrorAt(path, key, absl::StrCat(name, " must be true or false"));
    }
    context.*field.value = value.Scalar() == "true";
    return absl::OkStatus();
  }
  const auto key_of = [](std::string* out, const auto& field) { out->append(field.key); };
  return YamlErrorAt(
      path, key,
      absl::StrCat("the key of a context must be one of ", absl::StrJoin(kTexts, ", ", key_of),
                   ", ", absl::StrJoin(kSwitches, ", ", key_of), " (got '", name, "')"));
}

absl::Status ReadAll(const std::string& path, const YAML::Node& root, Contexts& contexts) {
  if (root.IsNull()) return absl::OkStatus();
  if (!root.IsMap()) return YamlErrorAt(path, root, "must be a map of current and contexts");
  for (const auto& entry : root) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
    if (key == "current" && entry.second.IsScalar()) {
      contexts.current = entry.second.Scalar();
    } else if (key == "contexts" && entry.second.IsMap()) {
      for (const auto& named : entry.second) {
        if (!named.first.IsScalar() || !named.second.IsMap()) {
          return YamlErrorAt(path, named.first, "a context must be a name with a map of keys");
        }
        ChannelOptions& context = contexts.by_name[named.first.Scalar()];
        for (const auto& field : named.second) {
          VOXLOC_TRY(ReadField(path, field.first, field.second, context));
        }
        if (context.server.empty()) {
          return YamlErrorAt(path, named.first,
                             absl::StrCat("context ", named.first.Scalar(), " must have a server"));
        }
      }
    } else {
      return YamlErrorAt(
          path, entry.first,
          absl::StrCat("the keys must be current, a name, and contexts, a map (got '", key, "')"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ChannelOptions> Contexts::Find(const std::string& name) const {
  const auto found = by_name.find(name);
  if (found != by_name.end()) return found->second;
  const auto name_of = [](std::string* out, const auto& entry) { out->append(entry.first); };
  return absl::NotFoundError(absl::StrCat(
      "the context must be one of ",
      by_name.empty() ? "the file's, which has none" : absl::StrJoin(by_name, ", ", name_of),
      " (got '", name, "')"));
}

std::string ContextsPath() {
  const char* folder = std::getenv("XDG_CONFIG_HOME");
  if (folder != nullptr && *folder != '\0') return fs::path(folder) / "voxloc/contexts.yaml";
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return "";
  return fs::path(home) / ".config/voxloc/contexts.yaml";
}

absl::StatusOr<Contexts> ReadContexts(const std::string& path) {
  Contexts contexts;
  std::error_code error;
  if (path.empty() || !fs::exists(path, error)) return contexts;
  VOXLOC_TRY(
      ReadYamlFile(path, [&](const YAML::Node& root) { return ReadAll(path, root, contexts); }));
  return contexts;
}

absl::Status WriteContexts(const std::string& path, const Contexts& contexts) {
  if (path.empty()) {
    return absl::FailedPreconditionError(
        "XDG_CONFIG_HOME or HOME must be set for the file of contexts (got neither)");
  }
  YAML::Emitter yaml;
  yaml << YAML::BeginMap;
  if (!contexts.current.empty()) yaml << YAML::Key << "current" << YAML::Value << contexts.current;
  yaml << YAML::Key << "contexts" << YAML::Value << YAML::BeginMap;
  for (const auto& [name, context] : contexts.by_name) {
    yaml << YAML::Key << name << YAML::Value << YAML::BeginMap;
    for (const auto& [key, value] : ContextFields(context)) {
      yaml << YAML::Key << key << YAML::Value << value;
    }
    yaml << YAML::EndMap;
  }
  yaml << YAML::EndMap << YAML::EndMap;
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  return WriteFileBytes(path, absl::StrCat(yaml.c_str(), "\n"), 0600);
}

std::vector<std::string> ContextNames() {
  std::vector<std::string> names;
  const absl::StatusOr<Contexts> contexts = ReadContexts(ContextsPath());
  if (!contexts.ok()) return names;
  for (const auto& [name, context] : contexts->by_name) names.push_back(name);
  return names;
}

ChannelOptions WithAbsolutePaths(ChannelOptions context) {
  for (const TextField& field : kTexts) {
    std::string& path = context.*field.value;
    if (field.is_file && !path.empty()) path = fs::absolute(path).lexically_normal().string();
  }
  return context;
}

void FillFromContext(const ChannelOptions& context, ChannelOptions* options) {
  const fs::path folder = fs::path(ContextsPath()).parent_path();
  for (const TextField& field : kTexts) {
    std::string& value = options->*field.value;
    const std::string& known = context.*field.value;
    const bool open = value.empty() || field.value == &ChannelOptions::server;
    if (open && !known.empty()) value = field.is_file ? (folder / known).string() : known;
  }
  for (const SwitchField& field : kSwitches) {
    options->*field.value = options->*field.value || context.*field.value;
  }
}

std::vector<std::pair<std::string, std::string>> ContextFields(const ChannelOptions& context) {
  std::vector<std::pair<std::string, std::string>> fields;
  for (const TextField& field : kTexts) {
    if (!(context.*field.value).empty()) fields.emplace_back(field.key, context.*field.value);
  }
  for (const SwitchField& field : kSwitches) {
    if (context.*field.value) fields.emplace_back(field.key, "true");
  }
  return fields;
}

}  // namespace voxloc::cli
