// SPDX-License-Identifier: Apache-2.0
//
// One file, because all estimates are made from the same samples of a drive.

#include "clients/cli/calibrate/innovations.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "absl/strings/str_cat.h"
#include "core/estimate/covariance/cluster_covariance.h"
#include "core/geometry/twist.h"

namespace voxloc::cli {
namespace {

using Vector6 = Eigen::Matrix<double, 6, 1>;

// Median of chi squared with one degree of freedom.
constexpr double kMedianOfOne = 0.454936;
constexpr std::array<size_t, 8> kLags = {1, 2, 4, 8, 16, 32, 64, 128};
// With fewer pairs the 90 % interval of a median of chi squared is wider than half of the median.
constexpr size_t kMinPairs = 20;
// Results closer to each other use the same cells of the finest stage and have the same errors.
constexpr double kMinDistanceM = 0.5;
// Upper limit of the known sigma of an innovation, metres (scan parts, rotation times distance,
// odometry): above it, an error of the known part is as large as the systematic errors (0.04 m).
constexpr double kMaxKnownM = 0.03;
// Errors are in base axes, which must be nearly parallel in both results: 10 degrees.
constexpr double kMaxRotationRad = 0.175;
// The time is estimated where the faster half has this many times the speed of the slower, and at
// least that of a walk: one millisecond is then 1 mm.
constexpr double kMinSpeedRatio = 1.5;
constexpr double kMinFastSpeedMS = 1.0;
// Alternations of estimating position and time, and bisection steps of each variance; the remaining
// error is far below the intervals of the estimates.
constexpr int kPasses = 5;
constexpr int kBisections = 12;

struct Pair {
  Vector6 innovation;      // axes of the later base
  Vector6 known_variance;  // scan parts and odometry
  Eigen::Matrix3d
      rotation_gain;     // variance of position axes by that of the earlier answer's rotation
  Vector6 rate_squares;  // of both twists, summed: what the square of a time adds
  double speed_m_s = 0.0;
  double distance_m = 0.0;
};

class InnovationPairs {
 public:
  InnovationPairs(const std::vector<DriveAnswer>& answers, const OdometryNoise& noise)
      : answers_(answers), noise_(noise) {
    double distance_m = 0.0;
    for (size_t i = 0; i < answers.size(); ++i) {
      if (i > 0) {
        distance_m +=
            TranslationDistance(answers[i - 1].odometry_T_base, answers[i].odometry_T_base);
      }
      distance_m_.push_back(distance_m);
      twists_.push_back(TwistAt(i));
    }
  }

  [[nodiscard]] std::vector<Pair> Pairs(size_t lag) const {
    std::vector<Pair> pairs;
    for (size_t i = 0; i + lag < answers_.size(); ++i) {
      if (distance_m_[i + lag] - distance_m_[i] < kMinDistanceM) continue;
      if (RotationDistance(answers_[i].odometry_T_base, answers_[i + lag].odometry_T_base) >
          kMaxRotationRad) {
        continue;
      }
      pairs.push_back(PairOf(i, i + lag));
    }
    return pairs;
  }

  [[nodiscard]] double OdometrySigmaM(double distance_m) const {
    return std::hypot(noise_.position_ratio * distance_m,
                      noise_.turn_rad_per_m * distance_m * distance_m / std::sqrt(3.0));
  }

 private:
  [[nodiscard]] Twist TwistAt(size_t i) const {
    const DriveAnswer& before = answers_[i > 0 ? i - 1 : 0];
    const DriveAnswer& after = answers_[std::min(i + 1, answers_.size() - 1)];
    const double duration_s = static_cast<double>(after.stamp_ns - before.stamp_ns) * 1e-9;
    if (!(duration_s > 0.0)) return Twist();
    return MeanTwist(before.odometry_T_base, after.odometry_T_base, duration_s);
  }

