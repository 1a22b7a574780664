// SPDX-License-Identifier: Apache-2.0

#include "cuda/align/align_slice.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "absl/time/clock.h"
#include "core/engine/job_check.h"
#include "core/engine/search_rules.h"
#include "core/geometry/euler.h"
#include "cuda/align/launch_shape.h"
#include "cuda/runtime/trace_range.h"

namespace voxloc::cuda {

absl::Status StopFlags::CreateStream() {
  VOXLOC_ASSIGN_OR_RETURN(stream_, Stream::Create(device_, Priority::kHigh));
  return absl::OkStatus();
}

absl::Status StopFlags::Zero() {
  VOXLOC_CUDA_TRY(*device_, cudaMemsetAsync(words_.data(), 0, words_.MemoryBytes(), stream_.get()),
                  "clearing stop flags");
  return stream_.Synchronize();
}

absl::Status StopFlags::Prepare(size_t jobs) {
  const uint32_t* const before = words_.data();
  const size_t capacity = words_.capacity();
  raised_.assign(jobs, false);
  VOXLOC_TRY(words_.ReserveForUse(jobs));
  const bool other = words_.data() != before || words_.capacity() != capacity;
  if (words_.data() != nullptr && (other || any_raised_)) VOXLOC_TRY(Zero());
  any_raised_ = false;
  if (raised_word_.data() != nullptr) return absl::OkStatus();
  VOXLOC_TRY(raised_word_.Reserve(sizeof(uint32_t)));
  const uint32_t raised = 1;
  std::memcpy(raised_word_.data(), &raised, sizeof(raised));
  return absl::OkStatus();
}

void StopFlags::Raise(size_t job) noexcept {
  if (raised_[job]) return;
  any_raised_ = true;
  raised_[job] = cudaMemcpyAsync(words_.data() + job, raised_word_.data(), sizeof(uint32_t),
                                 cudaMemcpyHostToDevice, stream_.get()) == cudaSuccess;
  if (!raised_[job]) (void)cudaGetLastError();
}

void StopFlags::Reset() noexcept {
  if (!any_raised_) return;
  any_raised_ =
      cudaMemsetAsync(words_.data(), 0, words_.MemoryBytes(), stream_.get()) != cudaSuccess ||
      cudaStreamSynchronize(stream_.get()) != cudaSuccess;
  if (any_raised_) (void)cudaGetLastError();
}

namespace {

// Limits of a slice, about 2 ms of work on a large device.
constexpr size_t kMaxPoints = size_t{1} << 21;      // of all jobs
constexpr size_t kMaxIterations = size_t{1} << 18;  // recorded
constexpr size_t kMaxScoredPoints = size_t{1} << 26;

// The capacity that a job needs in a slice.
struct Demands {
  size_t points = 0;
  size_t scored = 0;
  size_t iterations = 0;
};

Demands DemandsOf(const AlignJob& job) {
  Demands demands;
  demands.points = job.scan != nullptr ? job.scan->size() : 0;
  if (job.with_point_scores) demands.scored = demands.points;
  for (const EvaluationPass& pass : job.passes) {
    const size_t points = pass.cloud != nullptr ? pass.cloud->size() : demands.points;
    demands.points += pass.cloud != nullptr ? points : 0;
    demands.scored += pass.with_point_scores ? points : 0;
  }
  if (job.with_trace) demands.iterations = MaxIterations(job.profile);
  return demands;
}

// Whether the profiles have the same program. If one passes ValidateProfile, so does the other.
bool SearchesAlike(const Profile& a, const Profile& b) {
  return a.score_stage == b.score_stage && a.judged == b.judged &&
         a.allowed_loss == b.allowed_loss && a.independent_points == b.independent_points &&
         a.observed_share == b.observed_share && a.regularization_scale == b.regularization_scale &&
         a.acceptance_threshold == b.acceptance_threshold && a.stages == b.stages;
}

}  // namespace

absl::StatusOr<std::unique_ptr<AlignSlice>> AlignSlice::Create(const AlignResources& resources,
                                                               size_t max_jobs, Priority priority) {
  const std::shared_ptr<Device>& device = resources.device;
  VOXLOC_TRY(device->MakeCurrent());
  std::unique_ptr<AlignSlice> slice(new AlignSlice(resources, max_jobs));
  VOXLOC_ASSIGN_OR_RETURN(slice->stream_, Stream::Create(device, priority));
  VOXLOC_TRY(slice->stops_.CreateStream());
  for (Event& event : slice->events_) {
    VOXLOC_ASSIGN_OR_RETURN(event, Event::Create(device));
  }
  return slice;
}

void AlignSlice::Clear() {
  entries_.clear();
  jobs_.clear();
  programs_.clear();
  program_of_.clear();
  scans_.Clear();
  total_points_ = 0;
  iterations_ = 0;
  scored_points_ = 0;
  passes_.Clear();
  moment_.reset();
  with_times_ = false;
  cancellable_ = false;
  status_ = absl::OkStatus();
}

bool AlignSlice::Add(const AlignEntry& entry) {
  const AlignJob& job = *entry.job;
  AlignResult& result = *entry.result;
  const Demands demands = DemandsOf(job);
  if (!entries_.empty() &&
      (entries_.size() >= max_jobs_ || total_points_ + demands.points > kMaxPoints ||
       iterations_ + demands.iterations > kMaxIterations ||
       scored_points_ + demands.scored > kMaxScoredPoints)) {
    return false;
  }
  const CudaPackedJob* const prepacked = CudaPackedJob::FromJob(job);
  result.status = prepacked != nullptr ? CheckGuess(job) : CheckInputs(job);
  if (!result.status.ok()) return true;
  const absl::StatusOr<uint32_t> program = FindOrAddProgram(job);
  const absl::StatusOr<uint32_t> scan =
      program.ok() ? scans_.FindOrAddScan(job, prepacked, *program) : program.status();
  if (!scan.ok()) {
    result.status = scan.status();
    return true;
  }

  DeviceJob packed{};
  const ChartVector guess = ChartFromPose(job.map_T_base_guess);
  std::copy(guess.data(), guess.data() + 6, packed.guess);
  packed.program = *program;
  packed.scan = *scan;
  packed.rotation_scale_m = scans_.rotation_scale_m(*scan);
  packed.prior = MakeGuessPrior(job, packed.rotation_scale_m);
  packed.entry =
      static_cast<int>(EntryStage(job.profile, job.guess_covariance, packed.rotation_scale_m));
  packed.interrupt = CheckInterrupt(job.stop);
  if (job.stop.deadline != absl::InfiniteFuture()) {
    if (!moment_) moment_ = clock_->Now();
    packed.deadline_ns = moment_->At(job.stop.deadline);
  }
  if (job.regularization_position_map) {
    packed.regularized = true;
    packed.score_includes_regularization = job.profile.score_includes_regularization;
    packed.reference_x = job.regularization_position_map->x();
    packed.reference_y = job.regularization_position_map->y();
    packed.regularization_scale = job.profile.regularization_scale;
  }
  packed.with_trace = job.with_trace;
  packed.trace_begin = iterations_;
  packed.with_point_scores = job.with_point_scores;
  packed.point_scores_begin = scored_points_;
  packed.passes_only = job.passes_only;
  packed.watched = job.stop.cancelled != nullptr && !job.passes_only;
  packed.passes_begin = passes_.size();
  packed.passes = static_cast<uint32_t>(job.passes.size());
  iterations_ += static_cast<uint32_t>(demands.iterations);
  if (job.with_point_scores) scored_points_ += scans_.packed(*scan).points;
  AddPasses(job, prepacked, *scan);
  total_points_ += demands.points;
  with_times_ = with_times_ || job.with_device_times;
  cancellable_ = cancellable_ || packed.watched;
  jobs_.push_back(packed);
  entries_.push_back(entry);
  return true;
}

absl::StatusOr<uint32_t> AlignSlice::FindOrAddProgram(const AlignJob& job) {
  for (size_t i = programs_.size(); i-- > 0;) {
    const AlignJob& known = *program_of_[i];
    if (known.map == job.map && SearchesAlike(known.profile, job.profile)) {
      return static_cast<uint32_t>(i);
    }
  }
  VOXLOC_TRY(ValidateProfile(job.profile));
  VOXLOC_ASSIGN_OR_RETURN(const CudaMap* const map, CudaMap::FromResident(*device_, job.map.get()));
  VOXLOC_TRY(CheckCells(*map, job.profile.stages));
  AlignProgram program{};
  const ndt::SearchRules rules = MakeSearchRules(job, /*scan_scale_m=*/0.0);
  program.stages = rules.stages;
  program.score_stage = rules.score_stage;
  program.judgement = rules.judgement;
  for (size_t i = 0; i < job.profile.stages.size(); ++i) {
    const Stage& stage = job.profile.stages[i];
    program.rules[i] = rules.stage[i];
    program.terms[i] = MakeStageTerms(stage, *map->Blocks(stage.cells));
  }
  programs_.push_back(program);
  program_of_.push_back(&job);
  return static_cast<uint32_t>(programs_.size() - 1);
}

void AlignSlice::AddPasses(const AlignJob& job, const CudaPackedJob* prepacked, uint32_t scan) {
  for (size_t k = 0; k < job.passes.size(); ++k) {
    const EvaluationPass& pass = job.passes[k];
    const uint32_t number = pass.cloud != nullptr ? scans_.FindOrAddCloud(job, k, prepacked) : scan;
    const PackedScan& packed = scans_.packed(number);
    if (prepacked != nullptr) {
      passes_.Add(pass, number, prepacked->places(k), scored_points_);
    } else {
      passes_.Add(pass, number, PlacesOf(pass, packed), scored_points_);
    }
    if (pass.with_point_scores) scored_points_ += packed.points;
  }
}

void AlignSlice::Plan(DeviceUse use) {
  const auto choose = [&](int max_cluster) {
    return ChooseShape(max_cluster, limits_.exchange,
                       static_cast<size_t>(device_->properties().multiprocessors),
                       {jobs_.size(), scans_.max_points() / kPointsPerChunk + 1}, use);
  };
  shape_ = choose(limits_.max_cluster);
  if (shape_.blocks != BlockSize::kGroup) return;
  group_reservation_ = group_budget_->TryAcquire(static_cast<int>(jobs_.size()) * shape_.cluster);
  if (!group_reservation_.has_value()) shape_ = choose(1);
}

int AlignSlice::budget_blocks() const {
  return static_cast<int>(jobs_.size()) * shape_.cluster *
         limits_.small_blocks_of[static_cast<size_t>(shape_.blocks)];
}

void AlignSlice::Launch() {
  if (entries_.empty()) return;
  const TraceRange range("launch slice");
  launched_ = true;
  status_ = device_->MakeCurrent();
  if (status_.ok()) status_ = Queue();
}

// Also with a size of zero, which counts as a use for retention.
absl::Status AlignSlice::Reserve() {
  VOXLOC_TRY(stops_.Prepare(cancellable_ ? jobs_.size() : 0));
  VOXLOC_TRY(results_.ReserveForUse(jobs_.size()));
  VOXLOC_TRY(trace_.ReserveForUse(iterations_));
  VOXLOC_TRY(scores_.ReserveForUse(scored_points_));
  const size_t in_groups = shape_.blocks == BlockSize::kGroup ? jobs_.size() : 0;
  VOXLOC_TRY(exchanged_columns_.ReserveForUse(in_groups * kGroupColumns));
  VOXLOC_TRY(counted_columns_.ReserveForUse(in_groups));
  return passes_.Reserve();
}

absl::Status AlignSlice::Queue() {
  VOXLOC_TRY(Reserve());
  if (with_times_) VOXLOC_TRY(events_[0].Record(stream_));
  AlignArguments arguments{};
  upload_.Add(programs_, &arguments.programs);
  upload_.Add(jobs_, &arguments.jobs);
  passes_.AddTo(upload_, arguments);
  scans_.AddTo(upload_, arguments);
  VOXLOC_TRY(upload_.Send(stream_));
  VOXLOC_TRY(scans_.QueueGather(*device_, stream_));
  if (with_times_) VOXLOC_TRY(events_[1].Record(stream_));
  arguments.job_count = static_cast<uint32_t>(jobs_.size());
  arguments.stops = stops_.device_data();
  arguments.results = results_.device_data();
  arguments.trace = trace_.device_data();
  arguments.point_scores = scores_.device_data();
  if (iterations_ > 0) {
    // Searches that end early do not write all of it, but all of it is read back.
    VOXLOC_CUDA_TRY(
        *device_,
        cudaMemsetAsync(arguments.trace, 0, iterations_ * sizeof(DeviceIteration), stream_.get()),
        "clearing the trace");
  }
  if (shape_.blocks == BlockSize::kGroup) {
    arguments.group = static_cast<uint32_t>(shape_.cluster);
    arguments.exchanged_columns = exchanged_columns_.data();
    arguments.counted_columns = counted_columns_.data();
    VOXLOC_CUDA_TRY(*device_,
                    cudaMemsetAsync(arguments.counted_columns, 0, jobs_.size() * sizeof(uint32_t),
                                    stream_.get()),
                    "clearing the counters of groups");
  }
  VOXLOC_TRY(LaunchAlign(*device_, arguments, shape_, stream_.get()));
  if (with_times_) VOXLOC_TRY(events_[2].Record(stream_));
  VOXLOC_TRY(results_.Download(stream_, "reading results"));
  VOXLOC_TRY(trace_.Download(stream_, "reading the trace"));
  VOXLOC_TRY(scores_.Download(stream_, "reading point scores"));
  VOXLOC_TRY(passes_.QueueDownload(stream_));
  return with_times_ ? events_[3].Record(stream_) : absl::OkStatus();
}

void AlignSlice::ForwardStops() noexcept {
  for (size_t i = 0; i < jobs_.size(); ++i) {
    if (jobs_[i].watched && entries_[i].job->stop.cancelled->load(std::memory_order_relaxed)) {
      stops_.Raise(i);
    }
  }
}

void AlignSlice::Drain() noexcept {
  if (std::exchange(launched_, false)) stream_.Drain();
  stops_.Reset();
  reservation_.reset();
  group_reservation_.reset();
}

void AlignSlice::Finish() {
  if (!launched_) return;
  const TraceRange range("finish slice");
  // Work queued before an error may still run on memory of this slice.
  absl::Status finished = stream_.Synchronize();
  stops_.Reset();
  launched_ = false;
  reservation_.reset();
  group_reservation_.reset();
  if (status_.ok()) status_ = std::move(finished);
  if (status_.ok() && with_times_) status_ = FillTimes();
  for (size_t i = 0; i < entries_.size(); ++i) {
    entries_[i].result->status = status_;
    if (status_.ok()) FillResult(i);
  }
}

absl::Status AlignSlice::FillTimes() const {
  DeviceTimes times;
  double* const times_s[] = {&times.upload_s, &times.kernel_s, &times.download_s};
  for (int i = 0; i < 3; ++i) {
    VOXLOC_ASSIGN_OR_RETURN(const double ms, events_[i + 1].MillisecondsSince(events_[i]));
    *times_s[i] = 1e-3 * ms;
  }
  times.first_of_launch = true;
  for (const AlignEntry& entry : entries_) {
    if (!entry.job->with_device_times) continue;
    entry.result->device_times = times;
    times.first_of_launch = false;
  }
  return absl::OkStatus();
}

void AlignSlice::FillResult(size_t i) const {
  const DeviceResult& from = results_.data()[i];
  const DeviceJob& job = jobs_[i];
  AlignResult& result = *entries_[i].result;
  result.map_T_base = PoseFromChart(ToEigen(from.chart));
  result.termination = from.termination;
  const size_t points = scans_.packed(job.scan).points;
  result.before = ToPoseScore(from.before, points);
  result.after = ToPoseScore(from.after, points);
  result.gradient = ToEigen(from.gradient);
  result.hessian = ToEigen(from.hessian);
  result.iterations = from.iterations;
  result.evaluations = from.evaluations;
  result.oscillations = from.oscillations;
  result.reached_iteration_limit = from.reached_iteration_limit;
  result.stage = from.stage;
  if (job.with_trace) {
    const DeviceIteration* const records = trace_.data() + job.trace_begin;
    result.trace.reserve(static_cast<size_t>(from.iterations));
    const DeviceScan& scan = scans_.on_device(job.scan);
    for (int k = 0; k < from.iterations; ++k) {
      const ndt::IterationRecord& step = records[k].step;
      result.trace.push_back(
          MakeTrace(step, ToPoseScore(records[k].score, scan.stage_points[step.stage])));
    }
  }
  if (job.with_point_scores) {
    const PackedScan& scan = scans_.packed(job.scan);
    const float* const scores = scores_.data() + job.point_scores_begin;
    result.point_scores.assign(entries_[i].job->scan->size(), 0.0F);
    for (uint32_t k = 0; k < scan.points; ++k) {
      result.point_scores[scan.PlaceInCloud(k)] = scores[k];
    }
  }
  FillPasses(i);
}

void AlignSlice::FillPasses(size_t i) const {
  const AlignJob& job = *entries_[i].job;
  for (uint32_t k = 0; k < jobs_[i].passes; ++k) {
    const EvaluationPass& pass = job.passes[k];
    const size_t cloud_points = pass.cloud != nullptr ? pass.cloud->size() : job.scan->size();
    const uint32_t number = jobs_[i].passes_begin + k;
    passes_.Fill(number, scans_.packed(passes_.scan_of(number)), cloud_points, scores_.data(),
                 entries_[i].result->passes.emplace_back());
  }
}

}  // namespace voxloc::cuda
