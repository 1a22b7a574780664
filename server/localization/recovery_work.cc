// SPDX-License-Identifier: Apache-2.0

#include "server/localization/recovery_work.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "core/estimate/scan_estimate.h"
#include "server/convert/pose.h"
#include "server/convert/result.h"
#include "server/observe/logging.h"

namespace voxloc::server {

void RecoveryWork::Start(const ScanParts& parts, std::shared_ptr<const ScanSource> source,
                         RecoveryTask task, ScanReply reply) {
  auto work =
      std::make_shared<RecoveryWork>(parts, std::move(source), std::move(task), std::move(reply));
  if (work->pass_ != nullptr && parts.searching.Post([work] { work->Run(); })) return;
  parts.metrics.rejected_recoveries.Increment();
  work->Reject(absl::StrCat("the server looks for as many lost vehicles as its limit of ",
                            parts.recoveries.limit(), " allows; the next scan tries again"));
}

void RecoveryWork::Run() {
  const ScopedLogTrace log_trace(reply_.trace().context());
  // The covariance is estimated where it costs nothing more.
  EstimateOptions estimate;
  const bool calibrated =
      source_->recipe.estimate.covariance.method == CovarianceMethod::kCalibrated;
  if (calibrated) estimate.covariance = source_->recipe.estimate.covariance;
  estimate.covariance.method =
      calibrated ? CovarianceMethod::kCalibrated : CovarianceMethod::kFixed;
  const auto confidence = [&](const AlignedScan& scan) -> std::optional<double> {
    EstimateRequest request;
    request.scan = scan;
    request.options = &estimate;
    request.rays = task_.rays;
    const std::vector<ScanEstimate> estimates = EstimateScans(parts_.engine, {&request, 1});
    if (calibrated) covariance_ = estimates.front().covariance.covariance;
    if (!estimates.front().confidence.has_value()) return std::nullopt;
    return estimates.front().confidence->value;
  };
  SessionState& state = *source_->state;
  const RecoveryOptions& options = *state.recovery();
  v1::RecoveryProposal& proto = *reply_.result().mutable_recovery();
  RecoveryOutcome outcome;
  std::optional<Pose> found;
  if (const auto* search = std::get_if<RecoverySearch>(&task_.step)) {
    const Eigen::Vector2d middle = search->map_T_base.translation.head<2>();
    const Eigen::Vector2d radius = Eigen::Vector2d::Constant(search->radius_m);
    if (const absl::Status status =
            parts_.residency_check.EnsureResident(task_.map, middle - radius, middle + radius);
        !status.ok()) {
      Reject(status.message());
      return;
    }
    const RecoveryReport report =
        SearchForVehicle(parts_.engine, task_.job, *search, options, confidence);
    if (report.proposal.has_value()) found = report.proposal->map_T_base;
    ended_ = true;
    outcome = state.EndSearch(found, task_.odometry_T_base);
    (found.has_value() ? parts_.metrics.recoveries_found : parts_.metrics.recoveries_failed)
        .Increment();
    RecoverySearchToProto(report, proto);
  } else {
    const ProposalCheck check = CheckProposal(
        parts_.engine, task_.job, std::get<ProposalToCheck>(task_.step).expected_map_T_base,
        task_.own.has_value() ? &*task_.own : nullptr, options, confidence);
    if (check.agrees()) found = check.result.map_T_base;
    ended_ = true;
    outcome = state.EndProposalCheck(found, task_.odometry_T_base);
    if (outcome.decided) {
      (outcome.state == ProposalState::kConfirmed ? parts_.metrics.recoveries_confirmed
                                                  : parts_.metrics.recoveries_dropped)
          .Increment();
    }
    ProposalCheckToProto(check, proto);
  }
  Conclude(outcome);
}

void RecoveryWork::Reject(absl::string_view detail) {
  ended_ = true;
  source_->state->AbandonStep(task_.step);
  v1::RecoveryProposal& recovery = *reply_.result().mutable_recovery();
  if (const auto* search = std::get_if<RecoverySearch>(&task_.step)) {
    recovery.set_search_radius_m(search->radius_m);
  }
  recovery.set_detail(std::string(detail));
  Conclude({});
}

void RecoveryWork::Conclude(const RecoveryOutcome& outcome) {
  v1::RecoveryProposal& recovery = *reply_.result().mutable_recovery();
  RecoveryOutcomeToProto(outcome, recovery);
  if (recovery.has_map_t_base() && covariance_.has_value()) {
    AppendRowMajor(*covariance_, *recovery.mutable_map_t_base()->mutable_covariance());
  }
  const char* const name = outcome.applied                              ? "applied"
                           : outcome.state == ProposalState::kPending   ? "pending"
                           : outcome.state == ProposalState::kConfirmed ? "confirmed"
                           : outcome.state == ProposalState::kDropped   ? "dropped"
                                                                        : "failed";
  LogRateLimited(LogLevel::kInfo, "recovery",
                 {{"session", source_->session},
                  {"map", source_->map},
                  {"radius_m", recovery.search_radius_m()},
                  {"candidates", recovery.candidates()},
                  {"outcome", name},
                  {"agreeing", outcome.agreeing_scans},
                  {"checked", outcome.checked_scans},
                  {"detail", recovery.detail()}});
  pass_.reset();
  reply_.Send();
}

}  // namespace voxloc::server
