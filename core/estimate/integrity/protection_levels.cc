// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/integrity/protection_levels.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/geometry/symmetric_eigen.h"
#include "core/status/try.h"
#include "core/text/number_range.h"

namespace voxloc {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();
// A shorter separation is a rounding.
constexpr double kRoundingM = 1e-9;

absl::Status CheckInput(const ProtectionInput& input, const ProtectionOptions& options) {
  VOXLOC_TRY(ValidateProtectionOptions(options));
  if (input.fault_probabilities.size() != input.clusters.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("fault_probabilities must have a value for each of ", input.clusters.size(),
                     " clusters (got ", input.fault_probabilities.size(), ")"));
  }
  double sum = 0.0;
  for (const double probability : input.fault_probabilities) {
    if (!(probability >= 0.0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("a fault probability must be at least 0 (got ", probability, ")"));
    }
    sum += probability;
  }
  // Shares that add up to 1 may be a rounding over it.
  if (!(sum <= 1.0 + 1e-9)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the fault probabilities must be at most 1 in all (got ", sum, ")"));
  }
  return absl::OkStatus();
}

bool IsFinite(const ProtectionInput& input) {
  for (const ScoreTerms& cluster : input.clusters) {
    if (!cluster.gradient.allFinite() || !cluster.information.allFinite()) return false;
  }
  if (input.prior.has_value() &&
      !(input.prior->offset.allFinite() && input.prior->covariance.allFinite())) {
    return false;
  }
  return input.scan_covariance.allFinite() && input.systematic_covariance.allFinite();
}

// The principal axes of the horizontal covariance, and the vertical.
Axes PrincipalAxes(const ProtectionInput& input) {
  const Eigen::Matrix2d horizontal =
      (input.scan_covariance + input.systematic_covariance).topLeftCorner<2, 2>();
  const SymmetricEigen<2> eigen =
      DecomposeSymmetric(Eigen::Matrix2d(0.5 * (horizontal + horizontal.transpose())));
  Axes axes = Axes::Identity();
  axes.topLeftCorner<2, 2>() = eigen.vectors;
  return axes;
}

// What bounds the error along an axis if one hypothesis holds.
struct Hypothesis {
  double probability = 0.0;
  double bound_m = 0.0;
  double sigma_m = 0.0;
};

// The least level at which the risk of all hypotheses is at most this; infinity: there is none.
double LevelOf(const std::vector<Hypothesis>& hypotheses, double risk) {
  double certain = 0.0;  // the risk of those that nothing bounds
  for (const Hypothesis& hypothesis : hypotheses) {
    if (!std::isfinite(hypothesis.sigma_m)) certain += hypothesis.probability;
  }
  if (!(certain < risk)) return kUnbounded;
  // Where every hypothesis alone would keep the risk, all together do: their probabilities add up
  // to 1.
  const double sigmas = UpperTailQuantile(0.5 * (risk - certain));
  double high = 0.0;
  for (const Hypothesis& hypothesis : hypotheses) {
    if (!std::isfinite(hypothesis.sigma_m)) continue;
    high = std::max(high, hypothesis.bound_m + sigmas * hypothesis.sigma_m);
  }
  const auto risk_at = [&](double level_m) {
    double sum = certain;
    for (const Hypothesis& hypothesis : hypotheses) {
      if (!std::isfinite(hypothesis.sigma_m)) continue;
      const double beyond_m = level_m - hypothesis.bound_m;
      if (beyond_m <= 0.0) {
        sum += hypothesis.probability;
      } else if (hypothesis.sigma_m > 0.0) {
        sum += hypothesis.probability * 2.0 * UpperTail(beyond_m / hypothesis.sigma_m);
      }
    }
    return sum;
  };
  // To a share of 1e-9 of the level; its upper end keeps the risk.
  double low = 0.0;
  for (int i = 0; i < 30; ++i) {
    const double middle = 0.5 * (low + high);
    (risk_at(middle) > risk ? low : high) = middle;
  }
  return high;
}

// A set of clusters, and what the separations of its solutions come to.
class Monitor {
 public:
  Monitor(absl::Span<const ScoreTerms> clusters, absl::Span<const double> fault_probabilities,
          const Matrix6& scan_covariance, const ProtectionInput& input, const Axes& axes,
          const ProtectionOptions& options)
      : fault_probabilities_(fault_probabilities),
        separations_(
            SeparateSolutions(clusters, scan_covariance, input.prior, axes, options.separation)) {
    const auto tests = 3.0 * static_cast<double>(std::max<size_t>(1, clusters.size()));
    threshold_sigmas_ = UpperTailQuantile(0.5 * options.false_alarm / tests);
    for (int i = 0; i < 3; ++i) {
      systematic_m2_[i] = std::max(
          0.0, axes.col(i).dot(input.systematic_covariance.topLeftCorner<3, 3>() * axes.col(i)));
    }
  }

