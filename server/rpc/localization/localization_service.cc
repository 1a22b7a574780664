// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/localization/localization_service.h"

#include <grpcpp/grpcpp.h>

#include "server/rpc/localization/align_scan.h"
#include "server/rpc/localization/align_scans.h"
#include "server/rpc/localization/estimate_initial_pose.h"
#include "server/rpc/localization/score_poses.h"
#include "server/rpc/support/parsed_handler.h"
#include "voxloc/v1/localization_service.grpc.pb.h"

namespace voxloc::server {
namespace {

class LocalizationService : public v1::LocalizationService::CallbackService {
 public:
  explicit LocalizationService(Runtime& runtime) : runtime_(runtime) {
    const auto parsed = [this](RpcMethod method, auto member) {
      MarkMethodCallback(IndexOf(method),
                         MakeParsedHandler(*this, member, RefusalOfMalformed(runtime_, method)));
    };
    parsed(RpcMethod::kAlignScan, &LocalizationService::AlignScan);
    parsed(RpcMethod::kEstimateInitialPose, &LocalizationService::EstimateInitialPose);
    MarkMethodCallback(IndexOf(RpcMethod::kAlignScans),
                       MakeStreamHandler(runtime_, &StartAlignScans));
    MarkMethodCallback(IndexOf(RpcMethod::kScorePoses),
                       MakeStreamHandler(runtime_, &StartScorePoses));
  }

  grpc::ServerUnaryReactor* AlignScan(grpc::CallbackServerContext* context,
                                      const v1::AlignScanRequest* request,
                                      v1::AlignScanResponse* response) override {
    return StartAlignScan(runtime_, *context, *request, *response);
  }

  grpc::ServerWriteReactor<v1::EstimateInitialPoseResponse>* EstimateInitialPose(
      grpc::CallbackServerContext* context,
      const v1::EstimateInitialPoseRequest* request) override {
    return StartEstimateInitialPose(runtime_, *context, *request);
  }

 private:
  Runtime& runtime_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeLocalizationService(Runtime& runtime) {
  return std::make_unique<LocalizationService>(runtime);
}

}  // namespace voxloc::server