  [[nodiscard]] Pair PairOf(size_t i, size_t j) const {
    const DriveAnswer& from = answers_[i];
    const DriveAnswer& to = answers_[j];
    const Pose expected =
        from.answer.map_T_base * (from.odometry_T_base.Inverse() * to.odometry_T_base);
    // What a rotation of the earlier answer about fixed axes moves the later position by.
    const Eigen::Vector3d arm = expected.translation - from.answer.map_T_base.translation;
    const Eigen::Matrix3d lever = Eigen::Matrix3d::Identity().colwise().cross(arm);
    Matrix6 propagation = Matrix6::Identity();
    propagation.topRightCorner<3, 3>() = lever;
    const Eigen::Matrix3d base_R_map = to.answer.map_T_base.rotation.conjugate().toRotationMatrix();
    const Matrix6 known = RotateCovariance(
        base_R_map,
        propagation * from.answer.covariance * propagation.transpose() + to.answer.covariance);
    const Vector6 difference = FixedAxesDifference(expected, to.answer.map_T_base);

    Pair pair;
    pair.distance_m = distance_m_[j] - distance_m_[i];
    pair.innovation << base_R_map * difference.head<3>(), base_R_map * difference.tail<3>();
    const double odometry_m = OdometrySigmaM(pair.distance_m);
    const double odometry_rad = noise_.turn_rad_per_m * pair.distance_m;
    pair.known_variance = known.diagonal();
    pair.known_variance.head<3>().array() += odometry_m * odometry_m;
    pair.known_variance.tail<3>().array() += odometry_rad * odometry_rad;
    pair.rotation_gain =
        (base_R_map * lever * from.answer.map_T_base.rotation.toRotationMatrix()).cwiseAbs2();
    pair.rate_squares << twists_[i].linear_m_s.cwiseAbs2() + twists_[j].linear_m_s.cwiseAbs2(),
        twists_[i].angular_rad_s.cwiseAbs2() + twists_[j].angular_rad_s.cwiseAbs2();
    pair.speed_m_s = std::sqrt(0.5 * pair.rate_squares.head<3>().sum());
    return pair;
  }

  const std::vector<DriveAnswer>& answers_;
  const OdometryNoise noise_;
  std::vector<double> distance_m_;
  std::vector<Twist> twists_;
};

// By nearest rank. At least one value.
double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// A squared innovation, with the variance `known + x * gain` for an unknown x.
struct SquaredInnovation {
  double square = 0.0;
  double known = 0.0;
  double gain = 0.0;
};

// The smallest x of at least 0 at which the squares are not larger than their variances, in the
// median.
double SolveVariance(const std::vector<SquaredInnovation>& squares) {
  const auto too_small = [&squares](double x) {
    std::vector<double> ratios;
    ratios.reserve(squares.size());
    for (const SquaredInnovation& s : squares) ratios.push_back(s.square / (s.known + x * s.gain));
    return Median(std::move(ratios)) > kMedianOfOne;
  };
  if (squares.empty() || !too_small(0.0)) return 0.0;
  double low = 0.0;
  double high = 1e-8;
  while (too_small(high) && high < 1e6) {
    low = high;
    high *= 4.0;
  }
  for (int i = 0; i < kBisections; ++i) {
    const double middle = 0.5 * (low + high);
    (too_small(middle) ? low : high) = middle;
  }
  return high;
}

using Indices = std::vector<size_t>;

Indices UpTo(size_t count) {
  Indices indices(count);
  std::iota(indices.begin(), indices.end(), size_t{0});
  return indices;
}

Eigen::Vector3d RotationVariances(const std::vector<Pair>& pairs, const Indices& indices) {
  Eigen::Vector3d variances;
  for (Eigen::Index axis = 0; axis < 3; ++axis) {
    std::vector<SquaredInnovation> squares;
    for (const size_t i : indices) {
      const double innovation = pairs[i].innovation[axis + 3];
      squares.push_back({innovation * innovation, pairs[i].known_variance[axis + 3], 2.0});
    }
    variances[axis] = SolveVariance(squares);
  }
  return variances;
}

// Variances.
struct PositionAndTime {
  Eigen::Vector3d position = Eigen::Vector3d::Zero();
  double time = 0.0;
  double skew = 0.0;
};

class PositionEstimate {
 public:
  PositionEstimate(const std::vector<Pair>& pairs, Eigen::Vector3d rotation_variances,
                   bool with_time)
      : pairs_(pairs), rotation_(std::move(rotation_variances)), with_time_(with_time) {
    std::vector<double> speeds;
    for (const Pair& pair : pairs) speeds.push_back(pair.speed_m_s);
    if (!speeds.empty()) median_speed_m_s_ = Median(std::move(speeds));
  }

