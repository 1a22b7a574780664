// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/initial_pose/parzen_estimator.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/geometry/euler.h"

namespace voxloc {
namespace {

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

// The logarithm of the kernel where its exponent is zero.
double LogPeak() {
  return -1.5 * std::log(2.0 * M_PI) - std::log(kParzenWidthM * kParzenWidthM * kParzenWidthRad);
}

PlanarPose Planar(const PoseParameters& parameters) {
  return {parameters[0], parameters[1], WrapAngle(parameters[5])};
}

}  // namespace

double LogAddExp(double a, double b) {
  const double larger = std::max(a, b);
  const double difference = std::min(a, b) - larger;
  return difference > kNegligible ? larger + std::log1p(std::exp(difference)) : larger;
}

std::vector<double> LogParzenSums(absl::Span<const PlanarPose> poses,
                                  absl::Span<const PlanarPose> centers) {
  if (centers.empty()) return std::vector<double>(poses.size(), -kInfinity);
  constexpr double kTurn = 2.0 * M_PI / kParzenWidthRad;
  const double log_peak = LogPeak();
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
