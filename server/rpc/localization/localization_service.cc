// SPDX-License-Identifier: Apache-2.0

#include <grpcpp/grpcpp.h>

#include <memory>

#include "server/rpc/services.h"
#include "server/rpc/support/method_handler.h"
#include "voxloc/v1/localization_service.grpc.pb.h"

namespace voxloc::server {
namespace {

class LocalizationService : public v1::LocalizationService::CallbackService {
 public:
  explicit LocalizationService(Runtime& runtime) {
    const auto stream = [this, &runtime](RpcMethod method, auto start) {
      MarkMethodCallback(IndexOf(method), MakeStreamHandler(runtime, method, start));
    };
    stream(RpcMethod::kAlignScans, StartAlignScans);
    stream(RpcMethod::kEstimateInitialPose, StartEstimateInitialPose);
    stream(RpcMethod::kScorePoses, StartScorePoses);
    const auto align = [&runtime](grpc::CallbackServerContext* context,
                                  const v1::AlignScanRequest* request,
                                  v1::AlignScanResponse* response) {
      return StartAlignScan(runtime, *context, *request, *response);
    };
    MarkMethodCallback(IndexOf(RpcMethod::kAlignScan),
                       MakeUnaryHandler<v1::AlignScanRequest, v1::AlignScanResponse>(
                           align, RejectMalformed(runtime, RpcMethod::kAlignScan)));
  }
};

}  // namespace

std::unique_ptr<grpc::Service> MakeLocalizationService(Runtime& runtime) {
  return std::make_unique<LocalizationService>(runtime);
}

}  // namespace voxloc::server
