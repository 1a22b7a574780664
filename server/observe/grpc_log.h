// SPDX-License-Identifier: Apache-2.0
//
// Sends what gRPC itself has to say to the server's log.

#ifndef VOXLOC_SERVER_OBSERVE_GRPC_LOG_H_
#define VOXLOC_SERVER_OBSERVE_GRPC_LOG_H_

namespace voxloc::server {

// For the whole process, before gRPC is first used.
void SendGrpcLogToOurs();

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_GRPC_LOG_H_
