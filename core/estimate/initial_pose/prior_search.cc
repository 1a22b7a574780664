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
#include "core/status/try.h"
#include "core/text/number_range.h"

namespace voxloc {
namespace {

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
  std::vector<AlignResult> results = engine.Align(JobsFrom(AlignmentOf(job), starts));
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
  VOXLOC_TRY(CheckPositiveDefinite(options.covariance, "the prior's covariance"));
  const auto particles = static_cast<double>(options.particles);
  return CheckRanges(
      {{"particles", options.particles, FromTo(1, static_cast<double>(max_particles))},
       {"startup_trials", options.startup_trials,
        FromTo(1, particles).Unit(", the number of particles")},
       {"guided_batch", options.guided_batch, FromTo(1, kMaxGuidedBatch)}});
}

absl::StatusOr<PoseSearchResult> SearchAroundPrior(Engine& engine, const PoseSearchJob& job,
                                                   const PriorSearchOptions& options,
                                                   const PoseSearchObserver& observer) {
  VOXLOC_TRY(ValidatePriorSearch(options, options.particles));
  VOXLOC_TRY(ValidateHypothesisOptions(job.hypotheses));
  ParzenEstimator estimator(PriorOf(options), options.startup_trials, job.seed);
  std::vector<AlignResult> results;
  PoseSearchResult found;
  while (results.size() < options.particles) {
    const Interrupt interrupt = CheckInterrupt(job.stop);
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
    VOXLOC_ASSIGN_OR_RETURN(const auto particles,
                            AlignParticles(engine, job, starts, results.size()));
    for (const SearchParticle& particle : particles) {
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
      progress.particles = particles;
      observer(progress);
    }
  }
  if (CheckInterrupt(job.stop) == Interrupt::kCancelled) {
    return absl::CancelledError(absl::StrCat("the search was cancelled after ", results.size(),
                                             " of ", options.particles, " particles"));
  }
  found.ranked = RankHypotheses(results, job.hypotheses);
  found.reliable = IsReliable(found.ranked, job);
  return found;
}

}  // namespace voxloc
