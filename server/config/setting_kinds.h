// SPDX-License-Identifier: Apache-2.0
//
// The kinds of settings: how a value is read from text, what is allowed, and how it is written as
// text that reads back as the same value. In each, `field` is a function from Config& to the
// place of the value. Thread-safe: no state.

#ifndef VOXLOC_SERVER_CONFIG_SETTING_KINDS_H_
#define VOXLOC_SERVER_CONFIG_SETTING_KINDS_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "server/config/address.h"
#include "server/config/config.h"
#include "server/config/settings.h"

namespace voxloc::server::setting_kinds {

// InvalidArgument: "KEY must be REQUIREMENT (got 'VALUE')".
[[nodiscard]] absl::Status Refuse(absl::string_view key, absl::string_view value,
                                  absl::string_view requirement);

// A whole number of bytes, or of KiB, MiB, GiB or TiB with the suffix K, M, G or T.
[[nodiscard]] bool ParseBytes(absl::string_view value, uint64_t& bytes);

// The shortest text that reads back as the same number.
[[nodiscard]] std::string NumberText(double value);

template <typename Field>
Setting Text(std::string key, std::string value_name, std::string help, Field field) {
  return {std::move(key), std::move(value_name), std::move(help),
          [field](absl::string_view value, Config& config) {
            field(config) = std::string(value);
            return absl::OkStatus();
          },
          [field](const Config& config) { return field(config); }};
}

template <typename Field>
Setting Choice(const std::string& key, const std::vector<std::string>& choices, std::string help,
               Field field) {
  auto set = [key, choices, field](absl::string_view value, Config& config) {
    if (std::find(choices.begin(), choices.end(), value) == choices.end()) {
      return Refuse(key, value, absl::StrCat("one of ", absl::StrJoin(choices, ", ")));
    }
    field(config) = std::string(value);
    return absl::OkStatus();
  };
  return {key, absl::StrJoin(choices, "|"), std::move(help), std::move(set),
          [field](const Config& config) { return field(config); }};
}

template <typename Field>
Setting Switch(std::string key, std::string help, Field field) {
  auto set = [key, field](absl::string_view value, Config& config) {
    bool parsed = false;
    if (!absl::SimpleAtob(value, &parsed)) return Refuse(key, value, "true or false");
    field(config) = parsed;
    return absl::OkStatus();
  };
  return {key, "true|false", std::move(help), std::move(set),
          [field](const Config& config) { return std::string(field(config) ? "true" : "false"); }};
}

template <typename Field>
Setting Count(std::string key, uint64_t min, uint64_t max, const std::string& help, Field field) {
  auto set = [key, min, max, field](absl::string_view value, Config& config) {
    uint64_t parsed = 0;
    if (!absl::SimpleAtoi(value, &parsed) || parsed < min || parsed > max) {
      return Refuse(key, value, absl::StrCat("a whole number from ", min, " to ", max));
    }
    using Value = std::remove_reference_t<decltype(field(config))>;
    field(config) = static_cast<Value>(parsed);
    return absl::OkStatus();
  };
  return {key, "N", absl::StrCat(help, " (", min, " to ", max, ")"), std::move(set),
          [field](const Config& config) { return absl::StrCat(field(config)); }};
}

template <typename Field>
Setting Bytes(std::string key, std::string help, Field field) {
  auto set = [key, field](absl::string_view value, Config& config) {
    if (ParseBytes(value, field(config))) return absl::OkStatus();
    return Refuse(key, value,
                  "a whole number of bytes, or of KiB, MiB, GiB or TiB such as 512M or 8G");
  };
  return {key, "BYTES", std::move(help), std::move(set),
          [field](const Config& config) { return absl::StrCat(field(config)); }};
}

// The same, from `min` to `max`, or 0 for a value that follows from other things.
template <typename Field>
Setting BytesOrZero(std::string key, uint64_t min, uint64_t max, const std::string& help,
                    Field field) {
  auto set = [key, min, max, field](absl::string_view value, Config& config) {
    uint64_t bytes = 0;
    if (!ParseBytes(value, bytes) || (bytes != 0 && (bytes < min || bytes > max))) {
      return Refuse(key, value,
                    absl::StrCat("0 or from ", min, " to ", max, " bytes, such as 512M or 8G"));
    }
    field(config) = bytes;
    return absl::OkStatus();
  };
  return {key, "BYTES", absl::StrCat(help, " (", min, " to ", max, ")"), std::move(set),
          [field](const Config& config) { return absl::StrCat(field(config)); }};
}

// Whole numbers, each once, with commas between.
template <typename Field>
Setting Ordinals(std::string key, std::string help, Field field) {
  auto set = [key, field](absl::string_view value, Config& config) {
    std::vector<uint32_t> parsed;
    for (const absl::string_view word : absl::StrSplit(value, ',')) {
      uint32_t ordinal = 0;
      if (!absl::SimpleAtoi(word, &ordinal)) {
        return Refuse(key, value, "whole numbers separated by commas, such as 0 or 0,1");
      }
      if (std::find(parsed.begin(), parsed.end(), ordinal) != parsed.end()) {
        return Refuse(key, value,
                      absl::StrCat("a list without repetitions; ", ordinal, " is repeated"));
      }
      parsed.push_back(ordinal);
    }
    field(config) = std::move(parsed);
    return absl::OkStatus();
  };
  return {key, "N,...", std::move(help), std::move(set),
          [field](const Config& config) { return absl::StrJoin(field(config), ","); }};
}

// Some of the choices, each once, with commas between.
template <typename Field>
Setting Choices(const std::string& key, const std::vector<std::string>& choices, std::string help,
                Field field) {
  auto set = [key, choices, field](absl::string_view value, Config& config) {
    std::vector<std::string> parsed;
    for (const absl::string_view word : absl::StrSplit(value, ',')) {
      const std::string name(absl::StripAsciiWhitespace(word));
      if (std::find(choices.begin(), choices.end(), name) == choices.end() ||
          std::find(parsed.begin(), parsed.end(), name) != parsed.end()) {
        return Refuse(key, value,
                      absl::StrCat("some of ", absl::StrJoin(choices, ", "),
                                   ", each once, separated by commas"));
      }
      parsed.push_back(name);
    }
    field(config) = std::move(parsed);
    return absl::OkStatus();
  };
  help = absl::StrCat(help, " (some of ", absl::StrJoin(choices, ", "), ")");
  return {key, "NAME,...", std::move(help), std::move(set),
          [field](const Config& config) { return absl::StrJoin(field(config), ","); }};
}

template <typename Field>
Setting Number(std::string key, double min, double max, const std::string& help, Field field) {
  auto set = [key, min, max, field](absl::string_view value, Config& config) {
    double parsed = 0.0;
    if (!absl::SimpleAtod(value, &parsed) || !(parsed >= min && parsed <= max)) {
      return Refuse(key, value, absl::StrCat("a number from ", min, " to ", max));
    }
    field(config) = parsed;
    return absl::OkStatus();
  };
  return {key, "X", absl::StrCat(help, " (", min, " to ", max, ")"), std::move(set),
          [field](const Config& config) { return NumberText(field(config)); }};
}

// ADDR:PORT, and `off` where the caller allows it.
template <typename Field>
Setting Address(std::string key, bool may_be_off, std::string help, Field field) {
  auto set = [key, may_be_off, field](absl::string_view value, Config& config) {
    if (!(may_be_off && value == "off")) {
      if (absl::Status status = CheckAddress(key, std::string(value)); !status.ok()) return status;
    }
    field(config) = std::string(value);
    return absl::OkStatus();
  };
  return {key, may_be_off ? "ADDR:PORT|off" : "ADDR:PORT", std::move(help), std::move(set),
          [field](const Config& config) { return field(config); }};
}

}  // namespace voxloc::server::setting_kinds

#endif  // VOXLOC_SERVER_CONFIG_SETTING_KINDS_H_
