// SPDX-License-Identifier: Apache-2.0

#include "server/config/setting_kinds.h"

#include <charconv>
#include <cstddef>
#include <limits>

#include "absl/strings/match.h"
#include "core/estimate/calibration/sensor_calibration.h"
#include "core/text/host_port.h"

namespace voxloc::server {
namespace setting_kinds {
namespace {

// Between "//" and the path: USER:PASSWORD@HOST:PORT.
absl::string_view AuthorityOf(absl::string_view url) {
  url.remove_prefix(url.find("//") + 2);
  return url.substr(0, url.find_first_of("/?"));
}

// Whether it has a password, which the list of processes and the printed configuration would show.
bool HasPassword(absl::string_view url) {
  const absl::string_view authority = AuthorityOf(url);
  const size_t at = authority.rfind('@');
  const bool of_user =
      at != absl::string_view::npos && authority.substr(0, at).find(':') != absl::string_view::npos;
  return of_user || absl::StrContains(url, "password=");
}

}  // namespace

absl::Status Refuse(absl::string_view key, absl::string_view value, absl::string_view requirement) {
  return absl::InvalidArgumentError(
      absl::StrCat(key, " must be ", requirement, " (got '", value, "')"));
}

bool ParseBytes(absl::string_view value, uint64_t& bytes) {
  constexpr absl::string_view kSuffixes = "KMGT";
  uint64_t unit = 1;
  if (!value.empty()) {
    const size_t place = kSuffixes.find(value.back());
    if (place != absl::string_view::npos) {
      unit = uint64_t{1} << (10 * (place + 1));
      value.remove_suffix(1);
    }
  }
  uint64_t count = 0;
  if (!absl::SimpleAtoi(value, &count)) return false;
  if (count > std::numeric_limits<uint64_t>::max() / unit) return false;
  bytes = count * unit;
  return true;
}

std::string NumberText(double value) {
  char text[32];  // 24 characters at most: "-2.2250738585072014e-308"
  const std::to_chars_result end = std::to_chars(std::begin(text), std::end(text), value);
  return {text, end.ptr};
}

Setting StoreUrl(std::string help) {
  const std::string key = "store.url";
  auto set = [key](absl::string_view value, Config& config) {
    if (!value.empty()) {
      if (!absl::StartsWith(value, "postgresql://") && !absl::StartsWith(value, "postgres://")) {
        return absl::InvalidArgumentError(
            absl::StrCat(key, " must be a URL such as postgresql://voxloc@db.example.com/voxloc"));
      }
      if (HasPassword(value)) {
        return absl::InvalidArgumentError(absl::StrCat(
            key,
            " must not have a password, which others could read; put it into the variable "
            "PGPASSWORD, or into a file that the variable PGPASSFILE names"));
      }
      // libpq takes several hosts.
      for (const absl::string_view host : absl::StrSplit(AuthorityOf(value), ',')) {
        if (const absl::Status port = CheckUrlPort(host); !port.ok()) {
          return absl::InvalidArgumentError(absl::StrCat(key, " ", port.message()));
        }
      }
    }
    config.store.url = std::string(value);
    return absl::OkStatus();
  };
  return {key, "URL", std::move(help), std::move(set),
          [](const Config& config) { return config.store.url; }};
}

Setting SensorCalibrationFile(std::string help) {
  const std::string key = "sensor_calibration";
  auto set = [key](absl::string_view value, Config& config) {
    SensorCalibrations sensors;
    if (!value.empty()) {
      absl::StatusOr<SensorCalibrations> read = ReadCalibrationFile(std::string(value));
      if (!read.ok()) {
        return absl::Status(read.status().code(), absl::StrCat(key, ": ", read.status().message()));
      }
      sensors = *std::move(read);
    }
    config.sensor_calibration = std::string(value);
    config.sensors = std::move(sensors);
    return absl::OkStatus();
  };
  return {key, "FILE", std::move(help), std::move(set),
          [](const Config& config) { return config.sensor_calibration; }};
}

}  // namespace setting_kinds

absl::Status CheckAddress(absl::string_view key, const std::string& address) {
  if (ParseHostPort(address, PortZero::kAllowed).ok()) return absl::OkStatus();
  return setting_kinds::Refuse(key, address, setting_kinds::kAddressRequirement);
}

}  // namespace voxloc::server
