// SPDX-License-Identifier: Apache-2.0

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/try.h"
#include "server/convert/pose.h"
#include "server/errors/error_details.h"
#include "server/localization/scan_work.h"
#include "server/maps/residency/residency_check.h"
#include "server/observe/logging.h"
#include "server/rpc/services.h"
#include "server/rpc/support/call_scope.h"
#include "server/rpc/support/method_handler.h"
#include "server/session/session_setup.h"
#include "voxloc/v1/localization_service.grpc.pb.h"

namespace voxloc::server {
namespace {

// What a scan that was not aligned is answered where there is no stream; OK for all others.
absl::Status StatusOfResult(const v1::AlignmentResult& result, const EngineFaults& faults) {
  switch (result.status()) {
    case v1::ALIGNMENT_STATUS_INVALID_INPUT:
    case v1::ALIGNMENT_STATUS_NO_PRIOR:
      return absl::InvalidArgumentError(result.detail());
    case v1::ALIGNMENT_STATUS_NO_MAP:
      if (result.tiles_missing() > 0) return TilesLoadingError(result.map(), result.detail());
      return WithReason(absl::NotFoundError(result.detail()), "MAP_NOT_FOUND");
    case v1::ALIGNMENT_STATUS_DEADLINE:
      return absl::DeadlineExceededError(result.detail());
    case v1::ALIGNMENT_STATUS_OVERLOADED:
      return WithRetryAfter(WithReason(absl::ResourceExhaustedError(result.detail()), "QUEUE_FULL"),
                            result.retry_after_s());
    case v1::ALIGNMENT_STATUS_ENGINE_FAULT:
      return faults.Error();
    default:
      return absl::OkStatus();
  }
}

absl::StatusOr<ScanSource> SourceOf(const Runtime& runtime, const v1::AlignScanRequest& request) {
  VOXLOC_TRY(runtime.sessions.Admit());
  VOXLOC_ASSIGN_OR_RETURN(auto setup,
                          CheckSetup(*runtime.live_config.Get(), runtime.maps, request.setup()));
  if (!request.has_scan()) return absl::InvalidArgumentError("the request has no scan");
  ScanSource source = std::move(setup.source);
  if (runtime.captures.enabled()) {
    source.setup = std::make_shared<const v1::ScanSetup>(request.setup());
  }
  SessionState::Options state;
  state.poses = PoseLimits(*runtime.live_config.limits(), source.recipe.align);
  source.state = std::make_shared<SessionState>(state);
  for (const v1::PoseSample& sample : request.scan().poses()) {
    auto pose = StampedPoseFromProto(sample);
    const absl::Status status = pose.ok() ? source.state->AddPose(*pose) : pose.status();
    if (!status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the pose at stamp_ns ", sample.stamp_ns(), ": ", status.message()));
    }
  }
  return source;
}

// Request and response live until the call is done.
class AlignScanCall : public grpc::ServerUnaryReactor, public ScanClient {
 public:
  AlignScanCall(Runtime& runtime, grpc::CallbackServerContext& context,
                const v1::AlignScanRequest& request, v1::AlignScanResponse& response)
      : runtime_(runtime),
        call_(runtime, RpcMethod::kAlignScan, context),
        request_(request),
        response_(response) {
    stop_.cancelled = cancelled_;
    stop_.deadline = DeadlineOf(context);
  }

  void Start(std::shared_ptr<AlignScanCall> self) {
    self_ = std::move(self);
    const ScopedLogTrace log_trace(call_.trace());
    call_.Received(request_);
    if (absl::Status status =
            call_.access().UseMapAs(request_.setup().map(), request_.setup().vehicle());
        !status.ok()) {
      EndWith(status);
      return;
    }
    auto source = SourceOf(runtime_, request_);
    if (!source.ok()) {
      EndWith(source.status());
      return;
    }
    auto work = std::make_unique<ScanWork>(
        ScanPartsOf(runtime_), std::make_shared<const ScanSource>(*std::move(source)), self_,
        ScanMessage{nullptr, &request_.scan()}, stop_, call_.trace());
    if (!work->Check()) return;
    lane_ = runtime_.scheduler.OpenLane(1, CallSchedulingKey(call_));
    runtime_.scheduler.Submit(lane_, std::move(work));
  }

  void Answer(std::unique_ptr<v1::AlignmentResult> result) override {
    const absl::Status status = StatusOfResult(*result, runtime_.engine_faults);
    if (status.ok()) {
      response_.set_allocated_result(result.release());
      call_.Sent(response_.ByteSizeLong());
    }
    EndWith(status);
  }

  void AnswerCancelled() override { EndWith(absl::CancelledError("cancelled")); }

  // A waiting scan leaves its queue at once; one that is being aligned is stopped soon.
  void OnCancel() override {
    cancelled_->store(true, std::memory_order_relaxed);
    if (lane_ != nullptr) runtime_.scheduler.Close(*lane_);
  }

  void OnDone() override {
    call_.RecordEnd(status_);
    const std::shared_ptr<AlignScanCall> last = std::move(self_);
  }

 private:
  void EndWith(const absl::Status& status) {
    status_ = ToGrpcStatus(status);
    Finish(status_);
  }

  Runtime& runtime_;
  CallScope call_;
  const v1::AlignScanRequest& request_;
  v1::AlignScanResponse& response_;
  const std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
  StopToken stop_;
  std::shared_ptr<Scheduler::Lane> lane_;  // null: the scan was not submitted
  grpc::Status status_;
  std::shared_ptr<AlignScanCall> self_;
};

class LocalizationService : public v1::LocalizationService::CallbackService {
 public:
  explicit LocalizationService(Runtime& runtime) {
    const auto stream = [this, &runtime](RpcMethod method, auto make_handler) {
      MarkMethodCallback(IndexOf(method), make_handler(runtime, method));
    };
    stream(RpcMethod::kAlignScans, MakeAlignScansHandler);
    stream(RpcMethod::kEstimateInitialPose, MakeEstimateInitialPoseHandler);
    stream(RpcMethod::kScorePoses, MakeScorePosesHandler);
    const auto align = [&runtime](grpc::CallbackServerContext* context,
                                  const v1::AlignScanRequest* request,
                                  v1::AlignScanResponse* response) {
      const auto call = std::make_shared<AlignScanCall>(runtime, *context, *request, *response);
      call->Start(call);
      return call.get();
    };
    MarkMethodCallback(IndexOf(RpcMethod::kAlignScan),
                       MakeUnaryHandler<v1::AlignScanRequest, v1::AlignScanResponse>(
                           align, RejectMalformed(runtime, RpcMethod::kAlignScan)));
  }
};

}  // namespace

WorkParts WorkPartsOf(Runtime& runtime) {
  return {*runtime.engine,         runtime.engine_faults, runtime.maps,
          runtime.residency_check, runtime.live_config,   runtime.metrics};
}

ScanParts ScanPartsOf(Runtime& runtime) {
  return {WorkPartsOf(runtime), runtime.last_poses, runtime.fit_sampler, runtime.recoveries,
          runtime.searching,    runtime.captures,   runtime.map_update,  runtime.spans.get()};
}

std::unique_ptr<grpc::Service> MakeLocalizationService(Runtime& runtime) {
  return std::make_unique<LocalizationService>(runtime);
}

}  // namespace voxloc::server