  [[nodiscard]] PositionAndTime At(const Indices& indices) const {
    PositionAndTime found;
    const int passes = with_time_ ? kPasses : 1;
    for (int turn = 0; turn < passes; ++turn) {
      for (Eigen::Index axis = 0; axis < 3; ++axis) {
        found.position[axis] = SolveVariance(AxisSquares(indices, axis, found));
      }
      if (!with_time_) continue;
      found.skew = SolveVariance(FastSquares(indices, found, false));
      found.time = SolveVariance(FastSquares(indices, found, true));
    }
    return found;
  }

  // The median of the known standard deviation of an innovation along an axis: scan parts,
  // odometry, and rotation errors times distance. The latter are not subtracted, because a
  // distorted map causes position and rotation errors that are correlated.
  [[nodiscard]] double KnownSigmaM() const {
    std::vector<double> sigmas;
    for (const Pair& pair : pairs_) {
      const Eigen::Vector3d turned = pair.rotation_gain * rotation_;
      sigmas.push_back(std::sqrt((pair.known_variance.head<3>() + turned).mean()));
    }
    return Median(std::move(sigmas));
  }

  [[nodiscard]] double SpeedOf(bool fast) const {
    std::vector<double> speeds;
    for (const Pair& pair : pairs_) {
      if ((pair.speed_m_s > median_speed_m_s_) == fast) speeds.push_back(pair.speed_m_s);
    }
    return speeds.empty() ? 0.0 : Median(std::move(speeds));
  }

 private:
  [[nodiscard]] std::vector<SquaredInnovation> AxisSquares(const Indices& indices,
                                                           Eigen::Index axis,
                                                           const PositionAndTime& others) const {
    std::vector<SquaredInnovation> squares;
    for (const size_t i : indices) {
      const Pair& pair = pairs_[i];
      if (with_time_ && pair.speed_m_s > median_speed_m_s_) continue;
      const double innovation = pair.innovation[axis];
      squares.push_back({innovation * innovation,
                         pair.known_variance[axis] + others.time * pair.rate_squares[axis] +
                             others.skew * pair.rate_squares.head<3>().sum(),
                         2.0});
    }
    return squares;
  }

  // Of the faster half. For the time: along the base axis nearest to the direction of travel. For
  // the skew: along the horizontal axis perpendicular to it.
  [[nodiscard]] std::vector<SquaredInnovation> FastSquares(const Indices& indices,
                                                           const PositionAndTime& others,
                                                           bool along) const {
    std::vector<SquaredInnovation> squares;
    for (const size_t i : indices) {
      const Pair& pair = pairs_[i];
      if (!(pair.speed_m_s > median_speed_m_s_)) continue;
      const Eigen::Index way = pair.rate_squares.x() >= pair.rate_squares.y() ? 0 : 1;
      const Eigen::Index axis = along ? way : 1 - way;
      const double sheared = pair.rate_squares.head<3>().sum();
      const double known = pair.known_variance[axis] + 2.0 * others.position[axis];
      const double square = pair.innovation[axis] * pair.innovation[axis];
      const double moved = pair.rate_squares[axis];
      squares.push_back(along ? SquaredInnovation{square, known + others.skew * sheared, moved}
                              : SquaredInnovation{square, known + others.time * moved, sheared});
    }
    return squares;
  }

