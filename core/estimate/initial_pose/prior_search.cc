// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/initial_pose/prior_search.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/engine/search_rules.h"
#include "core/estimate/covariance/covariance_estimator.h"
#include "core/geometry/euler.h"
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

// Autoware's numbers.
constexpr size_t kCandidates = 100;    // drawn for each proposal
constexpr size_t kTrialsPerGood = 10;  // one in ten trials is good ...
constexpr size_t kMaxGood = 10;        // ... but no more than ten are
constexpr double kBadWeight = 5.0;     // of the bad trials' log density

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// A term smaller than the largest by this exponent (4e-18) does not change a sum.
constexpr double kNegligible = -40.0;

// Poses in widths of the kernel.
struct ScaledPoses {
  explicit ScaledPoses(absl::Span<const PlanarPose> poses)
      : x(poses.size()), y(poses.size()), yaw(poses.size()) {
    for (size_t i = 0; i < poses.size(); ++i) {
      const auto row = static_cast<Eigen::Index>(i);
      x[row] = poses[i].x_m / kParzenWidthM;
      y[row] = poses[i].y_m / kParzenWidthM;
      yaw[row] = poses[i].yaw_rad / kParzenWidthRad;
    }
  }

  Eigen::ArrayXd x;
  Eigen::ArrayXd y;
  Eigen::ArrayXd yaw;
};

PlanarPose Planar(const PoseParameters& parameters) {
  return {parameters[0], parameters[1], WrapAngle(parameters[5])};
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

double LogAddExp(double a, double b) {
  const double larger = std::max(a, b);
  const double difference = std::min(a, b) - larger;
  return difference > kNegligible ? larger + std::log1p(std::exp(difference)) : larger;
}

std::vector<double> LogParzenSums(absl::Span<const PlanarPose> poses,
                                  absl::Span<const PlanarPose> centers) {
  if (centers.empty()) return std::vector<double>(poses.size(), -kInfinity);
  constexpr double kTurn = 2.0 * M_PI / kParzenWidthRad;
  // The logarithm of the kernel where its exponent is zero.
  const double log_peak =
      -1.5 * std::log(2.0 * M_PI) - std::log(kParzenWidthM * kParzenWidthM * kParzenWidthRad);
  const ScaledPoses from(centers);
  const ScaledPoses to(poses);
  Eigen::ArrayXd turned(from.yaw.size());
  Eigen::ArrayXd exponents(from.yaw.size());
  std::vector<double> sums;
  sums.reserve(poses.size());
  for (Eigen::Index i = 0; i < to.x.size(); ++i) {
    turned = (from.yaw - to.yaw[i]).abs();
    exponents = -0.5 * ((from.x - to.x[i]).square() + (from.y - to.y[i]).square() +
                        turned.min(kTurn - turned).square());
    const double largest = exponents.maxCoeff();
    double sum = 0.0;  // relative to the largest
    for (const double exponent : exponents) {
      if (exponent - largest > kNegligible) sum += std::exp(exponent - largest);
    }
    // Nothing but infinite distances leave no sum.
    sums.push_back(sum > 0.0 ? log_peak + largest + std::log(sum) : -kInfinity);
  }
  return sums;
}

PoseParameters ParametersFromPose(const Pose& map_T_base) {
  PoseParameters parameters;
  parameters << map_T_base.translation, RosAnglesFromRotation(map_T_base.rotation);
  return parameters;
}

Pose PoseFromParameters(const PoseParameters& parameters) {
  return {parameters.head<3>(),
          RotationFromRosAngles(parameters[3], parameters[4], parameters[5]).normalized()};
}

ParzenEstimator::ParzenEstimator(const ParzenPrior& prior, size_t startup_trials, uint64_t seed)
    : prior_(prior), startup_trials_(startup_trials), random_(seed) {}

void ParzenEstimator::AddTrial(const PoseParameters& parameters, double score) {
  const double comparable = std::isnan(score) ? -std::numeric_limits<double>::infinity() : score;
  trials_.push_back({Planar(parameters), comparable});
}

PoseParameters ParzenEstimator::Draw() {
  PoseParameters parameters;
  for (int i = 0; i < 5; ++i) parameters[i] = random_.Normal(prior_.mean[i], prior_.sigma[i]);
  parameters[5] = random_.Uniform(-M_PI, M_PI);
  return parameters;
}

std::vector<PoseParameters> ParzenEstimator::Propose(size_t count) {
  const size_t good = std::min(kMaxGood, trials_.size() / kTrialsPerGood);
  const bool guided = trials_.size() >= startup_trials_ && good > 0;
  std::vector<PoseParameters> drawn(guided ? count * kCandidates : count);
  for (PoseParameters& parameters : drawn) parameters = Draw();
  if (!guided) return drawn;

  std::stable_sort(trials_.begin(), trials_.end(),
                   [](const Trial& a, const Trial& b) { return a.score > b.score; });
  std::vector<PlanarPose> tried;
  for (const Trial& trial : trials_) tried.push_back(trial.pose);
  std::vector<PlanarPose> candidates;
  candidates.reserve(drawn.size());
  for (const PoseParameters& parameters : drawn) candidates.push_back(Planar(parameters));
  const std::vector<double> among_good =
      LogParzenSums(candidates, absl::MakeConstSpan(tried).first(good));
  std::vector<double> among_bad =
      LogParzenSums(candidates, absl::MakeConstSpan(tried).subspan(good));

  // The number of trials by which the sums would have to be divided is the same for all candidates
  // of a proposal, and so it is left out.
  std::vector<PoseParameters> proposals;
  for (size_t begin = 0; begin < drawn.size(); begin += kCandidates) {
    size_t best = begin;
    double best_ratio = -std::numeric_limits<double>::infinity();
    for (size_t i = begin; i < begin + kCandidates; ++i) {
      const double ratio = among_good[i] - kBadWeight * among_bad[i];
      if (ratio > best_ratio) {
        best = i;
        best_ratio = ratio;
      }
    }
    proposals.push_back(drawn[best]);
    const size_t next = begin + kCandidates;
    const std::vector<double> near_proposal =
        LogParzenSums(absl::MakeConstSpan(candidates).subspan(next), {candidates[best]});
    for (size_t i = 0; i < near_proposal.size(); ++i) {
      among_bad[next + i] = LogAddExp(among_bad[next + i], near_proposal[i]);
    }
  }
  return proposals;
}

}  // namespace voxloc
