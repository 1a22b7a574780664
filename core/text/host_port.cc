// SPDX-License-Identifier: Apache-2.0

#include "core/text/host_port.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace voxloc {
namespace {

constexpr uint32_t kMaxPort = 65'535;
constexpr size_t kMaxDigits = 5;

absl::string_view RangeOf(PortZero zero) {
  return zero == PortZero::kAllowed ? "0 to 65535" : "1 to 65535";
}

bool IsHost(absl::string_view host, bool bracketed) {
  return !host.empty() && std::all_of(host.begin(), host.end(), [bracketed](char c) {
    return absl::ascii_isgraph(static_cast<unsigned char>(c)) && c != '[' && c != ']' && c != '/' &&
           c != ',' && (c != ':' || bracketed);
  });
}

}  // namespace

absl::StatusOr<uint16_t> ParsePort(absl::string_view text, PortZero zero) {
  uint32_t port = 0;
  const bool digits = text.size() <= kMaxDigits &&
                      std::all_of(text.begin(), text.end(), absl::ascii_isdigit) &&
                      absl::SimpleAtoi(text, &port);
  if (digits && port <= kMaxPort && (port > 0 || zero == PortZero::kAllowed)) {
    return static_cast<uint16_t>(port);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("must be a port from ", RangeOf(zero), " (got '", text, "')"));
}

absl::StatusOr<HostPort> ParseHostPort(absl::string_view text, PortZero zero) {
  const size_t colon = text.rfind(':');
  absl::string_view host = text.substr(0, colon == absl::string_view::npos ? 0 : colon);
  const bool numbers_of_ipv6 = absl::StrContains(host, ":") && !absl::StrContains(host, "/");
  const bool bracketed =
      host.size() > 2 && absl::StartsWith(host, "[") && absl::EndsWith(host, "]");
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (colon != absl::string_view::npos && IsHost(host, bracketed)) {
    const auto port = ParsePort(text.substr(colon + 1), zero);
    if (port.ok()) return HostPort{std::string(host), *port};
  }
  return absl::InvalidArgumentError(
      absl::StrCat("must be HOST:PORT with a port from ", RangeOf(zero),
                   numbers_of_ipv6 && !bracketed ? " and an IPv6 address in brackets" : "",
                   " (got '", text, "')"));
}

absl::Status CheckUrlPort(absl::string_view authority) {
  authority.remove_prefix(authority.rfind('@') + 1);  // npos + 1 is 0
  const size_t colon = authority.rfind(':');
  const size_t bracket = authority.rfind(']');
  const bool of_ipv6 = bracket != absl::string_view::npos && colon < bracket;
  if (colon == absl::string_view::npos || of_ipv6) return absl::OkStatus();
  if (ParsePort(authority.substr(colon + 1), PortZero::kRefused).ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("must have a port from 1 to 65535 (got '", authority.substr(colon + 1), "')"));
}

}  // namespace voxloc
