// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/addresses.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace voxloc::client {
namespace {

bool IsUnixSocket(absl::string_view address) {
  return absl::StartsWith(address, "unix:") || absl::StartsWith(address, "unix-abstract:");
}

// Of gRPC's names of targets: "dns:HOST:PORT", "dns://AUTHORITY/HOST:PORT", "ipv4:HOST:PORT", ...
absl::string_view WithoutScheme(absl::string_view address) {
  for (const absl::string_view scheme : {"dns:", "ipv4:", "ipv6:"}) {
    if (!absl::ConsumePrefix(&address, scheme)) continue;
    if (absl::ConsumePrefix(&address, "//")) {
      const size_t slash = address.find('/');
      address.remove_prefix(slash == absl::string_view::npos ? address.size() : slash + 1);
    }
    break;
  }
  return address;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> SplitAddresses(absl::string_view server) {
  std::vector<std::string> addresses;
  for (absl::string_view part : absl::StrSplit(server, ',')) {
    part = absl::StripAsciiWhitespace(part);
    if (!IsUnixSocket(part)) {
      const auto parsed = ParseHostPort(WithoutScheme(part), PortZero::kRefused);
      if (!parsed.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat("the server address ", parsed.status().message(),
                         part == server ? "" : absl::StrCat(" in '", server, "'")));
      }
    }
    addresses.emplace_back(part);
  }
  return addresses;
}

absl::StatusOr<HostPort> HostPortOf(absl::string_view address) {
  if (IsUnixSocket(address)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a Unix socket has no port (got '", address, "')"));
  }
  return ParseHostPort(WithoutScheme(address), PortZero::kRefused);
}

bool IsLocal(absl::string_view address) {
  if (IsUnixSocket(address)) return true;
  const auto parsed = HostPortOf(address);
  if (!parsed.ok()) return false;
  const std::string host = absl::AsciiStrToLower(parsed->host);
  if (host == "localhost" || host == "localhost.") return true;
  in_addr v4 = {};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6 = {};
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

}  // namespace voxloc::client
