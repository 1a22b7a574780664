// SPDX-License-Identifier: Apache-2.0
//
// Addresses of the form HOST:PORT, as people write them into flags and files.

#ifndef VOXLOC_CORE_TEXT_HOST_PORT_H_
#define VOXLOC_CORE_TEXT_HOST_PORT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace voxloc {

// Whether port 0 is allowed: a listener then gets a free port.
enum class PortZero { kAllowed, kRefused };

struct HostPort {
  std::string host;  // without the brackets of IPv6
  uint16_t port = 0;
};

// Up to five decimal digits without a sign. Otherwise InvalidArgument, "must be ..." with the
// range.
[[nodiscard]] absl::StatusOr<uint16_t> ParsePort(absl::string_view text, PortZero zero);

// The host is a name, an IPv4 address, or an IPv6 address in brackets. It is not resolved.
// Otherwise InvalidArgument, "must be HOST:PORT ..." with the range of ports and the text.
[[nodiscard]] absl::StatusOr<HostPort> ParseHostPort(absl::string_view text, PortZero zero);

// Checks the port, if there is one, in the authority of a URL: [USER[:PASSWORD]@]HOST[:PORT].
// InvalidArgument, "must have a port ..." with the range, shows the port only, no credentials.
[[nodiscard]] absl::Status CheckUrlPort(absl::string_view authority);

}  // namespace voxloc

#endif  // VOXLOC_CORE_TEXT_HOST_PORT_H_
