// SPDX-License-Identifier: Apache-2.0

#include "server/config/environment.h"

#include <map>
#include <regex>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/text/nearest_name.h"

namespace voxloc::server {
namespace {

// Of a service: its address and ports (kubernetes.io, "Service: Environment variables"), with the
// names of the links of Docker that they copy.
bool IsOfKubernetes(const std::string& name, absl::string_view value) {
  static const auto* const service = new std::regex(
      "VOXLOCD_(.*_)?(SERVICE_HOST|SERVICE_PORT(_.+)?|"
      "PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)");
  if (std::regex_match(name, *service)) return true;
  const bool url = absl::StartsWith(value, "tcp://") || absl::StartsWith(value, "udp://") ||
                   absl::StartsWith(value, "sctp://");
  return url && absl::EndsWith(name, "_PORT");
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
      const ConfigPlace place{ConfigOrigin::kEnvironment, name};
      result.values.push_back({found->second->key, std::string(value), place, name});
    } else if (!IsOfKubernetes(name, value)) {
      const std::string nearest = NearestName(absl::AsciiStrToUpper(name), known);
      errors.Add(
          "environment",
          absl::StrCat("unknown variable ", name,
                       nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?")));
    }
  }
  return result;
}

}  // namespace voxloc::server
