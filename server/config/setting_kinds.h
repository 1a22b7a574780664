// SPDX-License-Identifier: Apache-2.0
//
// The kinds of settings: how a value is read from text, what is allowed, and how it is written as
// text that reads back as the same value. `member` is that of Config or of one of its groups, such
// as &Limits::max_sessions, and its value there is the default. Thread-safe: no state.

#ifndef VOXLOC_SERVER_CONFIG_SETTING_KINDS_H_
#define VOXLOC_SERVER_CONFIG_SETTING_KINDS_H_

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "core/engine/profile_text.h"
#include "core/estimate/calibration/sensor_calibration.h"
#include "core/text/host_port.h"
#include "server/config/config.h"
#include "server/config/config_input.h"
#include "server/config/settings.h"

namespace voxloc::server::setting_kinds {

using Names = std::vector<std::string>;

// InvalidArgument: "KEY must be REQUIREMENT (got 'VALUE')".
inline absl::Status Refuse(absl::string_view key, absl::string_view value,
                           absl::string_view requirement) {
  return absl::InvalidArgumentError(
      absl::StrCat(key, " must be ", requirement, " (got '", value, "')"));
}

// A whole number of bytes, or of KiB, MiB, GiB or TiB with the suffix K, M, G or T.
inline bool ParseBytes(absl::string_view value, uint64_t& bytes) {
  const size_t power =
      value.empty() ? absl::string_view::npos : absl::string_view("KMGT").find(value.back());
  uint64_t unit = 1;
  if (power != absl::string_view::npos) {
    unit = uint64_t{1} << (10 * (power + 1));
    value.remove_suffix(1);
  }
  uint64_t count = 0;
  if (!absl::SimpleAtoi(value, &count)) return false;
  if (count > std::numeric_limits<uint64_t>::max() / unit) return false;
  bytes = count * unit;
  return true;
}

inline constexpr absl::string_view kAddressRequirement =
    "ADDR:PORT with a port from 0 to 65535, such as 127.0.0.1:50051 or [::1]:50051";

// The shortest text that reads back as the same number.
inline std::string NumberText(double value) {
  char text[32];  // 24 characters at most: "-2.2250738585072014e-308"
  const std::to_chars_result end = std::to_chars(std::begin(text), std::end(text), value);
  return {text, end.ptr};
}

// The value in a configuration.
template <typename AnyConfig, typename Group, typename Value>
auto& In(AnyConfig& config, Value Group::*member) {
  using Part = std::conditional_t<std::is_const_v<AnyConfig>, const Group, Group>;
  return std::get<Part&>(std::tie(config, config.store, config.residency, config.tls,
                                  config.capture, config.map_update, config.connections,
                                  config.limits)).*
         member;
}

// `parse` sets the value and returns "", or returns the requirement that the text does not meet.
template <typename Member, typename Parse, typename Print>
Setting Make(const std::string& key, Member member, std::string value_name, std::string help,
             bool reloadable, Parse parse, Print print) {
  auto set = [key, member, parse](absl::string_view text, Config& config) {
    const std::string requirement = parse(text, In(config, member));
    return requirement.empty() ? absl::OkStatus() : Refuse(key, text, requirement);
  };
  return {key,
          std::move(value_name),
          std::move(help),
          std::move(set),
          [member, print](const Config& config) { return print(In(config, member)); },
          reloadable};
}

inline constexpr auto kPlain = [](const auto& value) { return absl::StrCat(value); };
inline constexpr auto kJoined = [](const auto& values) { return absl::StrJoin(values, ","); };

template <typename Member>
Setting Text(const std::string& key, Member member, std::string value_name, std::string help) {
  const auto parse = [](absl::string_view text, std::string& value) {
    value = std::string(text);
    return "";
  };
  return Make(key, member, std::move(value_name), std::move(help), false, parse, kPlain);
}

template <typename Member>
Setting Choice(const std::string& key, Member member, const Names& choices, std::string help,
               bool reloadable = false) {
  const auto parse = [choices](absl::string_view text, std::string& value) -> std::string {
    if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
      return absl::StrCat("one of ", absl::StrJoin(choices, ", "));
    }
    value = std::string(text);
    return "";
  };
  return Make(key, member, absl::StrJoin(choices, "|"), std::move(help), reloadable, parse, kPlain);
}

