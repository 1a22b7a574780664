// SPDX-License-Identifier: Apache-2.0
//
// LocalizationService.AlignScans: a vehicle's session.

#ifndef VOXLOC_SERVER_RPC_LOCALIZATION_ALIGN_SCANS_H_
#define VOXLOC_SERVER_RPC_LOCALIZATION_ALIGN_SCANS_H_

#include <grpcpp/grpcpp.h>

#include "server/rpc/support/read_message.h"
#include "server/runtime/runtime.h"
#include "voxloc/v1/localization_service.pb.h"

namespace voxloc::server {

[[nodiscard]] grpc::ServerBidiReactor<ReadMessage<v1::AlignScansRequest>, v1::AlignScansResponse>*
StartAlignScans(Runtime& runtime, grpc::CallbackServerContext& context);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_LOCALIZATION_ALIGN_SCANS_H_
