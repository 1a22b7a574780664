// SPDX-License-Identifier: Apache-2.0

#include "server/scan/scan_work.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/engine/scan_reach.h"
#include "core/estimate/scan_features.h"
#include "core/tracking/two_guesses.h"
#include "core/tracking/verdict.h"
#include "server/convert/cloud.h"
#include "server/convert/pose.h"
#include "server/convert/result.h"
#include "server/observe/logging.h"
#include "server/scan/recovery_work.h"

namespace voxloc::server {
namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

Clock::duration Duration(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// A scan's own part of its batch, seconds.
double TrackingTime(const v1::Timings& timings) {
  return timings.prepare_s() +
         timings.align_s() / static_cast<double>(std::max(1U, timings.batch_size())) +
         timings.estimate_s();
}

}  // namespace

ScanWork::ScanWork(Runtime& runtime, std::shared_ptr<const ScanSource> source,
                   std::shared_ptr<ScanClient> client,
                   std::unique_ptr<v1::AlignScansRequest> message, const v1::Scan& scan,
                   const StopToken& stop, const TraceContext& call_trace)
    : runtime_(runtime),
      source_(std::move(source)),
      reply_(runtime, source_, std::move(client), scan, call_trace),
      message_(std::move(message)),
      scan_(&scan),
      bytes_(scan.ByteSizeLong()),
      stop_(stop),
      gate_(source_->recipe.align.gate) {
  const int64_t received_ns = reply_.result().timings().received_at_ns();
  if (runtime.captures.enabled() && source_->setup != nullptr) {
    reply_.SetCapture(std::make_unique<ScanCapture>(runtime.captures, std::move(message_), scan));
  }
  facts_.stamp_ns = scan.stamp_ns();
  if (scan.stamp_ns() != 0) {
    facts_.delay_s =
        (static_cast<double>(received_ns) - static_cast<double>(scan.stamp_ns())) * 1e-9;
  }
}

bool ScanWork::Check() {
  const LogTrace log_trace(reply_.trace().context());
  const absl::Status status = CheckFields();
  if (status.ok()) return true;
  // An empty scan is not malformed to Autoware, whose checks begin with that.
  if (HasPointData(*scan_)) facts_.malformed = status;
  AnswerInvalid(status);
  return false;
}

absl::Status ScanWork::CheckFields() {
  auto points = CheckScanClouds(*scan_, source_->max_points);
  if (!points.ok()) return points.status();
  runtime_.metrics.scan_points_received.Increment(static_cast<double>(*points));
  reply_.result().mutable_points()->set_received(static_cast<uint32_t>(*points));
  facts_.points = *points;
  if (*points == 0) return absl::InvalidArgumentError("the scan has no points");
  auto hints = ScanHintsFromProto(*scan_);
  if (!hints.ok()) return hints.status();
  hints_ = *std::move(hints);
  if (source_->state->accumulates()) {
    if (!hints_.odom_T_base.has_value()) {
      return absl::InvalidArgumentError(
          "odom_t_base must be set: the session accumulates scans, which are placed by it");
    }
    earlier_points_ = source_->state->accumulated_points();
  }
  guess_ = hints_.guess_map_T_base;
  guess_covariance_ = hints_.guess_covariance;
  reference_ = hints_.reference_map;
  if (source_->own_clock) facts_.delay_s = hints_.age_s;
  const double timeout_s = hints_.timeout_s == 0.0 ? source_->timeout_s : hints_.timeout_s;
  if (timeout_s > 0.0) {
    stop_.deadline = std::min(stop_.deadline, absl::Now() + absl::Seconds(timeout_s));
  }
  return absl::OkStatus();
}

bool ScanWork::Prepare(AlignJob& job, EstimateRequest& estimate, ThreadPool* idle) {
  const LogTrace log_trace(reply_.trace().context());
  const Clock::time_point start = Clock::now();
  reply_.trace().AddStage("queue", reply_.received(), start);
  v1::Timings& timings = *reply_.result().mutable_timings();
  timings.set_queue_wait_s(Seconds(start - reply_.received()));
  FindPlace();
  FindMap();
  const std::optional<Refusal> refusal = RefusalOfScan();
  // Autoware's record tells of the points even where nothing comes of them.
  absl::Status points;
  if (!refusal.has_value() || source_->recipe.output.diagnostics) {
    points = PreparePoints(!refusal.has_value());
  }
  static_cast<void>(gate_.BeforeAlign(facts_));
  if (refusal.has_value()) {
    Answer(refusal->status, refusal->detail);
  } else if (!points.ok()) {
    AnswerFailed(points);
  } else if (!guess_.has_value()) {
    AnswerMissed(
        v1::ALIGNMENT_STATUS_NO_PRIOR,
        absl::StrCat("the scan has no guess_map_t_base, and the session's poses give none: ",
                     facts_.guess.message()));
  } else if (!IsWithinMap()) {
    AnswerOutOfMap();
  } else {
    FillJob(job);
    FillEstimate(job, estimate, idle);
    RequestPasses(*estimate.features, job);
    RequestSweep(job);
    job.packed = runtime_.engine->Pack(job);
    prepared_at_ = Clock::now();
    timings.set_prepare_s(Seconds(prepared_at_ - start));
    reply_.trace().AddStage("prepare", start, prepared_at_);
    return true;
  }
  return false;
}

void ScanWork::FindPlace() {
  shown_stamp_ns_ = source_->recipe.align.sensor.CorrectStamp(facts_.stamp_ns);
  placed_ = true;
  place_ = source_->state->TakePlace(shown_stamp_ns_, hints_.odom_T_base);
  facts_.active = place_.active;
  if (hints_.base_twist.has_value()) place_.base_twist = hints_.base_twist;
  if (!guess_.has_value() && place_.status.ok()) {
    guess_ = place_.guess_map_T_base;
    guess_covariance_ = place_.guess_covariance;
    interpolated_ = place_.older.has_value();
    if (place_.corrected) own_guess_ = place_.odometry_T_base;
    // As it would come from a client, so that a capture can bring it: see PoseFromProto.
    guess_->rotation.normalize();
    if (own_guess_.has_value()) own_guess_->rotation.normalize();
  }
  if (!guess_.has_value()) {
    facts_.guess = place_.status;
  } else {
    PoseToProto(*guess_, *reply_.result().mutable_guess_map_t_base());
  }
  if (!reference_.has_value()) reference_ = place_.reference_map;
  if (!source_->recipe.align.regularize) reference_.reset();
}

void ScanWork::FindMap() {
  facts_.has_map = false;
  auto map = runtime_.maps.Find(source_->map, source_->vehicle);
  map_status_ = map.status();
  if (!map.ok()) return;
  map_ = *std::move(map);
  reply_.result().set_map(source_->map);
  reply_.result().set_map_revision(map_.snapshot->revision);
  auto profile = ProfileOnMap(source_->recipe.align.profile, *map_.facts->build, source_->map);
  map_status_ = profile.status();
  if (!profile.ok()) return;
  profile_ = *std::move(profile);
  facts_.has_map = !map_.snapshot->tiles.empty();
  if (!guess_.has_value()) return;
  const Bounds& bounds = map_.snapshot->tiles.bounds();
  const Eigen::Array2d position = guess_->translation.head<2>().array();
  facts_.out_of_map_range = (position < bounds.min.head<2>().array()).any() ||
                            (position > bounds.max.head<2>().array()).any();
  FindSurroundings();
}

void ScanWork::FindSurroundings() {
  Eigen::Vector3d velocity_map = Eigen::Vector3d::Zero();
  if (place_.base_twist.has_value()) {
    velocity_map = guess_->rotation * place_.base_twist->linear_m_s;
  }
  tiles_near_ = runtime_.surroundings.Note(map_, guess_->translation, velocity_map);
  if (tiles_near_.absent() == 0) return;
  reply_.result().set_tiles_missing(static_cast<uint32_t>(tiles_near_.absent()));
  runtime_.metrics.scans_near_missing_tiles.Increment();
}

std::optional<ScanWork::Refusal> ScanWork::RefusalOfScan() const {
  if (source_->max_delay_s > 0.0 && facts_.delay_s > source_->max_delay_s) {
    return Refusal{v1::ALIGNMENT_STATUS_STALE,
                   absl::StrCat("the scan must arrive at most ", source_->max_delay_s,
                                " s after its stamp (got ", facts_.delay_s, " s)")};
  }
  if (!facts_.active) {
    return Refusal{v1::ALIGNMENT_STATUS_NOT_ACTIVE, "the session is not active"};
  }
  if (!map_status_.ok()) {
    return Refusal{v1::ALIGNMENT_STATUS_NO_MAP, std::string(map_status_.message())};
  }
  if (tiles_near_.resident == 0 && tiles_near_.missing > 0) {
    return Refusal{v1::ALIGNMENT_STATUS_NO_MAP, DescribeMissing(source_->map, tiles_near_)};
  }
  if (absl::Now() >= stop_.deadline) {
    return Refusal{v1::ALIGNMENT_STATUS_DEADLINE, "the deadline passed while the scan waited"};
  }
  return std::nullopt;
}

absl::Status ScanWork::PreparePoints(bool joins) {
  auto prepared = PrepareScan(*scan_, source_->recipe, place_.base_twist, *runtime_.engine,
                              WorkClass::kTracking);
  scan_ = nullptr;
  message_.reset();
  facts_.transform = prepared.status();
  if (!prepared.ok()) return prepared.status();
  prepared_ = *std::move(prepared);
  facts_.transform = RequirePoints(prepared_.counts);
  if (facts_.transform.ok() && joins) JoinEarlierScans();
  v1::PointCounts& counts = *reply_.result().mutable_points();
  PointCountsToProto(prepared_.counts, counts);
  counts.set_deskewed(prepared_.deskewed);
  counts.set_joined_scans(static_cast<uint32_t>(prepared_.joined_scans));
  counts.set_joined_points(static_cast<uint32_t>(prepared_.joined_points));
  if (!facts_.transform.ok()) return facts_.transform;
  facts_.max_distance_m = ReachOf(*prepared_.base);
  if (const double required_m = source_->recipe.align.gate.required_distance_m;
      facts_.max_distance_m < required_m) {
    return absl::InvalidArgumentError(absl::StrCat("the farthest point must be at least ",
                                                   required_m, " m from the base (got ",
                                                   facts_.max_distance_m, " m)"));
  }
  return absl::OkStatus();
}

void ScanWork::JoinEarlierScans() {
  if (!source_->state->accumulates()) return;
  const auto earlier =
      source_->state->Accumulate(shown_stamp_ns_, *hints_.odom_T_base, prepared_.base);
  JoinScans(earlier, source_->recipe, prepared_);
}

bool ScanWork::IsWithinMap() const {
  const auto can_touch = [this](const Pose& guess) {
    return CanTouch(map_.snapshot->tiles.bounds(), guess, facts_.max_distance_m,
                    MatchMargin(profile_));
  };
  return can_touch(*guess_) || (own_guess_.has_value() && can_touch(*own_guess_));
}

void ScanWork::FillJob(AlignJob& job) {
  const ScanRecipe& recipe = source_->recipe;
  job.map = map_.resident();
  job.scan = prepared_.base;
  job.profile = profile_;
  job.map_T_base_guess = guess_.value_or(Pose());
  job.guess_covariance = guess_covariance_;
  job.regularization_position_map = reference_;
  job.work_class = WorkClass::kTracking;
  job.stop = stop_;
  job.want_trace = recipe.output.trace;
  job.want_point_scores = recipe.output.point_scores;
  job.want_device_times = reply_.trace().recorded();
}

void ScanWork::FillEstimate(const AlignJob& job, EstimateRequest& estimate, ThreadPool* idle) {
  estimate.options = &source_->recipe.estimate;
  if (prepared_.deskewed) {
    own_estimate_ = source_->recipe.estimate;
    own_estimate_->covariance.systematic.skew_sigma_s = 0.0;
    estimate.options = &*own_estimate_;
  }
  estimate.rays = prepared_.rays;
  estimate.guess_covariance = guess_covariance_;
  estimate.base_twist = place_.base_twist;
  estimate.features =
      DescribeScan(*job.scan, estimate.rays, job.map_T_base_guess, *estimate.options, idle);
}

void ScanWork::RequestSweep(AlignJob& job) {
  if (prepared_.time_s.empty()) return;
  sweep_ = SliceSweep(prepared_.time_s);
  if (!sweep_.has_value()) return;
  if (MotionOver(*sweep_, *place_.base_twist) < kLeastSweepMotionM) {
    sweep_.reset();
    return;
  }
  sweep_pass_ = RequestSweepPass(*sweep_, prepared_.rays.points_base, job);
}

void ScanWork::CheckSweep(const AlignResult& result) {
  if (!sweep_.has_value() || result.passes.size() <= sweep_pass_) return;
  const SweepPull pull = MeasureSweepPull(*sweep_, result.passes[sweep_pass_].groups,
                                          *place_.base_twist, result.map_T_base);
  const SweepReport report = source_->state->CheckSweep(pull);
  SweepReportToProto(report, *reply_.result().mutable_sweep_check());
  if (report.suspect) runtime_.metrics.sweeps_suspect.Increment();
  if (!report.begins) return;
  LogLimited(LogLevel::kWarn, "suspect_sweeps",
             {{"session", source_->session},
              {"map", source_->map},
              {"unexplained_motion", report.unexplained_motion},
              {"sigma", report.sigma},
              {"scans", report.scans}});
}

PriorKnowledge ScanWork::KnownBeforehand() const {
  PriorKnowledge known;
  known.map_T_base_guess = guess_;
  if (guess_.has_value() && guess_covariance_.has_value()) {
    known.priors.push_back({PriorSource::kGuess, *guess_, *guess_covariance_});
  }
  const auto odometry = place_.anchor.Prior(source_->recipe.align.odometry_drift);
  if (odometry.has_value()) known.priors.push_back(*odometry);
  return known;
}

bool ScanWork::PrefersSecond(const AlignResult& first, const AlignResult& second) {
  const int max_oscillations = source_->recipe.align.gate.max_oscillations;
  const bool prefers = IsBetter(second, first, profile_, max_oscillations);
  own_suffices_ = Confirms(second, prefers ? second : first, profile_,
                           source_->state->recovery()->same, max_oscillations);
  if (prefers) {
    guess_ = own_guess_;
    PoseToProto(*guess_, *reply_.result().mutable_guess_map_t_base());
  }
  return prefers;
}

void ScanWork::Complete(AlignResult result, const ScanEstimate* estimate, const BatchFacts& batch) {
  const LogTrace log_trace(reply_.trace().context());
  const Clock::time_point start = Clock::now();
  const Clock::time_point aligned = batch.align_start + Duration(batch.align_s);
  reply_.trace().AddStage("align", batch.align_start, aligned);
  if (result.device_times.has_value()) TraceDevice(*result.device_times, aligned);
  const Clock::time_point estimated = estimate != nullptr ? batch.estimate_start : start;
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
    EstimateToProto(*estimate, result.map_T_base, recipe.estimate.covariance.method, recipe.output,
                    reply);
  }
  const AlignOptions& align = recipe.align;
  Verdict verdict =
      JudgeResult(result, estimate, profile_, align.gate, align.limits, KnownBeforehand());
  // A deadline says nothing of the pose.
  if (profile_.acceptance_rule == AcceptanceRule::kStrict && !source_->session.empty() &&
      verdict.status != AlignmentStatus::kDeadline) {
    const bool near_guess = TranslationDistance(*guess_, result.map_T_base) <=
                            align.gate.initial_to_result_distance_tolerance_m;
    source_->state->CheckTrack(facts_.stamp_ns == 0 ? 0 : shown_stamp_ns_, result.map_T_base,
                               near_guess, verdict);
  }
  const v1::AlignmentStatus status = StatusToProto(verdict.status);
  reply.set_accepted(verdict.accepted);
  if (verdict.settled_by.has_value()) SettledByToProto(*verdict.settled_by, reply);
  reply.set_engine(runtime_.engine->name());
  v1::Timings& timings = *reply.mutable_timings();
  timings.set_batch_wait_s(Seconds(batch.align_start - prepared_at_));
  timings.set_align_s(batch.align_s);
  timings.set_estimate_wait_s(Seconds(estimated - aligned));
  timings.set_batch_size(static_cast<uint32_t>(batch.size));
  if (gate_.AfterAlign(result, profile_, *guess_, reply_.age_s()) && !verdict.accepted) {
    gate_.Doubt(verdict.detail);
  }
  InterpolatedGuessToProto(result.map_T_base);
  const Clock::time_point encoded = Clock::now();
  reply_.trace().AddStage("encode", start, encoded);
  runtime_.metrics.stage_encode_s.Observe(Seconds(encoded - start));
  timings.set_estimate_s(Seconds(encoded - estimated));
  if (verdict.accepted) {
    CheckSweep(result);
    source_->state->Found(shown_stamp_ns_, result.map_T_base, place_,
                          {own_suffices_, verdict.status == AlignmentStatus::kOk});
    runtime_.last_poses.Note({source_->vehicle, source_->map, map_.snapshot->revision,
                              absl::GetCurrentTimeNanos(), result.map_T_base});
    const double tracking_s = TrackingTime(timings);
    Answer(status, verdict.detail);
    OfferToFit(result, tracking_s);
  } else if (verdict.status == AlignmentStatus::kDeadline) {
    Answer(status, verdict.detail);
  } else {
    AnswerMissed(status, verdict.detail, std::move(result));
  }
}

