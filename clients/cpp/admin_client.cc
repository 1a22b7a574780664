// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/admin_client.h"

#include "clients/cpp/unary.h"
#include "voxloc/v1/admin_service.grpc.pb.h"

namespace voxloc::client {

absl::StatusOr<v1::GetServerInfoResponse> GetServerInfo(const Channel& channel, double timeout_s) {
  using Stub = v1::AdminService::Stub;
  const auto stub = v1::AdminService::NewStub(channel.impl().channel);
  return CallUnary<v1::GetServerInfoResponse>(channel, "GetServerInfo", stub.get(),
                                              &Stub::GetServerInfo, v1::GetServerInfoRequest(),
                                              timeout_s);
}

}  // namespace voxloc::client
