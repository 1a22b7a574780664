// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/initial_pose/prior_search.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
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

constexpr double kSigmas = 3.0;

// A search converges over this difference in height, or over this many cells if that is more.
constexpr double kReach_m = 2.0;
constexpr double kReachCells = 1.5;

// Around the prior, metres: the ground is there even where its place is exact, and a larger area
// says nothing of its height.
constexpr double kMinRadius_m = 5.0;
constexpr double kMaxRadius_m = 50.0;
constexpr size_t kMaxSurfaceCells = 1'000'000;

// A cell is level where it is this flat: its variance along z, as a share of that along x and y.
constexpr double kLevelShare = 0.1;

// The prior's height then is that of a median: the ground around it may be uneven.
constexpr double kMinSigma_m = 1.0;
// Of the points of a scan, the share that is taken to be below the ground by noise.
constexpr double kLowestShare = 0.05;

double QuantileOf(std::vector<double> values, double share) {
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// How high the base is over the lowest points of its scan.
double HeightOverGround(const PointCloud& scan_base) {
  std::vector<double> heights;
  for (size_t i = 0; i < scan_base.size(); ++i) {
    if (scan_base.IsFinite(i)) heights.push_back(scan_base.Point(i).z());
  }
  return heights.empty() ? 0.0 : -QuantileOf(std::move(heights), kLowestShare);
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

std::optional<PriorHeight> HeightOnSurface(absl::Span<const MapCell> cells, double cell_size_m,
                                           const PointCloud& scan_base,
                                           const PriorSearchOptions& prior) {
  const double sigma_m = std::sqrt(prior.covariance(2, 2));
  const double over_ground_m = HeightOverGround(scan_base);
  const double ground_m = prior.map_T_base.translation.z() - over_ground_m;
  const double tolerance_m = kSigmas * sigma_m + std::max(kReach_m, kReachCells * cell_size_m);
  std::map<std::pair<int64_t, int64_t>, double> lowest;  // of each column
  for (const MapCell& cell : cells) {
    const ndt::Symmetric3<double>& c = cell.covariance;
    if (c.zz > kLevelShare * (c.xx + c.yy)) continue;
    if (std::abs(cell.mean.z() - ground_m) <= tolerance_m) return std::nullopt;
    const auto [column, added] = lowest.try_emplace({cell.key.x, cell.key.y}, cell.mean.z());
    if (!added) column->second = std::min(column->second, cell.mean.z());
  }
  if (lowest.empty()) return std::nullopt;
  std::vector<double> heights;
  heights.reserve(lowest.size());
  for (const auto& [column, height] : lowest) heights.push_back(height);
  const double spread_m = 0.5 * (QuantileOf(heights, 0.9) - QuantileOf(heights, 0.1));
  return PriorHeight{QuantileOf(heights, 0.5) + over_ground_m,
                     std::max({sigma_m, spread_m, kMinSigma_m})};
}

absl::StatusOr<std::optional<PriorHeight>> HeightOnSurface(const ResidentMap& map,
                                                           size_t statistics_index,
                                                           const Bounds& bounds,
                                                           const PointCloud& scan_base,
                                                           const PriorSearchOptions& prior) {
  const double sigma_m = std::sqrt(prior.covariance.diagonal().head<2>().maxCoeff());
  const double radius_m = std::clamp(kSigmas * sigma_m, kMinRadius_m, kMaxRadius_m);
  const Eigen::Vector2d center = prior.map_T_base.translation.head<2>();
  Eigen::Vector3d min = bounds.min;
  Eigen::Vector3d max = bounds.max;
  min.head<2>() = min.head<2>().cwiseMax((center.array() - radius_m).matrix());
  max.head<2>() = max.head<2>().cwiseMin((center.array() + radius_m).matrix());
  if (bounds.finite_points == 0 || (min.array() > max.array()).any()) {
    return std::optional<PriorHeight>();
  }
  const auto cells = map.CellsInBox(statistics_index, min, max, kMaxSurfaceCells);
  // This many cells: the area is too large to estimate one height.
  if (absl::IsResourceExhausted(cells.status())) return std::optional<PriorHeight>();
  if (!cells.ok()) return cells.status();
  return HeightOnSurface(*cells, map.statistics()[statistics_index].cell_size_m, scan_base, prior);
}

}  // namespace voxloc
