// SPDX-License-Identifier: Apache-2.0
//
// One file, so that all stages of a scan are read from top to bottom.

#include "server/localization/scan_work.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/engine/align.h"
#include "core/estimate/scan_estimate.h"
#include "core/status/try.h"
#include "core/tracking/recovery.h"
#include "server/convert/pose.h"
#include "server/convert/result.h"
#include "server/localization/recovery_work.h"
#include "server/observe/logging.h"
#include "server/observe/seconds.h"

namespace voxloc::server {
namespace {

// A scan's own part of its batch, seconds.
double TrackingTime(const v1::Timings& timings) {
  return timings.prepare_s() +
         timings.align_s() / static_cast<double>(std::max(1U, timings.batch_size())) +
         timings.estimate_s();
}

}  // namespace

ScanWork::ScanWork(const ScanParts& parts, std::shared_ptr<const ScanSource> source,
                   std::shared_ptr<ScanClient> client, ScanMessage message, const StopToken& stop,
                   const TraceContext& call_trace)
    : parts_(parts),
      source_(std::move(source)),
      reply_(parts, source_, std::move(client), std::move(message), call_trace),
      gate_(source_->recipe.align.gate),
      bytes_(reply_.scan().ByteSizeLong()),
      stop_(stop),
      estimate_(source_->recipe.estimate) {
  facts_.stamp_ns = reply_.scan().stamp_ns();
  if (facts_.stamp_ns != 0) {
    facts_.delay_s = (static_cast<double>(reply_.result().timings().received_at_ns()) -
                      static_cast<double>(facts_.stamp_ns)) *
                     1e-9;
  }
}

bool ScanWork::Check() {
  const ScopedLogTrace log_trace(reply_.trace().context());
  const absl::Status status = CheckFields();
  if (status.ok()) return true;
  // Autoware checks for an empty scan first and does not report it as malformed.
  if (HasPointData(reply_.scan())) facts_.malformed = status;
  facts_.transform = status;
  static_cast<void>(gate_.BeforeAlign(facts_));
  Answer(v1::ALIGNMENT_STATUS_INVALID_INPUT, status.message());
  return false;
}

absl::Status ScanWork::CheckFields() {
  VOXLOC_ASSIGN_OR_RETURN(auto points, CheckScanClouds(reply_.scan(), source_->max_points));
  parts_.metrics.scan_points_received.Increment(static_cast<double>(points));
  reply_.result().mutable_points()->set_received(static_cast<uint32_t>(points));
  facts_.points = points;
  if (points == 0) return absl::InvalidArgumentError("the scan has no points");
  VOXLOC_ASSIGN_OR_RETURN(hints_, ScanHintsFromProto(reply_.scan()));
  if (source_->state->accumulates()) {
    if (!hints_.odom_T_base.has_value()) {
      return absl::InvalidArgumentError(
          "odom_t_base must be set: the session accumulates scans, which are placed by it");
    }
    earlier_points_ = source_->state->accumulated_points();
  }
  if (source_->own_clock) facts_.delay_s = hints_.age_s;
  const double timeout_s = hints_.timeout_s == 0.0 ? source_->timeout_s : hints_.timeout_s;
  if (timeout_s > 0.0) {
    stop_.deadline = std::min(stop_.deadline, absl::Now() + absl::Seconds(timeout_s));
  }
  return absl::OkStatus();
}

bool ScanWork::Prepare(AlignJob& job, EstimateRequest& estimate) {
  const ScopedLogTrace log_trace(reply_.trace().context());
  const Clock::time_point start = Clock::now();
  reply_.trace().AddStage("queue", reply_.received(), start);
  v1::Timings& timings = *reply_.result().mutable_timings();
  timings.set_queue_wait_s(ToSeconds(start - reply_.received()));
  Place();
  const std::optional<Rejection> refusal = FindRejection();
  // Autoware's diagnostics include point counts also for a scan that is not aligned.
  absl::Status points;
  if (!refusal.has_value() || source_->recipe.output.diagnostics()) {
    points = PreparePoints(!refusal.has_value());
  }
  static_cast<void>(gate_.BeforeAlign(facts_));
  if (refusal.has_value()) {
    Answer(refusal->status, refusal->detail);
  } else if (!points.ok()) {
    AnswerFailed(points);
  } else if (!placed_->guess_map_T_base.has_value()) {
    AnswerOrRecover(v1::ALIGNMENT_STATUS_NO_PRIOR,
                    absl::StrCat("the scan has no guess_map_t_base, and its session gives none: ",
                                 facts_.guess.message()));
  } else if (!placed_->CanTouchMap(facts_.max_distance_m)) {
    AnswerOutOfMap();
  } else {
    FillJob(job);
    FillEstimate(job, estimate);
    RequestPasses(*estimate.features, job);
    RequestSweep(job);
    job.packed = parts_.engine.Pack(job);
    prepared_at_ = Clock::now();
    timings.set_prepare_s(ToSeconds(prepared_at_ - start));
    reply_.trace().AddStage("prepare", start, prepared_at_);
    return true;
  }
  return false;
}

void ScanWork::Place() {
  placed_ = PlaceScan(parts_, *source_, hints_, facts_);
  v1::AlignmentResult& reply = reply_.result();
  if (placed_->guess_map_T_base.has_value()) {
    PoseToProto(*placed_->guess_map_T_base, *reply.mutable_guess_map_t_base());
  }
  if (placed_->map.snapshot != nullptr) {
    reply.set_map(source_->map);
    reply.set_map_revision(placed_->map.snapshot->revision);
    if (placed_->map.staged) reply_.set_revision(MapResults::Revision::kStaged);
  }
  reply.set_tiles_missing(static_cast<uint32_t>(placed_->tiles_near.absent()));
}

std::optional<ScanWork::Rejection> ScanWork::FindRejection() const {
  if (source_->max_delay_s > 0.0 && facts_.delay_s > source_->max_delay_s) {
    return Rejection{v1::ALIGNMENT_STATUS_STALE,
                     absl::StrCat("the scan must arrive at most ", source_->max_delay_s,
                                  " s after its stamp (got ", facts_.delay_s, " s)")};
  }
  if (!facts_.active) {
    return Rejection{v1::ALIGNMENT_STATUS_NOT_ACTIVE, "the session is not active"};
  }
  if (!placed_->map_status.ok()) {
    return Rejection{v1::ALIGNMENT_STATUS_NO_MAP, std::string(placed_->map_status.message())};
  }
  if (placed_->tiles_near.resident == 0 && placed_->tiles_near.missing > 0) {
    return Rejection{v1::ALIGNMENT_STATUS_NO_MAP,
                     DescribeMissing(source_->map, placed_->tiles_near)};
  }
  if (absl::Now() >= stop_.deadline) {
    return Rejection{v1::ALIGNMENT_STATUS_DEADLINE, "the deadline passed while the scan waited"};
  }
  return std::nullopt;
}

absl::Status ScanWork::PreparePoints(bool joins) {
  auto prepared = PrepareScan(reply_.scan(), source_->recipe, placed_->deskew_twist, parts_.engine,
                              WorkClass::kTracking);
  reply_.ReleasePoints();
  facts_.transform = prepared.status();
  if (!prepared.ok()) return prepared.status();
  prepared_ = *std::move(prepared);
  facts_.transform = RequirePoints(prepared_.counts);
  if (facts_.transform.ok() && joins && source_->state->accumulates()) {
    JoinScans(source_->state->Accumulate(placed_->corrected_stamp_ns, *hints_.odom_T_base,
                                         prepared_.base),
              source_->recipe, prepared_);
  }
  v1::PointCounts& counts = *reply_.result().mutable_points();
  PointCountsToProto(prepared_.counts, counts);
  counts.set_deskewed(prepared_.deskewed);
  counts.set_joined_scans(static_cast<uint32_t>(prepared_.joined_scans));
  counts.set_joined_points(static_cast<uint32_t>(prepared_.joined_points));
  if (!facts_.transform.ok()) return facts_.transform;
  facts_.max_distance_m = MaxPointDistance(*prepared_.base);
  if (const double required_m = source_->recipe.align.gate.required_distance_m;
      facts_.max_distance_m < required_m) {
    return absl::InvalidArgumentError(absl::StrCat("the farthest point must be at least ",
                                                   required_m, " m from the base (got ",
                                                   facts_.max_distance_m, " m)"));
  }
  return absl::OkStatus();
}

void ScanWork::FillJob(AlignJob& job) {
  const v1::OutputOptions& output = source_->recipe.output;
  job.map = placed_->map.resident();
  job.scan = prepared_.base;
  job.profile = placed_->profile;
  job.map_T_base_guess = placed_->guess_map_T_base.value_or(Pose());
  job.guess_covariance = placed_->guess_covariance;
  job.prior_covariance = placed_->motion_covariance;
  job.regularization_position_map = placed_->reference_map;
  job.work_class = WorkClass::kTracking;
  job.stop = stop_;
  job.with_trace = output.trace();
  job.with_point_scores = output.point_scores();
  job.with_device_times = reply_.trace().recorded();
}

void ScanWork::FillEstimate(const AlignJob& job, EstimateRequest& estimate) {
  SystematicError& systematic = estimate_.covariance.systematic;
  if (placed_->fusion.has_value()) systematic = placed_->fusion->systematic;
  if (prepared_.deskewed) systematic.skew_sigma_s = 0.0;
  estimate.options = &estimate_;
  estimate.rays = prepared_.rays;
  estimate.guess_covariance = placed_->guess_covariance;
  estimate.base_twist = placed_->prior.base_twist;
  estimate.features =
      ComputeScanFeatures(*job.scan, estimate.rays, job.map_T_base_guess, *estimate.options);
}

void ScanWork::RequestSweep(AlignJob& job) {
  if (prepared_.time_s.empty()) return;
  auto slices = SliceSweep(prepared_.time_s);
  if (!slices.has_value() || MotionOver(*slices, *placed_->prior.base_twist) < kMinSweepMotionM) {
    return;
  }
  sweep_ = Sweep{*std::move(slices)};
  sweep_->pass = RequestSweepPass(sweep_->slices, prepared_.rays.points_base, job);
}

bool ScanWork::PrefersSecond(const AlignResult& first, const AlignResult& second) {
  const int max_oscillations = source_->recipe.align.gate.max_oscillations;
  const bool prefers = IsBetter(second, first, placed_->profile, max_oscillations);
  uncorrected_suffices_ = AgreesWith(second, prefers ? second : first, placed_->profile,
                                     source_->state->recovery()->same, max_oscillations);
  if (prefers) {
    placed_->guess_map_T_base = placed_->uncorrected_guess_map_T_base;
    PoseToProto(*placed_->guess_map_T_base, *reply_.result().mutable_guess_map_t_base());
  }
  return prefers;
}

void ScanWork::Complete(AlignResult result, const ScanEstimate* estimate, const BatchFacts& batch) {
  const ScopedLogTrace log_trace(reply_.trace().context());
  const Clock::time_point start = Clock::now();
  const Clock::time_point aligned = batch.align_start + ToDuration(batch.align_s);
  const Clock::time_point estimated = estimate != nullptr ? batch.estimate_start : start;
  TraceEngine(result, batch, aligned);
  if (estimate != nullptr) reply_.trace().AddStage("estimate", estimated, start);
  if (!result.status.ok()) {
    AnswerFailed(result.status, batch.align_s);
    return;
  }

  const ScanRecipe& recipe = source_->recipe;
  v1::AlignmentResult& reply = reply_.result();
  AlignResultToProto(result, *prepared_.base, recipe.output, reply);
  if (hints_.odom_T_base.has_value()) {
    PoseToProto(result.map_T_base * hints_.odom_T_base->Inverse(), *reply.mutable_map_t_odom());
  }
  if (estimate != nullptr) {
    EstimateToProto(*estimate, result.map_T_base, recipe, reply);
  }

  const Verdict verdict = Judge(result, estimate);
  const v1::AlignmentStatus status = StatusToProto(verdict.status);
  reply.set_accepted(verdict.accepted);
  if (verdict.settled_by.has_value()) SettledByToProto(*verdict.settled_by, reply);
  reply.set_engine(parts_.engine.name());
  v1::Timings& timings = *reply.mutable_timings();
  timings.set_batch_wait_s(ToSeconds(batch.align_start - prepared_at_));
  timings.set_align_s(batch.align_s);
  timings.set_estimate_wait_s(ToSeconds(estimated - aligned));
  timings.set_batch_size(static_cast<uint32_t>(batch.size));
  if (gate_.AfterAlign(result, placed_->profile, *placed_->guess_map_T_base, reply_.age_s()) &&
      !verdict.accepted) {
    gate_.Reject(verdict.detail);
  }
  InterpolatedGuessToProto(result.map_T_base);
  const Clock::time_point encoded = Clock::now();
  reply_.trace().AddStage("encode", start, encoded);
  parts_.metrics.stage_encode_s.Observe(ToSeconds(encoded - start));
  timings.set_estimate_s(ToSeconds(encoded - estimated));

  if (verdict.accepted) {
    CheckSweep(result);
    if (placed_->fusion.has_value() && estimate != nullptr && estimate->degeneracy.has_value()) {
      const CovarianceReport& covariance = estimate->covariance;
      const SystematicParts systematic = SystematicCovariance(
          estimate_.covariance.systematic, result.map_T_base, placed_->prior.base_twist);
      observation_ = ObserveByScan(
          result.map_T_base, covariance.covariance,
          covariance.method == CovarianceMethod::kCalibrated ? systematic.Sum()
                                                             : Matrix6(Matrix6::Zero()),
          *estimate->degeneracy,
          placed_->profile.stages[static_cast<size_t>(result.stage)].cells.cell_size_m);
      if (hints_.guess_covariance.has_value()) {
        observation_->guess = {*hints_.guess_map_T_base, *hints_.guess_covariance};
      }
    }
    source_->state->Found(placed_->corrected_stamp_ns, result.map_T_base, placed_->prior,
                          {uncorrected_suffices_, verdict.status == AlignmentStatus::kOk});
    parts_.last_poses.Record({source_->vehicle, source_->map, placed_->map.snapshot->revision,
                              absl::GetCurrentTimeNanos(), result.map_T_base});
    const double tracking_s = TrackingTime(timings);
    const bool trusted = verdict.status == AlignmentStatus::kOk && reply.has_confidence() &&
                         reply.confidence().value() >= kStrictMinFarConfidence;
    Answer(status, verdict.detail);
    OfferFitSample(result, tracking_s);
    if (trusted) OfferForMapUpdate(result, tracking_s);
  } else if (verdict.status == AlignmentStatus::kDeadline) {
    Answer(status, verdict.detail);
  } else {
    AnswerOrRecover(status, verdict.detail, std::move(result));
  }
}

void ScanWork::TraceEngine(const AlignResult& result, const BatchFacts& batch,
                           Clock::time_point aligned) {
  ScanTrace& trace = reply_.trace();
  trace.AddStage("align", batch.align_start, aligned);
  if (!result.device_times.has_value()) return;
  // Device and host clocks differ: the stages are placed backwards from the end of the alignment
  // by their durations.
  const DeviceTimes& times = *result.device_times;
  const Clock::time_point downloads = aligned - ToDuration(times.download_s);
  const Clock::time_point starts = downloads - ToDuration(times.kernel_s);
  trace.AddPart("upload", starts - ToDuration(times.upload_s), starts);
  trace.AddPart("kernel", starts, downloads);
  trace.AddPart("download", downloads, aligned);
}

Verdict ScanWork::Judge(const AlignResult& result, const ScanEstimate* estimate) const {
  const AlignOptions& align = source_->recipe.align;
  const Profile& profile = placed_->profile;
  Verdict verdict = JudgeResult(result, estimate, profile, align.gate, align.limits,
                                placed_->MakePriorKnowledge(align.odometry_drift));
  // A missed deadline says nothing about the pose.
  if (profile.acceptance_rule == AcceptanceRule::kStrict && !source_->session.empty() &&
      verdict.status != AlignmentStatus::kDeadline) {
    const bool near_guess = TranslationDistance(*placed_->guess_map_T_base, result.map_T_base) <=
                            align.gate.initial_to_result_distance_tolerance_m;
    source_->state->CheckTrack(facts_.stamp_ns == 0 ? 0 : placed_->corrected_stamp_ns,
                               result.map_T_base, near_guess, verdict);
  }
  return verdict;
}

void ScanWork::CheckSweep(const AlignResult& result) {
  if (!sweep_.has_value() || result.passes.size() <= sweep_->pass) return;
  const SweepDerivatives pull =
      ComputeSweepDerivatives(sweep_->slices, result.passes[sweep_->pass].groups,
                              *placed_->prior.base_twist, result.map_T_base);
  const SweepReport report = source_->state->CheckSweep(pull);
  SweepReportToProto(report, *reply_.result().mutable_sweep_check());
  if (report.suspect) parts_.metrics.sweeps_suspect.Increment();
  if (!report.newly_suspect) return;
  LogRateLimited(LogLevel::kWarn, "suspect_sweeps",
                 {{"session", source_->session},
                  {"map", source_->map},
                  {"unexplained_motion", report.unexplained_motion},
                  {"sigma", report.sigma},
                  {"scans", report.scans}});
}

void ScanWork::OfferFitSample(const AlignResult& result, double tracking_s) {
  const std::string& source = source_->session.empty() ? source_->vehicle : source_->session;
  parts_.fit_sampler.Offer(source, tracking_s, [&] {
    FitSample sample;
    sample.map = placed_->map.snapshot;
    sample.cells = placed_->profile.stages.back().cells;
    sample.points_base = own_points_base();
    sample.sensor_position_base = prepared_.rays.sensor_position_base;
    sample.map_T_base = result.map_T_base;
    return sample;
  });
}

void ScanWork::OfferForMapUpdate(const AlignResult& result, double tracking_s) {
  if (source_->session.empty()) return;  // of no drive
  parts_.map_update.Offer(source_->session, placed_->map.snapshot, result.map_T_base.translation,
                          tracking_s, [&] {
                            MapUpdateScan scan;
                            scan.session = source_->session;
                            scan.vehicle = source_->vehicle;
                            scan.profile = placed_->profile.name;
                            scan.map = placed_->map.snapshot;
                            scan.stamp_ns = placed_->corrected_stamp_ns;
                            scan.points_base = own_points_base();
                            scan.sensor_position_base = prepared_.rays.sensor_position_base;
                            scan.map_T_base = result.map_T_base;
                            return scan;
                          });
}

void ScanWork::Supersede() {
  const ScopedLogTrace log_trace(reply_.trace().context());
  parts_.metrics.dropped_superseded.Increment();
  reply_.result().mutable_timings()->set_queue_wait_s(reply_.age_s());
  reply_.SetStatus(v1::ALIGNMENT_STATUS_SUPERSEDED, "a newer scan replaced this one");
  reply_.Send();
}

void ScanWork::Reject(absl::string_view why, double retry_after_s) {
  const ScopedLogTrace log_trace(reply_.trace().context());
  parts_.metrics.dropped_queue_full.Increment();
  parts_.metrics.rejected_scans.Increment();
  reply_.result().set_retry_after_s(retry_after_s);
  reply_.SetStatus(v1::ALIGNMENT_STATUS_OVERLOADED, why);
  reply_.Send();
}

void ScanWork::Fail(const absl::Status& status) {
  if (reply_.ended()) return;
  const ScopedLogTrace log_trace(reply_.trace().context());
  parts_.metrics.rejected_scans.Increment();
  Answer(v1::ALIGNMENT_STATUS_OVERLOADED, status.message());
}

void ScanWork::Answer(v1::AlignmentStatus status, absl::string_view detail) {
  CompleteReply(status, detail);
  reply_.Send();
}

void ScanWork::AnswerFailed(const absl::Status& status, double retry_after_s) {
  if (absl::IsInvalidArgument(status)) {
    Answer(v1::ALIGNMENT_STATUS_INVALID_INPUT, status.message());
  } else if (absl::IsResourceExhausted(status)) {
    parts_.metrics.engine_no_memory.Increment();
    reply_.result().set_retry_after_s(retry_after_s);
    Answer(v1::ALIGNMENT_STATUS_OVERLOADED, status.message());
  } else {
    const absl::Status fault = parts_.engine_faults.Report(source_->session, source_->map, status);
    Answer(v1::ALIGNMENT_STATUS_ENGINE_FAULT, fault.message());
  }
}

void ScanWork::AnswerOutOfMap() {
  const Pose& guess = *placed_->guess_map_T_base;
  const v1::OutputOptions& output = source_->recipe.output;
  const AlignResult result = ResultOutOfMap(*prepared_.base, guess, output.point_scores());
  v1::AlignmentResult& reply = reply_.result();
  AlignResultToProto(result, *prepared_.base, output, reply);
  reply.set_engine(parts_.engine.name());
  if (facts_.has_map) {
    static_cast<void>(gate_.AfterAlign(result, placed_->profile, guess, reply_.age_s()));
    InterpolatedGuessToProto(result.map_T_base);
  }
  AnswerOrRecover(
      v1::ALIGNMENT_STATUS_OUT_OF_MAP,
      OutOfMapVerdict(placed_->map.snapshot->tiles.bounds(), guess, facts_.max_distance_m).detail);
}

void ScanWork::AnswerOrRecover(v1::AlignmentStatus status, absl::string_view detail,
                               std::optional<AlignResult> own) {
  CompleteReply(status, detail);
  const std::optional<Pose>& odometry_T_base = placed_->prior.odometry_T_base;
  const auto step = source_->state->Missed(odometry_T_base);
  if (!step.has_value()) {
    reply_.Send();
    return;
  }
  RecoveryTask task;
  task.map = placed_->map;
  FillJob(task.job);
  task.job.with_point_scores = false;
  task.job.with_trace = false;
  task.step = *step;
  task.own = std::move(own);
  task.rays = prepared_.rays;
  task.odometry_T_base = odometry_T_base;
  RecoveryWork::Start(parts_, source_, std::move(task), std::move(reply_));
}

void ScanWork::Fuse() {
  if (!placed_.has_value() || !placed_->fusion.has_value()) return;
  const auto fused = source_->state->EndFusion(placed_->fusion->scan,
                                               observation_.has_value() ? &*observation_ : nullptr);
  if (!fused.has_value()) return;
  // The offset that was learnt is taken out of this pose.
  SystematicError systematic = estimate_.covariance.systematic;
  systematic.time_sigma_s = fused->stamp_sigma_s;
  FusedPoseToProto(
      *fused, SystematicCovariance(systematic, fused->map_T_base, placed_->prior.base_twist).Sum(),
      hints_.odom_T_base, *reply_.result().mutable_fused());
}

void ScanWork::CompleteReply(v1::AlignmentStatus status, absl::string_view detail) {
  reply_.SetStatus(status, detail);
  Fuse();
  const Diagnostics diagnostics = source_->state->Finish(gate_);
  if (source_->recipe.output.diagnostics()) {
    DiagnosticsToProto(diagnostics, *reply_.result().mutable_diagnostics());
  }
  if (!placed_.has_value()) return;
  AlignmentInputs inputs;
  inputs.guess_map_T_base = placed_->guess_map_T_base;
  inputs.guess_covariance = placed_->guess_covariance;
  inputs.motion_covariance = placed_->motion_covariance;
  inputs.base_twist = placed_->prior.base_twist;
  inputs.reference_map = placed_->reference_map;
  if (prepared_.joined_scans > 1) inputs.joint_base = prepared_.base;
  inputs.sensor_position_base = prepared_.rays.sensor_position_base;
  inputs.deskewed = prepared_.deskewed;
  if (placed_->fusion.has_value()) inputs.systematic = placed_->fusion->systematic;
  reply_.SetInputs(std::move(inputs));
}

void ScanWork::InterpolatedGuessToProto(const Pose& result_map_T_base) {
  if (!source_->recipe.output.diagnostics() || !placed_->interpolated) return;
  const BufferedPose& older = *placed_->prior.older;
  const BufferedPose& newer = *placed_->prior.newer;
  v1::InterpolatedGuess& proto =
      *reply_.result().mutable_diagnostics()->mutable_interpolated_guess();
  proto.set_older_stamp_ns(older.stamp_ns);
  PoseToProto(older.map_T_base, *proto.mutable_older_map_t_base());
  proto.set_newer_stamp_ns(newer.stamp_ns);
  PoseToProto(newer.map_T_base, *proto.mutable_newer_map_t_base());
  proto.set_initial_to_result_distance_old_m(
      TranslationDistance(older.map_T_base, result_map_T_base));
  proto.set_initial_to_result_distance_new_m(
      TranslationDistance(newer.map_T_base, result_map_T_base));
}

}  // namespace voxloc::server
