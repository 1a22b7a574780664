// SPDX-License-Identifier: Apache-2.0
//
// The addresses of servers, as ChannelOptions::server has them. Included by this library's sources
// only. Thread-safe: no shared state.

#ifndef VOXLOC_CLIENTS_CPP_ADDRESSES_H_
#define VOXLOC_CLIENTS_CPP_ADDRESSES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/text/host_port.h"

namespace voxloc::client {

// At least one. InvalidArgument: an entry is empty, has no host, or no port from 1 to 65535.
[[nodiscard]] absl::StatusOr<std::vector<std::string>> SplitAddresses(absl::string_view server);

// Of an address without its scheme. InvalidArgument: it is a Unix socket's.
[[nodiscard]] absl::StatusOr<HostPort> HostPortOf(absl::string_view address);

// Whether what is sent there cannot leave this machine: localhost, 127.0.0.0/8, ::1, a Unix socket.
[[nodiscard]] bool IsLocal(absl::string_view address);

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_ADDRESSES_H_