  const std::vector<Pair>& pairs_;
  const Eigen::Vector3d rotation_;
  const bool with_time_;
  double median_speed_m_s_ = 0.0;
};

IntervalEstimate SquareRootOf(const IntervalEstimate& variance) {
  return {std::sqrt(variance.value), std::sqrt(variance.low), std::sqrt(variance.high)};
}

// The place of the lag that shows the largest sigmas.
template <typename SigmaOf>
size_t LagOfLargestSigma(const std::vector<LagSummary>& lags, const SigmaOf& sigma_of) {
  const auto smaller = [&sigma_of](const LagSummary& a, const LagSummary& b) {
    return sigma_of(a).squaredNorm() < sigma_of(b).squaredNorm();
  };
  return static_cast<size_t>(std::max_element(lags.begin(), lags.end(), smaller) - lags.begin());
}

// The 5 % and 95 % quantiles: 10 of 200 repetitions lie beyond each.
constexpr size_t kRepetitions = 200;
constexpr size_t kTailCount = kRepetitions / 20;
// Blocks longer than the correlation of neighbours, and enough blocks to draw from.
constexpr size_t kBlocks = 20;

// Median of chi squared with six degrees of freedom.
constexpr double kMedianOfSix = 5.34812;

// Intervals of what `estimate` makes of samples 0 to count - 1, which depend on their neighbours,
// by the block bootstrap (Kuensch 1989): in 200 repetitions whole runs of neighbours, of a
// twentieth of the samples, are drawn with repetition, and `estimate` is given their indices. The
// same samples give the same interval. `count` is over 0, and the estimate always has the same
// number of values.
template <typename Estimate>
std::vector<IntervalEstimate> BootstrapIntervals(size_t count, const Estimate& estimate) {
  Indices indices = UpTo(count);
  std::vector<IntervalEstimate> results;
  for (const double value : estimate(indices)) results.push_back({value, value, value});
  const size_t block = std::max<size_t>(1, count / kBlocks);
  std::mt19937_64 random(1);  // no std distribution: those differ between standard libraries
  std::vector<std::vector<double>> drawn(results.size());
  for (size_t repetition = 0; repetition < kRepetitions; ++repetition) {
    indices.clear();
    while (indices.size() < count) {
      const size_t begin = static_cast<size_t>(random() % (count - block + 1));
      for (size_t i = 0; i < block && indices.size() < count; ++i) indices.push_back(begin + i);
    }
    const std::vector<double> values = estimate(indices);
    for (size_t k = 0; k < drawn.size(); ++k) drawn[k].push_back(values[k]);
  }
  for (size_t k = 0; k < drawn.size(); ++k) {
    std::sort(drawn[k].begin(), drawn[k].end());
    results[k].low = drawn[k][kTailCount];
    results[k].high = drawn[k][kRepetitions - 1 - kTailCount];
  }
  return results;
}

double SquaredDistance(const HalvesAnswer& scan) {
  const Vector6 difference = FixedAxesDifference(scan.first.map_T_base, scan.second.map_T_base);
  const Eigen::LLT<Matrix6> factor(scan.first.covariance + scan.second.covariance);
  if (factor.info() != Eigen::Success) return std::numeric_limits<double>::infinity();
  return difference.dot(factor.solve(difference));
}

}  // namespace

absl::StatusOr<SystematicEstimate> EstimateSystematic(const std::vector<DriveAnswer>& answers,
                                                      const OdometryNoise& noise) {
  const InnovationPairs drive(answers, noise);
  SystematicEstimate estimates;
  std::vector<std::vector<Pair>> pairs;
  size_t most_pairs = 0;
  for (const size_t lag : kLags) {
    std::vector<Pair> at_lag = drive.Pairs(lag);
    most_pairs = std::max(most_pairs, at_lag.size());
    if (at_lag.size() < kMinPairs) continue;
    LagSummary summary;
    summary.scans = lag;
    summary.pairs = at_lag.size();
    std::vector<double> distances;
    for (const Pair& pair : at_lag) distances.push_back(pair.distance_m);
    summary.distance_m = Median(std::move(distances));
    if (!pairs.empty() && drive.OdometrySigmaM(summary.distance_m) > kMaxKnownM) break;
    summary.rotation_sigma_rad = RotationVariances(at_lag, UpTo(at_lag.size())).cwiseSqrt();
    estimates.lags.push_back(summary);
    pairs.push_back(std::move(at_lag));
  }
  if (pairs.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the drive has too few accepted scans to learn from: at least ", kMinPairs,
                     " pairs must be ", kMinDistanceM,
                     " m or more apart and turned by less than 10 degrees (got ", most_pairs,
                     " of ", answers.size(), " accepted scans)"));
  }

  estimates.rotation_lag = LagOfLargestSigma(
      estimates.lags, [](const LagSummary& lag) { return lag.rotation_sigma_rad; });
  const Eigen::Vector3d rotation =
      estimates.lags[estimates.rotation_lag].rotation_sigma_rad.cwiseAbs2();
  for (size_t i = 0; i < pairs.size(); ++i) {
    const PositionEstimate estimate(pairs[i], rotation, false);
    estimates.lags[i].reliable_for_position = i == 0 || estimate.KnownSigmaM() <= kMaxKnownM;
    estimates.lags[i].position_sigma_m = estimate.At(UpTo(pairs[i].size())).position.cwiseSqrt();
  }
  // Perpendicular to the direction of travel, where errors of the time have no effect. They would
  // favour the lag with the fastest pairs.
  estimates.position_lag =
      LagOfLargestSigma(estimates.lags, [](const LagSummary& lag) -> Eigen::Vector2d {
        if (!lag.reliable_for_position) return Eigen::Vector2d::Zero();
        return lag.position_sigma_m.tail<2>();
      });

  const std::vector<Pair>& rotation_pairs = pairs[estimates.rotation_lag];
  const std::vector<Pair>& position_pairs = pairs[estimates.position_lag];
  const PositionEstimate without_time(position_pairs, rotation, false);
  estimates.slow_m_s = without_time.SpeedOf(false);
  estimates.fast_m_s = without_time.SpeedOf(true);
  const bool with_time = estimates.fast_m_s >= kMinFastSpeedMS &&
                         estimates.fast_m_s >= kMinSpeedRatio * estimates.slow_m_s;
  const PositionEstimate position(position_pairs, rotation, with_time);
  const std::vector<IntervalEstimate> rotations =
      BootstrapIntervals(rotation_pairs.size(), [&](const Indices& indices) {
        const Eigen::Vector3d found = RotationVariances(rotation_pairs, indices);
        return std::vector<double>(found.begin(), found.end());
      });
  const std::vector<IntervalEstimate> positions =
      BootstrapIntervals(position_pairs.size(), [&](const Indices& indices) {
        const PositionAndTime found = position.At(indices);
        return std::vector<double>{found.position.x(), found.position.y(), found.position.z(),
                                   found.time, found.skew};
      });
  for (size_t axis = 0; axis < 3; ++axis) {
    estimates.rotation_sigma_rad[axis] = SquareRootOf(rotations[axis]);
    estimates.position_sigma_m[axis] = SquareRootOf(positions[axis]);
  }
  if (with_time) {
    estimates.time_sigma_s = SquareRootOf(positions[3]);
    estimates.skew_sigma_s = SquareRootOf(positions[4]);
  }
  for (const LagSummary& lag : estimates.lags) {
    estimates.rotation_distance_m = std::max(estimates.rotation_distance_m, lag.distance_m);
    if (lag.reliable_for_position) {
      estimates.position_distance_m = std::max(estimates.position_distance_m, lag.distance_m);
    }
  }
  return estimates;
}

