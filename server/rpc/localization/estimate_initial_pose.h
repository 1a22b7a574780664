// SPDX-License-Identifier: Apache-2.0
//
// EstimateInitialPose: a search for one vehicle that reports its progress.

#ifndef VOXLOC_SERVER_RPC_LOCALIZATION_ESTIMATE_INITIAL_POSE_H_
#define VOXLOC_SERVER_RPC_LOCALIZATION_ESTIMATE_INITIAL_POSE_H_

#include <grpcpp/grpcpp.h>

#include "server/runtime/runtime.h"
#include "voxloc/v1/localization_service.pb.h"

namespace voxloc::server {

grpc::ServerWriteReactor<v1::EstimateInitialPoseResponse>* StartEstimateInitialPose(
    Runtime& runtime, grpc::CallbackServerContext& context,
    const v1::EstimateInitialPoseRequest& request);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_LOCALIZATION_ESTIMATE_INITIAL_POSE_H_
