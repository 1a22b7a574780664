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

// Whether port 0 is allowed, which stands for a free one where something listens.
enum class PortZero { kAllowed, kRefused };

struct HostPort {
  std::string host;  // without the brackets of IPv6
  uint16_t port = 0;
};

// Up to five decimal digits without a sign. InvalidArgument, with "must be" and the range: it is
// none.
[[nodiscard]] absl::StatusOr<uint16_t> ParsePort(absl::string_view text, PortZero zero);

// The host is a name, an IPv4 address, or an IPv6 address in brackets. It is not looked up.
// InvalidArgument, with "must be HOST:PORT", the range of ports and what was given: the text is no
// such address.
[[nodiscard]] absl::StatusOr<HostPort> ParseHostPort(absl::string_view text, PortZero zero);

// Where [USER[:PASSWORD]@]HOST[:PORT], the authority of a URL, names a port. InvalidArgument, with
// "must have a port" and the range: the port is not valid. The message shows only the port.
[[nodiscard]] absl::Status CheckUrlPort(absl::string_view authority);

}  // namespace voxloc

#endif  // VOXLOC_CORE_TEXT_HOST_PORT_H_