std::pair<PointCloud, PointCloud> SplitInHalves(const PointCloud& scan) {
  std::pair<PointCloud, PointCloud> halves;
  const PointGroups clusters = ClusterPoints(scan);
  if (clusters.ends.size() < 2) return halves;
  halves.first.origin = halves.second.origin = scan.origin;
  size_t next = 0;
  for (size_t cluster = 0; cluster < clusters.ends.size(); ++cluster) {
    PointCloud& half = cluster % 2 == 0 ? halves.first : halves.second;
    for (; next < clusters.ends[cluster]; ++next) {
      const uint32_t i = clusters.places[next];
      half.PushBack(scan.x[i], scan.y[i], scan.z[i]);
    }
  }
  return halves;
}

IntervalEstimate ScanPartFactor(const std::vector<HalvesAnswer>& scans) {
  std::vector<double> distances;
  for (const HalvesAnswer& scan : scans) distances.push_back(SquaredDistance(scan));
  const auto factor = [&distances](const std::vector<size_t>& indices) {
    std::vector<double> drawn;
    for (const size_t i : indices) drawn.push_back(distances[i]);
    return std::vector<double>{Median(std::move(drawn)) / kMedianOfSix};
  };
  return BootstrapIntervals(scans.size(), factor).front();
}

}  // namespace voxloc::cli
