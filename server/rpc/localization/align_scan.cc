// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/localization/align_scan.h"

#include <atomic>
#include <memory>
#include <utility>

#include "server/convert/options.h"
#include "server/convert/pose.h"
#include "server/convert/status.h"
#include "server/rpc/support/call_scope.h"
#include "server/rpc/support/deadline.h"
#include "server/scan/scan_work.h"

namespace voxloc::server {
namespace {

// What a scan that was not aligned is answered where there is no stream; OK for all others.
absl::Status StatusOfResult(const v1::AlignmentResult& result) {
  switch (result.status()) {
    case v1::ALIGNMENT_STATUS_INVALID_INPUT:
    case v1::ALIGNMENT_STATUS_NO_PRIOR:
      return absl::InvalidArgumentError(result.detail());
    case v1::ALIGNMENT_STATUS_NO_MAP:
      return absl::NotFoundError(result.detail());
    case v1::ALIGNMENT_STATUS_DEADLINE:
      return absl::DeadlineExceededError(result.detail());
    case v1::ALIGNMENT_STATUS_OVERLOADED:
      return absl::ResourceExhaustedError(result.detail());
    default:
      return absl::OkStatus();
  }
}

absl::StatusOr<ScanSource> SourceOf(const Runtime& runtime, const v1::AlignScanRequest& request) {
  if (absl::Status status = runtime.sessions.Admit(); !status.ok()) return status;
  if (absl::Status status = CheckVehicle(request.vehicle()); !status.ok()) return status;
  ScanSource source;
  auto recipe =
      RecipeFromProto(runtime.config, request.options(), request.filter(), request.output());
  if (!recipe.ok()) return recipe.status();
  source.recipe = *std::move(recipe);
  if (request.has_base_t_sensor()) {
    auto mount = MountFromProto(request.base_t_sensor());
    if (!mount.ok()) return mount.status();
    source.recipe.base_T_sensor = *mount;
  }
  auto map = runtime.maps.FindAtLeast(request.map(), request.min_map_revision());
  if (!map.ok()) return map.status();
  auto profile = ProfileOnMap(source.recipe.align.profile, *map->facts->build, request.map());
  if (!profile.ok()) return profile.status();
  if (!request.has_scan()) return absl::InvalidArgumentError("the request has no scan");
  source.vehicle = request.vehicle();
  source.map = request.map();
  source.max_points = runtime.config.limits.max_points_per_scan;
  source.state = std::make_shared<SessionState>();
  return source;
}

class AlignScanCall : public grpc::ServerUnaryReactor,
                      public ScanClient,
                      public std::enable_shared_from_this<AlignScanCall> {
 public:
  AlignScanCall(Runtime& runtime, grpc::CallbackServerContext& context,
                const v1::AlignScanRequest& request, v1::AlignScanResponse& response)
      : runtime_(runtime),
        call_(runtime, RpcMethod::kAlignScan),
        request_(request),
        response_(response) {
    stop_.cancelled = cancelled_;
    stop_.deadline = DeadlineOf(context);
  }

  void Start() {
    self_ = shared_from_this();
    auto source = SourceOf(runtime_, request_);
    if (!source.ok()) {
      EndWith(source.status());
      return;
    }
    auto work =
        std::make_unique<ScanWork>(runtime_, std::make_shared<const ScanSource>(*std::move(source)),
                                   self_, nullptr, request_.scan(), stop_);
    if (work->Check()) runtime_.scheduler.Submit(runtime_.scheduler.OpenLane(1), std::move(work));
  }

  void Answer(std::unique_ptr<v1::AlignmentResult> result) override {
    const absl::Status status = StatusOfResult(*result);
    if (status.ok()) response_.set_allocated_result(result.release());
    EndWith(status);
  }

  void Fail(const absl::Status& status) override { EndWith(status); }

  // The call is finished by the answer, which a raised stop token brings soon.
  void OnCancel() override { cancelled_->store(true, std::memory_order_relaxed); }

  void OnDone() override {
    call_.Ended(status_);
    const std::shared_ptr<AlignScanCall> last = std::move(self_);
  }

 private:
  void EndWith(const absl::Status& status) {
    status_ = ToGrpcStatus(status);
    Finish(status_);
  }

  Runtime& runtime_;
  const CallScope call_;
  const v1::AlignScanRequest& request_;
  v1::AlignScanResponse& response_;
  const std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
  StopToken stop_;
  grpc::Status status_;
  std::shared_ptr<AlignScanCall> self_;
};

}  // namespace

grpc::ServerUnaryReactor* StartAlignScan(Runtime& runtime, grpc::CallbackServerContext& context,
                                         const v1::AlignScanRequest& request,
                                         v1::AlignScanResponse& response) {
  auto call = std::make_shared<AlignScanCall>(runtime, context, request, response);
  call->Start();
  return call.get();
}

}  // namespace voxloc::server