// The device's clock is not the host's: what is known is how long its stages took, one after
// another, before the results were read.
void ScanWork::TraceDevice(const DeviceTimes& times, Clock::time_point end) {
  const Clock::time_point downloads = end - Duration(times.download_s);
  const Clock::time_point starts = downloads - Duration(times.kernel_s);
  reply_.trace().AddPart("upload", starts - Duration(times.upload_s), starts);
  reply_.trace().AddPart("kernel", starts, downloads);
  reply_.trace().AddPart("download", downloads, end);
}

void ScanWork::OfferToFit(const AlignResult& result, double tracking_s) {
  const std::string& source = source_->session.empty() ? source_->vehicle : source_->session;
  runtime_.fit_sampler.Offer(source, tracking_s, [&] {
    FitSample sample;
    sample.map = map_.snapshot;
    sample.cells = profile_.stages.back().cells;
    sample.points_base =
        prepared_.rays.points_base != nullptr ? prepared_.rays.points_base : prepared_.base;
    sample.sensor_position_base = prepared_.rays.sensor_position_base;
    sample.map_T_base = result.map_T_base;
    return sample;
  });
}

void ScanWork::AnswerFailed(const absl::Status& status, double retry_after_s) {
  if (absl::IsInvalidArgument(status)) {
    Answer(v1::ALIGNMENT_STATUS_INVALID_INPUT, status.message());
  } else if (absl::IsResourceExhausted(status)) {
    runtime_.metrics.engine_no_memory.Increment();
    reply_.result().set_retry_after_s(retry_after_s);
    Answer(v1::ALIGNMENT_STATUS_OVERLOADED, status.message());
  } else {
    const absl::Status fault = EngineFault(runtime_, source_->session, source_->map, status);
    Answer(v1::ALIGNMENT_STATUS_ENGINE_FAULT, fault.message());
  }
}