  // The largest separation of the solution without cluster k that is over its threshold, in
  // thresholds; 0 where none is.
  [[nodiscard]] double Excess(size_t k) const {
    double excess = 0.0;
    for (const AxisSolution& along : separations_.without[k]) {
      if (!along.observed) continue;
      const double threshold_m = threshold_sigmas_ * along.separation_sigma_m + kRoundingM;
      const double thresholds = std::abs(along.separation_m) / threshold_m;
      if (thresholds > 1.0) excess = std::max(excess, thresholds);
    }
    return excess;
  }
  [[nodiscard]] bool Passes() const {
    for (size_t k = 0; k < separations_.without.size(); ++k) {
      if (Excess(k) > 0.0) return false;
    }
    return true;
  }
  // Whether the points of the others determine the position.
  [[nodiscard]] bool IsObservedWithout(size_t k) const {
    return std::all_of(separations_.without[k].begin(), separations_.without[k].end(),
                       [](const AxisSolution& along) { return along.observed; });
  }

  // Of a set that passes.
  [[nodiscard]] double Level(int axis, double risk) const {
    const auto i = static_cast<size_t>(axis);
    const double step_m = std::abs(separations_.all[i].step_m);
    std::vector<Hypothesis> hypotheses;
    double no_fault = 1.0;
    for (size_t k = 0; k < separations_.without.size(); ++k) {
      const AxisSolution& along = separations_.without[k][i];
      // Where the prior determines the solution, its distance is the bound.
      const double bound_m = along.observed ? step_m + threshold_sigmas_ * along.separation_sigma_m
                                            : std::abs(along.step_m);
      hypotheses.push_back({fault_probabilities_[k], bound_m, WithSystematic(along.sigma_m, axis)});
      no_fault -= fault_probabilities_[k];
    }
    hypotheses.push_back(
        {std::max(0.0, no_fault), step_m, WithSystematic(separations_.all[i].sigma_m, axis)});
    return LevelOf(hypotheses, risk);
  }

  [[nodiscard]] const Separations& separations() const { return separations_; }

 private:
  [[nodiscard]] double WithSystematic(double sigma_m, int axis) const {
    return std::sqrt(sigma_m * sigma_m + systematic_m2_[axis]);
  }

  absl::Span<const double> fault_probabilities_;
  Separations separations_;
  double threshold_sigmas_ = 0.0;
  Eigen::Vector3d systematic_m2_;
};

void SetLevels(const Monitor& monitor, double risk, ProtectionLevels& levels) {
  levels.horizontal_m = std::hypot(monitor.Level(0, 0.5 * risk), monitor.Level(1, 0.5 * risk));
  levels.vertical_m = monitor.Level(2, risk);
}

// Leaves out the cluster without which the others pass, if there is one.
void Exclude(const Monitor& monitor, const ProtectionInput& input, const Axes& axes,
             const ProtectionOptions& options, ProtectionLevels& levels) {
  std::vector<std::pair<double, size_t>> suspects;  // by excess, largest first
  for (size_t k = 0; k < input.clusters.size(); ++k) {
    const double excess = monitor.Excess(k);
    if (excess > 0.0 && monitor.IsObservedWithout(k)) suspects.emplace_back(-excess, k);
  }
  std::sort(suspects.begin(), suspects.end());
  for (const auto& [excess, k] : suspects) {
    std::vector<ScoreTerms> clusters(input.clusters.begin(), input.clusters.end());
    std::vector<double> probabilities(input.fault_probabilities.begin(),
                                      input.fault_probabilities.end());
    clusters.erase(clusters.begin() + static_cast<std::ptrdiff_t>(k));
    probabilities.erase(probabilities.begin() + static_cast<std::ptrdiff_t>(k));
    // About the solution without the cluster.
    const Vector6& step = monitor.separations().steps_without[k];
    for (ScoreTerms& cluster : clusters) cluster.gradient -= cluster.information * step;
    ProtectionInput rest = input;
    if (rest.prior.has_value()) rest.prior->offset -= step;
    const Monitor others(clusters, probabilities, monitor.separations().covariances_without[k],
                         rest, axes, options);
    if (!others.Passes()) continue;
    levels.excluded_cluster = k;
    levels.shift = step;
    SetLevels(others, 0.5 * options.risk / static_cast<double>(input.clusters.size()), levels);
    return;
  }
}

}  // namespace

absl::Status ValidateProtectionOptions(const ProtectionOptions& options) {
  const NumberRange share = Over(0.0).Below(1.0);
  return CheckRanges(
      {{"risk", options.risk, share},
       {"false_alarm", options.false_alarm, share},
       {"least_rest", options.separation.min_remaining, share},
       {"unobserved_ratio", options.separation.unobserved_ratio, AtLeast(0.0).Below(1.0)}});
}

absl::StatusOr<ProtectionLevels> ComputeProtectionLevels(const ProtectionInput& input,
                                                         const ProtectionOptions& options) {
  VOXLOC_TRY(CheckInput(input, options));
  ProtectionLevels levels;
  if (!IsFinite(input)) return levels;
  const Axes axes = PrincipalAxes(input);
  const Monitor monitor(input.clusters, input.fault_probabilities, input.scan_covariance, input,
                        axes, options);
  levels.fault_detected = !monitor.Passes();
  if (levels.fault_detected) {
    Exclude(monitor, input, axes, options, levels);
  } else {
    SetLevels(monitor, 0.5 * options.risk, levels);
  }
  return levels;
}

}  // namespace voxloc
