// SPDX-License-Identifier: Apache-2.0

#include "server/config/address.h"

#include "absl/strings/str_cat.h"
#include "core/text/host_port.h"

namespace voxloc::server {

absl::Status CheckAddress(absl::string_view key, const std::string& address) {
  if (ParseHostPort(address, PortZero::kAllowed).ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(key,
                   " must be ADDR:PORT with a port from 0 to 65535, such as 127.0.0.1:50051 or "
                   "[::1]:50051 (got '",
                   address, "')"));
}

}  // namespace voxloc::server
