// SPDX-License-Identifier: Apache-2.0

#include "server/config/address.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace voxloc::server {

absl::Status CheckAddress(absl::string_view key, const std::string& address) {
  constexpr uint32_t kMaxPort = 65'535;
  const size_t colon = address.rfind(':');
  uint32_t port = 0;
  if (colon != std::string::npos && colon > 0 &&
      absl::SimpleAtoi(address.substr(colon + 1), &port) && port <= kMaxPort) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(key, " must be ADDR:PORT, such as 127.0.0.1:50051 (got '", address, "')"));
}

}  // namespace voxloc::server
