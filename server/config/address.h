// SPDX-License-Identifier: Apache-2.0
//
// Addresses to listen on, as the configuration has them. Thread-safe: no state.

#ifndef VOXLOC_SERVER_CONFIG_ADDRESS_H_
#define VOXLOC_SERVER_CONFIG_ADDRESS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace voxloc::server {

// InvalidArgument unless the address is ADDR:PORT; the message begins with `key`.
[[nodiscard]] absl::Status CheckAddress(absl::string_view key, const std::string& address);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONFIG_ADDRESS_H_
