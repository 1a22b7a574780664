// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/initial_pose/prior_search.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/engine/search_rules.h"
#include "core/estimate/covariance/covariance_options.h"
#include "core/estimate/initial_pose/parzen_estimator.h"

namespace voxloc {
namespace {

absl::Status CheckCount(const char* name, size_t value, size_t most, const char* most_name) {
  if (value >= 1 && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " must be from 1 to ", most, most_name, " (got ", value, ")"));
}

ParzenPrior PriorOf(const PriorSearchOptions& options) {
  ParzenPrior prior;
  prior.mean = ParametersFromPose(options.map_T_base).head<5>();
  prior.sigma = options.covariance.diagonal().head<5>().cwiseSqrt();
  return prior;
}

// Particles that start at these poses, aligned in one call. The first status that is not ok.
absl::StatusOr<std::vector<SearchParticle>> AlignParticles(Engine& engine, const PoseSearchJob& job,
                                                           const std::vector<Pose>& starts,
                                                           size_t first_index) {
  std::vector<AlignJob> jobs(starts.size());
  for (size_t i = 0; i < starts.size(); ++i) {
    jobs[i].map = job.map;
    jobs[i].scan = job.scan;
    jobs[i].map_T_base_guess = starts[i];
    jobs[i].profile = job.profile;
    jobs[i].work_class = WorkClass::kSearching;
    jobs[i].stop = job.stop;
  }
  std::vector<AlignResult> results = engine.Align(jobs);
  std::vector<SearchParticle> particles;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].status.ok()) return results[i].status;
    particles.push_back({first_index + i, starts[i], std::move(results[i])});
  }
  return particles;
}

// Where a particle ended; where it started when it ended nowhere.
Pose EndOf(const SearchParticle& particle) {
  const Pose& end = particle.result.map_T_base;
  const bool finite = end.translation.allFinite() && end.rotation.coeffs().allFinite();
  return finite ? end : particle.start_map_T_base;
}

}  // namespace

absl::Status ValidatePriorSearch(const PriorSearchOptions& options, size_t max_particles) {
  const auto pose = PoseFromQuaternion(options.map_T_base.translation, options.map_T_base.rotation);
  if (!pose.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("the prior's ", pose.status().message()));
  }
  for (const absl::Status& status :
       {CheckPositiveDefinite(options.covariance, "the prior's covariance"),
        CheckCount("particles", options.particles, max_particles, ""),
        CheckCount("startup_trials", options.startup_trials, options.particles,
                   ", the number of particles"),
        CheckCount("guided_batch", options.guided_batch, kMaxGuidedBatch, "")}) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<PoseSearchResult> SearchAroundPrior(Engine& engine, const PoseSearchJob& job,
                                                   const PriorSearchOptions& options,
                                                   const PoseSearchObserver& observer) {
  for (const absl::Status& status : {ValidatePriorSearch(options, options.particles),
                                     ValidateHypothesisOptions(job.hypotheses)}) {
    if (!status.ok()) return status;
  }
  ParzenEstimator estimator(PriorOf(options), options.startup_trials, job.seed);
  std::vector<AlignResult> results;
  PoseSearchResult found;
  while (results.size() < options.particles) {
    const Interrupt interrupt = InterruptOf(job.stop);
    if (interrupt != Interrupt::kNone) {
      found.timed_out = interrupt == Interrupt::kDeadline;
      break;
    }
    const size_t wanted = results.empty() ? options.startup_trials : options.guided_batch;
    const size_t count = std::min(wanted, options.particles - results.size());
    std::vector<Pose> starts;
    for (const PoseParameters& start : estimator.Propose(count)) {
      starts.push_back(PoseFromParameters(start));
    }
    const auto particles = AlignParticles(engine, job, starts, results.size());
    if (!particles.ok()) return particles.status();
    for (const SearchParticle& particle : *particles) {
      const AlignResult& result = particle.result;
      estimator.AddTrial(ParametersFromPose(EndOf(particle)), result.after.transform_probability);
      found.timed_out = found.timed_out || result.termination == Termination::kDeadline;
      results.push_back(result);
    }
    found.candidates_aligned = results.size();
    found.largest_batch = std::max(found.largest_batch, count);
    if (observer) {
      PoseSearchProgress progress;
      progress.phase = PoseSearchPhase::kAligning;
      progress.fraction =
          static_cast<double>(results.size()) / static_cast<double>(options.particles);
      progress.candidates_aligned = results.size();
      progress.best = BestCandidate(results);
      progress.particles = *particles;
      observer(progress);
    }
  }
  if (InterruptOf(job.stop) == Interrupt::kCancelled) {
    return absl::CancelledError(absl::StrCat("the search was cancelled after ", results.size(),
                                             " of ", options.particles, " particles"));
  }
  found.ranked = RankHypotheses(results, job.hypotheses);
  found.reliable = IsReliable(found.ranked, job);
  return found;
}

}  // namespace voxloc
