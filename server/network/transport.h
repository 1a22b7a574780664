// SPDX-License-Identifier: Apache-2.0
//
// How gRPC is set up: message sizes, no compression, keepalive, and what it may hold. Thread-safe:
// no shared state.

#ifndef VOXLOC_SERVER_NETWORK_TRANSPORT_H_
#define VOXLOC_SERVER_NETWORK_TRANSPORT_H_

#include <grpcpp/grpcpp.h>

#include "server/config/config.h"

namespace voxloc::server {

void ConfigureTransport(const Config& config, grpc::ServerBuilder& builder);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_NETWORK_TRANSPORT_H_