void ScanWork::Supersede() {
  const LogTrace log_trace(reply_.trace().context());
  runtime_.metrics.dropped_superseded.Increment();
  reply_.result().mutable_timings()->set_queue_wait_s(reply_.age_s());
  reply_.SetStatus(v1::ALIGNMENT_STATUS_SUPERSEDED, "a newer scan replaced this one");
  reply_.Send();
}

void ScanWork::Refuse(absl::string_view why, double retry_after_s) {
  const LogTrace log_trace(reply_.trace().context());
  runtime_.metrics.dropped_queue_full.Increment();
  runtime_.metrics.rejected_scans.Increment();
  reply_.result().set_retry_after_s(retry_after_s);
  reply_.SetStatus(v1::ALIGNMENT_STATUS_OVERLOADED, why);
  reply_.Send();
}

void ScanWork::Fail(const absl::Status& status) {
  if (reply_.ended()) return;
  const LogTrace log_trace(reply_.trace().context());
  runtime_.metrics.rejected_scans.Increment();
  Answer(v1::ALIGNMENT_STATUS_OVERLOADED, status.message());
}

void ScanWork::GiveUp() { reply_.GiveUp(); }

void ScanWork::AnswerInvalid(const absl::Status& status) {
  facts_.transform = status;
  static_cast<void>(gate_.BeforeAlign(facts_));
  Answer(v1::ALIGNMENT_STATUS_INVALID_INPUT, status.message());
}

