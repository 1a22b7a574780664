// SPDX-License-Identifier: Apache-2.0

#include "server/scan/recovery_work.h"

#include <utility>
#include <vector>

#include "core/estimate/scan_estimate.h"
#include "server/convert/diagnostics.h"
#include "server/observe/logging.h"

namespace voxloc::server {

void RecoveryWork::Start(Runtime& runtime, std::shared_ptr<const ScanSource> source,
                         RecoveryTask task, ScanReply reply) {
  auto work =
      std::make_shared<RecoveryWork>(runtime, std::move(source), std::move(task), std::move(reply));
  if (runtime.searching.Post([work] { work->Run(); })) return;
  RecoveryReport report;
  report.radius_m = work->task_.search.radius_m;
  report.detail = "too many searches wait";
  work->End(report);
}

RecoveryWork::RecoveryWork(Runtime& runtime, std::shared_ptr<const ScanSource> source,
                           RecoveryTask task, ScanReply reply)
    : runtime_(runtime),
      source_(std::move(source)),
      task_(std::move(task)),
      reply_(std::move(reply)) {}

RecoveryWork::~RecoveryWork() {
  if (!ended_) static_cast<void>(source_->state->EndSearch(std::nullopt, std::nullopt));
}

void RecoveryWork::Run() {
  EstimateOptions options;
  options.covariance.method = CovarianceMethod::kFixed;
  const auto confidence = [&](const AlignedScan& scan) -> std::optional<double> {
    EstimateRequest request;
    request.scan = scan;
    request.options = &options;
    request.sensor_position_base = task_.sensor_position_base;
    const std::vector<ScanEstimate> estimates = EstimateScans(*runtime_.engine, {&request, 1});
    if (!estimates.front().confidence.has_value()) return std::nullopt;
    return estimates.front().confidence->value;
  };
  End(SearchForVehicle(*runtime_.engine, task_.job, task_.search, *source_->state->recovery(),
                       confidence));
}

void RecoveryWork::End(const RecoveryReport& report) {
  ended_ = true;
  std::optional<Pose> found;
  if (report.proposal.has_value()) found = report.proposal->map_T_base;
  const bool applied = source_->state->EndSearch(found, task_.odometry_T_base);
  (found.has_value() ? runtime_.metrics.recoveries_found : runtime_.metrics.recoveries_failed)
      .Increment();
  Log(LogLevel::kInfo, "recovery",
      {{"session", source_->session},
       {"map", source_->map},
       {"radius_m", report.radius_m},
       {"candidates", report.candidates},
       {"outcome", applied             ? "applied"
                   : found.has_value() ? "proposed"
                                       : "failed"},
       {"detail", report.detail}});
  RecoveryToProto(report, applied, *reply_.result().mutable_recovery());
  reply_.Send();
}

}  // namespace voxloc::server