template <typename Member>
Setting Switch(const std::string& key, Member member, std::string help) {
  const auto parse = [](absl::string_view text, bool& value) {
    bool parsed = false;
    if (!absl::SimpleAtob(text, &parsed)) return "true or false";
    value = parsed;
    return "";
  };
  const auto print = [](bool value) -> std::string { return value ? "true" : "false"; };
  return Make(key, member, "true|false", std::move(help), false, parse, print);
}

template <typename Group, typename Value>
Setting Count(const std::string& key, Value Group::*member, uint64_t min, uint64_t max,
              const std::string& help, bool reloadable = false) {
  const auto parse = [min, max](absl::string_view text, Value& value) -> std::string {
    uint64_t parsed = 0;
    if (!absl::SimpleAtoi(text, &parsed) || parsed < min || parsed > max) {
      return absl::StrCat("a whole number from ", min, " to ", max);
    }
    value = static_cast<Value>(parsed);
    return "";
  };
  return Make(key, member, "N", absl::StrCat(help, " (", min, " to ", max, ")"), reloadable, parse,
              kPlain);
}

template <typename Member>
Setting Bytes(const std::string& key, Member member, std::string help) {
  const auto parse = [](absl::string_view text, uint64_t& value) {
    return ParseBytes(text, value)
               ? ""
               : "a whole number of bytes, or of KiB, MiB, GiB or TiB such as 512M or 8G";
  };
  return Make(key, member, "BYTES", std::move(help), false, parse, kPlain);
}

// The same, from `min` to `max`, or 0 for a value that follows from other things.
template <typename Member>
Setting BytesOrZero(const std::string& key, Member member, uint64_t min, uint64_t max,
                    const std::string& help, bool reloadable) {
  const auto parse = [min, max](absl::string_view text, uint64_t& value) -> std::string {
    uint64_t bytes = 0;
    if (!ParseBytes(text, bytes) || (bytes != 0 && (bytes < min || bytes > max))) {
      return absl::StrCat("0 or from ", min, " to ", max, " bytes, such as 512M or 8G");
    }
    value = bytes;
    return "";
  };
  return Make(key, member, "BYTES", absl::StrCat(help, " (", min, " to ", max, ")"), reloadable,
              parse, kPlain);
}

// Whole numbers, each once, with commas between.
template <typename Member>
Setting Ordinals(const std::string& key, Member member, std::string help) {
  const auto parse = [](absl::string_view text, std::vector<uint32_t>& value) -> std::string {
    std::vector<uint32_t> parsed;
    for (const absl::string_view word : absl::StrSplit(text, ',')) {
      uint32_t ordinal = 0;
      if (!absl::SimpleAtoi(word, &ordinal)) {
        return "whole numbers separated by commas, such as 0 or 0,1";
      }
      if (std::find(parsed.begin(), parsed.end(), ordinal) != parsed.end()) {
        return absl::StrCat("a list without repetitions; ", ordinal, " is repeated");
      }
      parsed.push_back(ordinal);
    }
    value = std::move(parsed);
    return "";
  };
  return Make(key, member, "N,...", std::move(help), false, parse, kJoined);
}

// Some of the choices, each once, with commas between.
template <typename Member>
Setting Choices(const std::string& key, Member member, const Names& choices,
                const std::string& help, bool reloadable) {
  const auto parse = [choices](absl::string_view text, Names& value) -> std::string {
    Names parsed;
    for (const absl::string_view word : absl::StrSplit(text, ',')) {
      const std::string name(absl::StripAsciiWhitespace(word));
      if (std::find(choices.begin(), choices.end(), name) == choices.end() ||
          std::find(parsed.begin(), parsed.end(), name) != parsed.end()) {
        return absl::StrCat("some of ", absl::StrJoin(choices, ", "),
                            ", each once, separated by commas");
      }
      parsed.push_back(name);
    }
    value = std::move(parsed);
    return "";
  };
  return Make(key, member, "NAME,...",
              absl::StrCat(help, " (some of ", absl::StrJoin(choices, ", "), ")"), reloadable,
              parse, kJoined);
}

template <typename Member>
Setting Number(const std::string& key, Member member, double min, double max,
               const std::string& help, bool reloadable = false) {
  const auto parse = [min, max](absl::string_view text, double& value) -> std::string {
    double parsed = 0.0;
    if (!absl::SimpleAtod(text, &parsed) || !(parsed >= min && parsed <= max)) {
      return absl::StrCat("a number from ", min, " to ", max);
    }
    value = parsed;
    return "";
  };
  return Make(key, member, "X", absl::StrCat(help, " (", min, " to ", max, ")"), reloadable, parse,
              NumberText);
}