void ScanWork::Answer(v1::AlignmentStatus status, absl::string_view detail) {
  reply_.SetStatus(status, detail);
  FinishDiagnostics();
  NoteInputs();
  reply_.Send();
}

void ScanWork::AnswerMissed(v1::AlignmentStatus status, absl::string_view detail,
                            std::optional<AlignResult> own) {
  reply_.SetStatus(status, detail);
  FinishDiagnostics();
  NoteInputs();
  const auto step = source_->state->Missed(place_.odometry_T_base);
  if (!step.has_value()) {
    reply_.Send();
    return;
  }
  RecoveryTask task;
  task.map = map_;
  FillJob(task.job);
  task.job.want_point_scores = false;
  task.job.want_trace = false;
  task.step = *step;
  task.own = std::move(own);
  task.rays = prepared_.rays;
  task.odometry_T_base = place_.odometry_T_base;
  RecoveryWork::Start(runtime_, source_, std::move(task), std::move(reply_));
}

void ScanWork::AnswerOutOfMap() {
  // What an alignment ends with where no point has a cell near it: it evaluates the guess, and has
  // nowhere to go. The engine is not asked for that.
  AlignResult result;
  result.map_T_base = *guess_;
  result.termination = Termination::kZeroStep;
  result.evaluations = 1;
  result.before.points = result.after.points = prepared_.base->size();
  const OutputChoice& output = source_->recipe.output;
  if (output.point_scores) result.point_scores.assign(prepared_.base->size(), 0.0F);
  v1::AlignmentResult& reply = reply_.result();
  AlignResultToProto(result, *prepared_.base, output, reply);
  reply.set_engine(runtime_.engine->name());
  if (facts_.has_map) {
    static_cast<void>(gate_.AfterAlign(result, profile_, *guess_, reply_.age_s()));
    InterpolatedGuessToProto(result.map_T_base);
  }
  const Bounds& bounds = map_.snapshot->tiles.bounds();
  const Eigen::Vector3d nearest = guess_->translation.cwiseMax(bounds.min).cwiseMin(bounds.max);
  AnswerMissed(
      v1::ALIGNMENT_STATUS_OUT_OF_MAP,
      bounds.finite_points == 0
          ? std::string("the map has no points")
          : absl::StrCat("the guess lies ", (guess_->translation - nearest).norm(),
                         " m outside the map, and the scan reaches ", facts_.max_distance_m, " m"));
}

