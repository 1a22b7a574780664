// SPDX-License-Identifier: Apache-2.0

#include "server/scan_work.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/convert/cloud.h"
#include "server/convert/pose.h"
#include "server/convert/result.h"
#include "server/logging.h"
#include "server/verdict.h"

namespace voxloc::server {
namespace {

double Seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// How far from its place in the bounds of a map a cell is still matched with.
double MatchMargin(const Profile& profile) {
  double largest = 0.0;
  for (const Stage& stage : profile.stages) largest = std::max(largest, stage.cells.cell_size_m);
  return 2.0 * largest;
}

}  // namespace

ScanWork::ScanWork(const Runtime& runtime, std::shared_ptr<const ScanSource> source,
                   std::shared_ptr<ScanClient> client,
                   std::unique_ptr<google::protobuf::Message> message, const v1::Scan& scan,
                   const StopToken& stop)
    : runtime_(runtime),
      source_(std::move(source)),
      client_(std::move(client)),
      message_(std::move(message)),
      scan_(&scan),
      stop_(stop),
      received_(Clock::now()),
      result_(std::make_unique<v1::AlignmentResult>()) {
  result_->set_sequence(scan.sequence());
  result_->set_stamp_ns(scan.stamp_ns());
  result_->mutable_timings()->set_received_at_ns(absl::GetCurrentTimeNanos());
  runtime_.metrics.scans_received.Increment();
}

ScanWork::~ScanWork() {
  if (result_ != nullptr) runtime_.metrics.dropped_closed.Increment();
}

bool ScanWork::Check() {
  const absl::Status status = CheckFields();
  if (status.ok()) return true;
  AnswerWithout(v1::ALIGNMENT_STATUS_INVALID_INPUT, status.message());
  return false;
}

absl::Status ScanWork::CheckFields() {
  auto points = CheckScanCloud(scan_->cloud(), source_->max_points);
  if (!points.ok()) return points.status();
  runtime_.metrics.scan_points_received.Increment(static_cast<double>(*points));
  result_->mutable_points()->set_received(static_cast<uint32_t>(*points));
  if (*points == 0) return absl::InvalidArgumentError("the scan has no points");
  if (scan_->has_guess_map_t_base()) {
    auto guess = PoseFromProto(scan_->guess_map_t_base(), "guess_map_t_base");
    if (!guess.ok()) return guess.status();
    guess_ = *guess;
    PoseToProto(*guess_, *result_->mutable_guess_map_t_base());
  }
  if (const int size = scan_->guess_covariance_size(); size != 0 && size != 36) {
    return absl::InvalidArgumentError(
        absl::StrCat("guess_covariance has ", size, " values; allowed is 0 or 36"));
  }
  if (scan_->has_reference_position()) {
    auto reference = VectorFromProto(scan_->reference_position(), "reference_position");
    if (!reference.ok()) return reference.status();
    if (source_->recipe.align.regularize) reference_ = *reference;
  }
  const double timeout_s = scan_->timeout_s() == 0.0 ? source_->timeout_s : scan_->timeout_s();
  if (!(timeout_s >= 0.0 && std::isfinite(timeout_s))) {
    return absl::InvalidArgumentError(
        absl::StrCat("timeout_s is ", timeout_s, "; allowed is a finite value from 0 (none)"));
  }
  if (timeout_s > 0.0) {
    stop_.deadline = std::min(stop_.deadline, absl::Now() + absl::Seconds(timeout_s));
  }
  return absl::OkStatus();
}

bool ScanWork::Prepare(AlignJob& job) {
  const Clock::time_point start = Clock::now();
  result_->mutable_timings()->set_queue_wait_s(Seconds(start - received_));
  if (!FindPlace(job) || !PreparePoints(job)) return false;
  job.regularization_position_map = reference_;
  job.stop = stop_;
  job.want_trace = source_->recipe.output.trace;
  job.want_point_scores = source_->recipe.output.point_scores;
  result_->mutable_timings()->set_prepare_s(Seconds(Clock::now() - start));
  return true;
}

bool ScanWork::FindPlace(AlignJob& job) {
  const int64_t received_ns = result_->timings().received_at_ns();
  const double delay_s =
      (static_cast<double>(received_ns) - static_cast<double>(scan_->stamp_ns())) * 1e-9;
  if (source_->max_delay_s > 0.0 && delay_s > source_->max_delay_s) {
    AnswerWithout(v1::ALIGNMENT_STATUS_STALE,
                  absl::StrCat("the scan came ", delay_s, " s after its stamp; allowed is up to ",
                               source_->max_delay_s, " s"));
    return false;
  }
  auto map = runtime_.maps.Find(source_->map);
  if (!map.ok()) {
    AnswerWithout(v1::ALIGNMENT_STATUS_NO_MAP, map.status().message());
    return false;
  }
  map_ = *std::move(map);
  result_->set_map(source_->map);
  result_->set_map_revision(map_.snapshot->revision);
  auto profile = ProfileOnMap(source_->recipe.align.profile, *map_.facts->build, source_->map);
  if (!profile.ok()) {
    AnswerWithout(v1::ALIGNMENT_STATUS_NO_MAP, profile.status().message());
    return false;
  }
  if (!guess_.has_value()) {
    AnswerWithout(v1::ALIGNMENT_STATUS_NO_PRIOR,
                  "the scan has no guess_map_t_base, and none can be had from poses yet");
    return false;
  }
  if (absl::Now() >= stop_.deadline) {
    AnswerWithout(v1::ALIGNMENT_STATUS_DEADLINE, "the deadline passed while the scan waited");
    return false;
  }
  profile_ = *std::move(profile);
  job.map = map_.resident();
  job.profile = profile_;
  job.map_T_base_guess = *guess_;
  return true;
}

bool ScanWork::PreparePoints(AlignJob& job) {
  auto prepared = PrepareScan(scan_->cloud(), source_->recipe, *runtime_.engine);
  scan_ = nullptr;
  message_.reset();
  absl::Status status = prepared.status();
  if (prepared.ok()) {
    prepared_ = *std::move(prepared);
    PointCountsToProto(prepared_.counts, *result_->mutable_points());
    status = RequirePoints(prepared_.counts);
  }
  if (!status.ok()) {
    AnswerWithout(v1::ALIGNMENT_STATUS_INVALID_INPUT, status.message());
    return false;
  }
  const Bounds& bounds = map_.facts->bounds;
  const double reach_m = ReachOf(*prepared_.base);
  if (!CanTouch(bounds, *guess_, reach_m, MatchMargin(profile_))) {
    AnswerOutOfMap(bounds, reach_m);
    return false;
  }
  job.scan = prepared_.base;
  return true;
}

void ScanWork::Complete(AlignResult result, const BatchFacts& batch) {
  if (!result.status.ok()) {
    if (absl::IsInvalidArgument(result.status)) {
      AnswerWithout(v1::ALIGNMENT_STATUS_INVALID_INPUT, result.status.message());
    } else if (absl::IsResourceExhausted(result.status)) {
      result_->set_retry_after_s(batch.align_s);
      AnswerWithout(v1::ALIGNMENT_STATUS_OVERLOADED, result.status.message());
    } else {
      Log(LogLevel::kError, "engine_failed",
          {{"session", source_->session},
           {"map", source_->map},
           {"error", result.status.message()}});
      result_.reset();
      client_->Fail(runtime_.engine->Health().ok()
                        ? absl::InternalError("the engine failed; the server's log has more")
                        : absl::UnavailableError("the engine has failed for good; the server's log "
                                                 "has more, and a restart may mend it"));
    }
    return;
  }
  const Clock::time_point start = Clock::now();
  Verdict verdict = JudgeResult(result, profile_, source_->recipe.align.min_matched_ratio);
  AlignResultToProto(result, *prepared_.base, source_->recipe.output, *result_);
  result_->set_status(verdict.status);
  result_->set_detail(std::move(verdict.detail));
  result_->set_accepted(verdict.accepted);
  result_->set_engine(runtime_.engine_name);
  v1::Timings& timings = *result_->mutable_timings();
  timings.set_align_s(batch.align_s);
  timings.set_batch_size(static_cast<uint32_t>(batch.size));
  timings.set_estimate_s(Seconds(Clock::now() - start));
  Send();
}

void ScanWork::Supersede() {
  runtime_.metrics.dropped_superseded.Increment();
  result_->mutable_timings()->set_queue_wait_s(Seconds(Clock::now() - received_));
  AnswerWithout(v1::ALIGNMENT_STATUS_SUPERSEDED, "a newer scan took its place");
}

void ScanWork::Refuse(double retry_after_s) {
  runtime_.metrics.dropped_queue_full.Increment();
  runtime_.metrics.rejected_scans.Increment();
  result_->set_retry_after_s(retry_after_s);
  AnswerWithout(v1::ALIGNMENT_STATUS_OVERLOADED,
                absl::StrCat("too many scans wait; allowed is up to ",
                             runtime_.config.limits.max_queued_scans));
}

void ScanWork::AnswerWithout(v1::AlignmentStatus status, absl::string_view detail) {
  if (status == v1::ALIGNMENT_STATUS_INVALID_INPUT) runtime_.metrics.dropped_invalid.Increment();
  if (status == v1::ALIGNMENT_STATUS_STALE) runtime_.metrics.dropped_stale.Increment();
  if (status == v1::ALIGNMENT_STATUS_DEADLINE) runtime_.metrics.dropped_deadline.Increment();
  result_->set_status(status);
  result_->set_detail(std::string(detail));
  Send();
}

void ScanWork::AnswerOutOfMap(const Bounds& bounds, double reach_m) {
  PoseToProto(*guess_, *result_->mutable_map_t_base());
  result_->mutable_scores();
  result_->mutable_initial_scores();
  result_->set_termination_reason(v1::TERMINATION_REASON_ZERO_STEP);
  result_->set_engine(runtime_.engine_name);
  const Eigen::Vector3d nearest = guess_->translation.cwiseMax(bounds.min).cwiseMin(bounds.max);
  const std::string detail =
      bounds.finite_points == 0
          ? std::string("the map has no points")
          : absl::StrCat("the guess lies ", (guess_->translation - nearest).norm(),
                         " m outside the map, and the scan reaches ", reach_m, " m");
  AnswerWithout(v1::ALIGNMENT_STATUS_OUT_OF_MAP, detail);
}

void ScanWork::Send() {
  v1::Timings& timings = *result_->mutable_timings();
  timings.set_server_s(Seconds(Clock::now() - received_));
  CountResult();
  client_->Answer(std::move(result_));
}

void ScanWork::CountResult() const {
  const Metrics& metrics = runtime_.metrics;
  const v1::Timings& timings = result_->timings();
  metrics.results[static_cast<size_t>(result_->status())].Increment();
  metrics.scan_duration_s.Observe(timings.server_s());
  if (timings.batch_size() > 0) {
    metrics.wait_tracking_s.Observe(timings.queue_wait_s());
    metrics.stage_prepare_s.Observe(timings.prepare_s());
    metrics.stage_encode_s.Observe(timings.estimate_s());
    metrics.iterations.Observe(result_->iterations());
    metrics.nvtl.Observe(result_->scores().nvtl());
    metrics.matched_ratio.Observe(result_->scores().matched_ratio());
  }
  if (LogEnabled(LogLevel::kDebug)) {
    Log(LogLevel::kDebug, "scan",
        {{"session", source_->session},
         {"map", source_->map},
         {"sequence", result_->sequence()},
         {"status", v1::AlignmentStatus_Name(result_->status())},
         {"iterations", result_->iterations()},
         {"server_s", timings.server_s()},
         {"detail", result_->detail()}});
  }
}

}  // namespace voxloc::server
