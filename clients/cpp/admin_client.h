// SPDX-License-Identifier: Apache-2.0
//
// What a server is: version, engine, devices, limits, profiles. Thread-safe; blocks until the
// answer or the deadline.

#ifndef VOXLOC_CLIENTS_CPP_ADMIN_CLIENT_H_
#define VOXLOC_CLIENTS_CPP_ADMIN_CLIENT_H_

#include "absl/status/statusor.h"
#include "clients/cpp/channel.h"
#include "voxloc/v1/admin_service.pb.h"

namespace voxloc::client {

// Errors are the server's, with its name and the call in the message. `timeout_s` 0: no deadline.
[[nodiscard]] absl::StatusOr<v1::GetServerInfoResponse> GetServerInfo(const Channel& channel,
                                                                      double timeout_s);

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_ADMIN_CLIENT_H_