void ScanWork::InterpolatedGuessToProto(const Pose& result_map_T_base) {
  if (!source_->recipe.output.diagnostics || !interpolated_) return;
  v1::InterpolatedGuess& proto =
      *reply_.result().mutable_diagnostics()->mutable_interpolated_guess();
  proto.set_older_stamp_ns(place_.older->stamp_ns);
  PoseToProto(place_.older->map_T_base, *proto.mutable_older_map_t_base());
  proto.set_newer_stamp_ns(place_.newer->stamp_ns);
  PoseToProto(place_.newer->map_T_base, *proto.mutable_newer_map_t_base());
  proto.set_initial_to_result_distance_old_m(
      TranslationDistance(place_.older->map_T_base, result_map_T_base));
  proto.set_initial_to_result_distance_new_m(
      TranslationDistance(place_.newer->map_T_base, result_map_T_base));
}

void ScanWork::FinishDiagnostics() {
  const Diagnostics diagnostics = source_->state->Finish(gate_);
  if (!source_->recipe.output.diagnostics) return;
  DiagnosticsToProto(diagnostics, *reply_.result().mutable_diagnostics());
}

void ScanWork::NoteInputs() {
  if (reply_.capture() == nullptr || !placed_) return;
  AlignmentInputs inputs;
  inputs.guess_map_T_base = guess_;
  inputs.guess_covariance = guess_covariance_;
  inputs.base_twist = place_.base_twist;
  inputs.reference_map = reference_;
  if (prepared_.joined_scans > 1) inputs.joint_base = prepared_.base;
  inputs.sensor_position_base = prepared_.rays.sensor_position_base;
  inputs.deskewed = prepared_.deskewed;
  reply_.capture()->SetInputs(std::move(inputs));
}

}  // namespace voxloc::server
