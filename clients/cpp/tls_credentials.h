// SPDX-License-Identifier: Apache-2.0
//
// The credentials of a channel, from the settings and files of ChannelOptions. Included by this
// library's sources only. Thread-safe: no shared state.

#ifndef VOXLOC_CLIENTS_CPP_TLS_CREDENTIALS_H_
#define VOXLOC_CLIENTS_CPP_TLS_CREDENTIALS_H_

#include <grpcpp/security/credentials.h>

#include <memory>

#include "absl/status/statusor.h"
#include "clients/cpp/channel.h"

namespace voxloc::client {

// Those of a plaintext connection where `tls` is false. Errors are those of Channel::Create: the
// files are looked into here, since gRPC only says that a handshake failed.
[[nodiscard]] absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeCredentials(
    const ChannelOptions& options);

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_TLS_CREDENTIALS_H_