// ADDR:PORT, and `off` where that is allowed.
template <typename Member>
Setting Address(const std::string& key, Member member, bool may_be_off, std::string help) {
  const auto parse = [may_be_off](absl::string_view text, std::string& value) -> std::string {
    if (!(may_be_off && text == "off") && !ParseHostPort(text, PortZero::kAllowed).ok()) {
      return std::string(kAddressRequirement);
    }
    value = std::string(text);
    return "";
  };
  return Make(key, member, may_be_off ? "ADDR:PORT|off" : "ADDR:PORT", std::move(help), false,
              parse, kPlain);
}

// The URL of a database. A value that is refused is not repeated: it may have a password, which the
// list of processes and the printed configuration would show.
inline Setting StoreUrl(std::string help) {
  const std::string key = "store.url";
  auto set = [key](absl::string_view value, Config& config) {
    const auto refuse = [&key](absl::string_view why) {
      return absl::InvalidArgumentError(absl::StrCat(key, " ", why));
    };
    const bool url =
        absl::StartsWith(value, "postgresql://") || absl::StartsWith(value, "postgres://");
    if (!value.empty() && !url) {
      return refuse("must be a URL such as postgresql://voxloc@db.example.com/voxloc");
    }
    // Between "//" and the path: USER:PASSWORD@HOST:PORT.
    absl::string_view authority = value.substr(url ? value.find("//") + 2 : 0);
    authority = authority.substr(0, authority.find_first_of("/?"));
    const size_t at = authority.rfind('@');
    const bool of_user = at != absl::string_view::npos &&
                         authority.substr(0, at).find(':') != absl::string_view::npos;
    if (of_user || absl::StrContains(value, "password=")) {
      return refuse(
          "must not have a password, which others could read; put it into the variable "
          "PGPASSWORD, or into a file that the variable PGPASSFILE names");
    }
    // libpq takes several hosts.
    for (const absl::string_view host : absl::StrSplit(authority, ',')) {
      if (const absl::Status port = CheckUrlPort(host); !port.ok()) return refuse(port.message());
    }
    config.store.url = std::string(value);
    return absl::OkStatus();
  };
  return {key, "URL", std::move(help), std::move(set),
          [](const Config& config) { return config.store.url; }};
}

// The files are read when the value is set.
inline Setting ProfileFiles(std::string help) {
  const std::string key = "profile_files";
  auto set = [key](absl::string_view value, Config& config) -> absl::Status {
    const Names files = absl::StrSplit(value, ',', absl::SkipEmpty());
    ProfileSet profiles;
    for (const std::string& file : files) {
      auto text = ReadTextFile(file, kMaxProfileBytes);
      if (!text.ok()) {
        return {text.status().code(), absl::StrCat(key, ": ", text.status().message())};
      }
      absl::StatusOr<Profile> profile = ParseProfile(*text, file);
      if (!profile.ok()) {
        return {profile.status().code(), absl::StrCat(key, ": ", profile.status().message())};
      }
      if (const absl::Status added = profiles.Add(*std::move(profile)); !added.ok()) {
        return {added.code(), absl::StrCat(key, ": ", file, ": ", added.message())};
      }
    }
    config.profile_files = files;
    config.profiles = std::move(profiles);
    return absl::OkStatus();
  };
  return {key, "FILE,...", std::move(help), std::move(set),
          [](const Config& config) { return kJoined(config.profile_files); }};
}

// The file is read when the value is set.
inline Setting SensorCalibrationFile(std::string help) {
  const std::string key = "sensor_calibration";
  auto set = [key](absl::string_view value, Config& config) {
    absl::StatusOr<SensorCalibrations> sensors = SensorCalibrations();
    if (!value.empty()) sensors = ReadCalibrationFile(std::string(value));
    if (!sensors.ok()) {
      return absl::Status(sensors.status().code(),
                          absl::StrCat(key, ": ", sensors.status().message()));
    }
    config.sensor_calibration = std::string(value);
    config.sensors = *std::move(sensors);
    return absl::OkStatus();
  };
  return {key, "FILE", std::move(help), std::move(set),
          [](const Config& config) { return config.sensor_calibration; }};
}

}  // namespace voxloc::server::setting_kinds

#endif  // VOXLOC_SERVER_CONFIG_SETTING_KINDS_H_
