// SPDX-License-Identifier: Apache-2.0
//
// AdminService: hands every RPC to the file that serves it. Thread-safe. The runtime must
// outlive it.

#ifndef VOXLOC_SERVER_RPC_ADMIN_ADMIN_SERVICE_H_
#define VOXLOC_SERVER_RPC_ADMIN_ADMIN_SERVICE_H_

#include <grpcpp/impl/codegen/service_type.h>

#include <memory>

#include "server/runtime/runtime.h"

namespace voxloc::server {

[[nodiscard]] std::unique_ptr<grpc::Service> MakeAdminService(Runtime& runtime);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_ADMIN_ADMIN_SERVICE_H_
