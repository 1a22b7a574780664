// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/integrity/protection_levels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/Geometry>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/random_numbers.h"

namespace voxloc {
namespace {

using ::testing::HasSubstr;

// Of tables of the normal distribution: the number that is exceeded with probability 1.25e-4,
// 2.5e-4, and 1e-3 / (2 * 3 * 10).
constexpr double kTail125em6 = 3.6622599;
constexpr double kTail250em6 = 3.4807564;
constexpr double kTail167em7 = 4.1494100;

// Ten clusters that see every axis alike: along each, the problem is that of a mean of ten numbers
// of standard deviation `sigma_m`.
struct TenNumbers {
  double sigma_m = 0.2;
  std::vector<ScoreTerms> clusters = std::vector<ScoreTerms>(10);
  std::vector<double> faults = std::vector<double>(10, 0.0);
  ProtectionInput input;

  TenNumbers() {
    for (ScoreTerms& cluster : clusters) cluster.information = 5.0 * Matrix6::Identity();
    input.scan_covariance = sigma_m * sigma_m / 10.0 * Matrix6::Identity();
  }
  ProtectionLevels Compute(const ProtectionOptions& options = {}) {
    input.clusters = clusters;
    input.fault_probabilities = faults;
    auto levels = ComputeProtectionLevels(input, options);
    EXPECT_TRUE(levels.ok()) << levels.status();
    return levels.ok() ? *levels : ProtectionLevels();
  }
  // Number k along z is off by this; the final pose is the mean of what they say.
  void Shift(size_t k, double z_m) {
    for (size_t j = 0; j < clusters.size(); ++j) {
      const double says_m = j == k ? z_m : 0.0;
      clusters[j].gradient[2] = clusters[j].information(2, 2) * (says_m - z_m / 10.0);
    }
  }
};

TEST(ProtectionLevelsTest, WithoutFaultsALevelIsTheQuantileOfTheNoise) {
  TenNumbers numbers;
  const ProtectionLevels levels = numbers.Compute();
  const double sigma_m = 0.2 / std::sqrt(10.0);
  // Half of the risk, two tails; each horizontal axis has half of that.
  EXPECT_NEAR(levels.vertical_m, kTail250em6 * sigma_m, 1e-6);
  EXPECT_NEAR(levels.horizontal_m, std::sqrt(2.0) * kTail125em6 * sigma_m, 1e-6);
  EXPECT_FALSE(levels.fault_detected);
  EXPECT_FALSE(levels.excluded_cluster.has_value());
  EXPECT_EQ(levels.shift, Vector6::Zero());
}

TEST(ProtectionLevelsTest, WithACertainFaultALevelIsTheThresholdAndTheNoiseOfTheOthers) {
  TenNumbers numbers;
  std::fill(numbers.faults.begin(), numbers.faults.end(), 0.1);
  const ProtectionLevels levels = numbers.Compute();
  // A mean of nine numbers, and its distance to the mean of ten.
  const double nine_m = 0.2 / 3.0;
  const double separation_m = 0.2 * std::sqrt(1.0 / 9.0 - 1.0 / 10.0);
  EXPECT_NEAR(levels.vertical_m, kTail167em7 * separation_m + kTail250em6 * nine_m, 1e-6);
}

TEST(ProtectionLevelsTest, TheSystematicPartAndAStepThatIsLeftAreInEveryLevel) {
  TenNumbers numbers;
  numbers.input.systematic_covariance.diagonal() << 0.01, 0.01, 0.04, 0.0, 0.0, 0.0;
  const double level_m = kTail250em6 * std::sqrt(0.04 / 10.0 + 0.04);
  EXPECT_NEAR(numbers.Compute().vertical_m, level_m, 1e-6);
  for (ScoreTerms& cluster : numbers.clusters) {
    cluster.gradient[2] = -0.05 * cluster.information(2, 2);
  }
  EXPECT_NEAR(numbers.Compute().vertical_m, level_m + 0.05, 1e-6);
}

TEST(ProtectionLevelsTest, TheFaultyClusterIsLeftOut) {
  TenNumbers numbers;
  numbers.faults.assign(10, 1e-3);
  numbers.Shift(3, 2.0);
  const ProtectionLevels levels = numbers.Compute();
  EXPECT_TRUE(levels.fault_detected);
  EXPECT_TRUE(levels.excluded_cluster.has_value());
  ASSERT_TRUE(levels.excluded_cluster.has_value());
  EXPECT_EQ(*levels.excluded_cluster, 3u);
  // From the mean of ten, 0.2, to that of the nine others, 0.
  EXPECT_NEAR(levels.shift[2], -0.2, 1e-9);
  EXPECT_NEAR(levels.shift.head<2>().norm(), 0.0, 1e-9);
  EXPECT_TRUE(std::isfinite(levels.vertical_m));
  EXPECT_TRUE(std::isfinite(levels.horizontal_m));
  EXPECT_GT(levels.vertical_m, kTail250em6 * 0.2 / 3.0);
  EXPECT_LT(levels.vertical_m, 1.0);
}

TEST(ProtectionLevelsTest, AFaultBelowTheThresholdStays) {
  TenNumbers numbers;
  numbers.faults.assign(10, 1e-3);
  // A number that is off by b moves the mean of the others by b / 10 away from the mean of ten.
  const double threshold_m = kTail167em7 * 0.2 * std::sqrt(1.0 / 9.0 - 1.0 / 10.0);
  numbers.Shift(3, 10.0 * threshold_m * 0.999);
  EXPECT_FALSE(numbers.Compute().fault_detected);
  numbers.Shift(3, 10.0 * threshold_m * 1.001);
  EXPECT_TRUE(numbers.Compute().fault_detected);
}

TEST(ProtectionLevelsTest, TwoFaultsThatNoSingleExclusionExplainsHaveNoLevel) {
  TenNumbers numbers;
  numbers.clusters[2].gradient[2] = 5.0 * 4.0;
  numbers.clusters[7].gradient[2] = -5.0 * 4.0;
  const ProtectionLevels levels = numbers.Compute();
  EXPECT_TRUE(levels.fault_detected);
  EXPECT_FALSE(levels.excluded_cluster.has_value());
  EXPECT_FALSE(levels.excluded_cluster.has_value());
  EXPECT_TRUE(std::isinf(levels.vertical_m));
  EXPECT_TRUE(std::isinf(levels.horizontal_m));
}

TEST(ProtectionLevelsTest, DirectionsThatAreNotObservedHaveThePriorsLevelOrNone) {
  TenNumbers numbers;
  for (ScoreTerms& cluster : numbers.clusters) cluster.information(0, 0) = 0.0;
  ProtectionLevels levels = numbers.Compute();
  EXPECT_TRUE(std::isinf(levels.horizontal_m));
  EXPECT_NEAR(levels.vertical_m, kTail250em6 * 0.2 / std::sqrt(10.0), 1e-6);

  numbers.input.prior.emplace();
  numbers.input.prior->covariance = 9.0 * Matrix6::Identity();
  numbers.input.prior->offset[0] = 1.0;
  levels = numbers.Compute();
  const double along_m = 1.0 + kTail125em6 * 3.0;
  const double across_m = kTail125em6 * 0.2 / std::sqrt(10.0);
  EXPECT_NEAR(levels.horizontal_m, std::hypot(along_m, across_m), 1e-5);
}

TEST(ProtectionLevelsTest, AClusterThatAloneObservesADirectionCountsByItsProbability) {
  TenNumbers numbers;
  for (size_t k = 1; k < numbers.clusters.size(); ++k) {
    numbers.clusters[k].information(2, 2) = 0.0;
  }
  numbers.input.scan_covariance(2, 2) = 0.04;
  // Were it wrong, nothing would tell.
  numbers.faults[0] = 1e-4;
  EXPECT_TRUE(std::isfinite(numbers.Compute().vertical_m));
  numbers.faults[0] = 1e-2;
  EXPECT_TRUE(std::isinf(numbers.Compute().vertical_m));
  EXPECT_TRUE(std::isfinite(numbers.Compute().horizontal_m));
}

TEST(ProtectionLevelsTest, TheOrderOfClustersAndTheMapsHeadingDoNotMatter) {
  RandomNumbers random(4);
  TenNumbers numbers;
  numbers.faults.assign(10, 1e-3);
  for (ScoreTerms& cluster : numbers.clusters) {
    const Eigen::Vector3d normal = random.NormalVector().normalized();
    cluster.information = 0.2 * Matrix6::Identity();
    cluster.information.topLeftCorner<3, 3>() += 5.0 * normal * normal.transpose();
    cluster.gradient.head<3>() = 0.1 * normal * random.Normal();
  }
  const ProtectionLevels levels = numbers.Compute();
  TenNumbers turned = numbers;
  const Eigen::Matrix3d turn = Eigen::AngleAxisd(0.7, Eigen::Vector3d::UnitZ()).toRotationMatrix();
  Matrix6 both = Matrix6::Zero();
  both.topLeftCorner<3, 3>() = turn;
  both.bottomRightCorner<3, 3>() = turn;
  for (ScoreTerms& cluster : turned.clusters) {
    cluster.information = both * cluster.information * both.transpose();
    cluster.gradient = both * cluster.gradient;
  }
  std::reverse(turned.clusters.begin(), turned.clusters.end());
  // An axis of its own, so that the principal ones are defined.
  numbers.input.systematic_covariance(0, 0) = 0.01;
  turned.input.systematic_covariance =
      both * numbers.input.systematic_covariance * both.transpose();
  const ProtectionLevels with_axis = numbers.Compute();
  const ProtectionLevels with_turned_axis = turned.Compute();
  EXPECT_NEAR(with_turned_axis.vertical_m, with_axis.vertical_m, 1e-9);
  EXPECT_NEAR(with_turned_axis.horizontal_m, with_axis.horizontal_m, 1e-9);
  EXPECT_GE(with_axis.horizontal_m, levels.horizontal_m - 1e-9);
}

TEST(ProtectionLevelsTest, NumbersThatAreNotFiniteHaveNoLevel) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::function<void(TenNumbers&)> spoils[] = {
      [&](auto& n) { n.clusters[4].gradient[5] = nan; },
      [&](auto& n) { n.clusters[4].information(1, 1) = 1.0 / 0.0; },
      [&](auto& n) { n.input.scan_covariance(0, 0) = nan; },
      [&](auto& n) { n.input.systematic_covariance(2, 2) = nan; },
      [&](auto& n) {
        n.input.prior.emplace();
        n.input.prior->offset[2] = nan;
      },
  };
  for (const auto& spoil : spoils) {
    TenNumbers numbers;
    spoil(numbers);
    const ProtectionLevels levels = numbers.Compute();
    EXPECT_TRUE(std::isinf(levels.horizontal_m));
    EXPECT_TRUE(std::isinf(levels.vertical_m));
    EXPECT_FALSE(levels.excluded_cluster.has_value());
  }
}

TEST(ProtectionLevelsTest, OddInputsHaveNumbersOrNoLevelButNeverNan) {
  RandomNumbers random(9);
  for (int trial = 0; trial < 2000; ++trial) {
    const auto count = static_cast<size_t>(random.Index(7));
    std::vector<ScoreTerms> clusters(count);
    for (ScoreTerms& cluster : clusters) {
      const double scale = std::pow(10.0, random.Uniform(-8.0, 8.0));
      for (int i = random.Index(4); i > 0; --i) {
        Vector6 row;
        row << random.NormalVector(), random.NormalVector();
        // Some curve the wrong way.
        cluster.information += (random.Index(4) == 0 ? -scale : scale) * row * row.transpose();
        cluster.gradient += scale * random.Normal() * row;
      }
    }
    Matrix6 covariance = Matrix6::Zero();
    for (int i = random.Index(8); i > 0; --i) {
      Vector6 row;
      row << random.NormalVector(), random.NormalVector();
      covariance += std::pow(10.0, random.Uniform(-8.0, 2.0)) * row * row.transpose();
    }
    const std::vector<double> faults(count, random.Uniform(0.0, 0.1));
    ProtectionInput input;
    input.clusters = clusters;
    input.fault_probabilities = faults;
    input.scan_covariance = covariance;
    if (random.Index(2) == 0) input.prior.emplace();
    const auto levels = ComputeProtectionLevels(input, {});
    ASSERT_TRUE(levels.ok());
    EXPECT_GE(levels->horizontal_m, 0.0);
    EXPECT_GE(levels->vertical_m, 0.0);
    EXPECT_TRUE(levels->shift.allFinite());
  }
}

TEST(ProtectionLevelsTest, ValuesOutOfRangeAreNamed) {
  const struct {
    std::function<void(TenNumbers&, ProtectionOptions&)> spoil;
    const char* text;
  } rows[] = {
      {[](auto&, auto& o) { o.risk = 0.0; }, "risk must be over 0 and below 1 (got 0)"},
      {[](auto&, auto& o) { o.false_alarm = 1.0; }, "false_alarm must be"},
      {[](auto&, auto& o) { o.separation.min_remaining = 0.0; }, "least_rest must be"},
      {[](auto&, auto& o) { o.separation.unobserved_ratio = -1.0; },
       "unobserved_ratio must be at least 0 and below 1 (got -1)"},
      {[](auto& n, auto&) { n.faults.pop_back(); },
       "fault_probabilities must have a value for each of 10 clusters (got 9)"},
      {[](auto& n, auto&) { n.faults[0] = -0.1; },
       "a fault probability must be at least 0 (got -0.1)"},
      {[](auto& n, auto&) { n.faults.assign(10, 0.2); },
       "the fault probabilities must be at most 1 in all (got 2)"},
  };
  for (const auto& row : rows) {
    TenNumbers numbers;
    ProtectionOptions options;
    row.spoil(numbers, options);
    numbers.input.clusters = numbers.clusters;
    numbers.input.fault_probabilities = numbers.faults;
    const auto levels = ComputeProtectionLevels(numbers.input, options);
    EXPECT_EQ(levels.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(levels.status().message()), HasSubstr(row.text));
  }
}

// A scan's clusters as a linear Gaussian model has them: cluster k measures the pose's coordinates
// in the metric of its information, with the noise of a likelihood whose scale is `noise`, and one
// cluster may have moved.
class LinearModel {
 public:
  // Of the faults, as powers of ten, metres.
  struct Sizes {
    double from = -3.0;
    double to = 1.5;
  };

  LinearModel(size_t clusters, uint64_t seed, const Sizes& sizes)
      : random_(seed), sizes_(sizes), information_(clusters) {
    for (Matrix6& information : information_) {
      // A wall: it sees the distance along its normal, and the rotations that change it.
      const Eigen::Vector3d normal =
          (random_.NormalVector().cwiseProduct(Eigen::Vector3d(1.0, 1.0, 0.5))).normalized();
      information = 1e-3 * Matrix6::Identity();
      for (int i = 0; i < 3; ++i) {
        Vector6 row;
        row << normal, random_.InBox(1.0).cross(normal);
        information += random_.Uniform(20.0, 200.0) * row * row.transpose();
      }
      total_ += information;
    }
  }

  // What is known of the model: a scan without its gradients.
  [[nodiscard]] Matrix6 covariance() const { return kNoise * kNoise * total_.inverse(); }

  // A scan, as its clusters are at the solution, and by how much that is off.
  struct Scan {
    std::vector<ScoreTerms> clusters;
    Vector6 error = Vector6::Zero();
  };
  Scan Draw(std::optional<size_t> faulty) {
    Scan scan;
    scan.clusters.resize(information_.size());
    Vector6 gradient = Vector6::Zero();
    for (size_t k = 0; k < information_.size(); ++k) {
      ScoreTerms& cluster = scan.clusters[k];
      cluster.information = information_[k];
      Vector6 normal;
      normal << random_.NormalVector(), random_.NormalVector();
      const Matrix6 root = Eigen::LLT<Matrix6>(information_[k]).matrixL();
      cluster.gradient = kNoise * root * normal;
      if (faulty == k) {
        // Moved in any direction.
        Vector6 moved = Vector6::Zero();
        moved.head<3>() = std::pow(10.0, random_.Uniform(sizes_.from, sizes_.to)) *
                          random_.NormalVector().normalized();
        cluster.gradient += information_[k] * moved;
      }
      gradient += cluster.gradient;
    }
    scan.error = total_.ldlt().solve(gradient);
    for (ScoreTerms& cluster : scan.clusters) {
      cluster.gradient -= cluster.information * scan.error;
    }
    return scan;
  }

  RandomNumbers& random() { return random_; }

 private:
  static constexpr double kNoise = 0.5;

  RandomNumbers random_;
  const Sizes sizes_;
  std::vector<Matrix6> information_;
  Matrix6 total_ = Matrix6::Zero();
};

// Upper end of the one-sided 95 % interval of a share (Clopper and Pearson), by bisection of the
// binomial distribution.
double UpperBound(int count, int of) {
  double low = 0.0;
  double high = 1.0;
  for (int i = 0; i < 60; ++i) {
    const double share = 0.5 * (low + high);
    double at_most = 0.0;
    for (int k = 0; k <= count; ++k) {
      at_most += std::exp(std::lgamma(of + 1.0) - std::lgamma(k + 1.0) - std::lgamma(of - k + 1.0) +
                          k * std::log(share) + (of - k) * std::log1p(-share));
    }
    (at_most > 0.05 ? low : high) = share;
  }
  return high;
}

struct FaultCounts {
  int scans = 0;
  int misleading_horizontal = 0;
  int misleading_vertical = 0;
  int detected = 0;
  int excluded_right = 0;
  int excluded_wrong = 0;
  int no_level = 0;
};

struct Simulation {
  int models = 10;
  int scans_each = 3000;
  double fault_share = 1.0;    // of the scans
  double assumed_share = 1.0;  // what the monitor is told
  LinearModel::Sizes sizes;    // a millimetre to 30 m
  size_t clusters = 16;
};

FaultCounts Simulate(const Simulation& simulation) {
  FaultCounts counts;
  for (int m = 0; m < simulation.models; ++m) {
    LinearModel model(simulation.clusters, 100 + static_cast<uint64_t>(m), simulation.sizes);
    const std::vector<double> faults(
        simulation.clusters, simulation.assumed_share / static_cast<double>(simulation.clusters));
    for (int i = 0; i < simulation.scans_each; ++i) {
      std::optional<size_t> faulty;
      if (model.random().Uniform(0.0, 1.0) < simulation.fault_share) {
        faulty = static_cast<size_t>(model.random().Index(static_cast<int>(simulation.clusters)));
      }
      const LinearModel::Scan scan = model.Draw(faulty);
      ProtectionInput input;
      input.clusters = scan.clusters;
      input.fault_probabilities = faults;
      input.scan_covariance = model.covariance();
      const auto levels = ComputeProtectionLevels(input, {});
      if (!levels.ok()) {
        ADD_FAILURE() << levels.status();
        return counts;
      }
      ++counts.scans;
      const Vector6 error = scan.error + levels->shift;
      if (error.head<2>().norm() > levels->horizontal_m) ++counts.misleading_horizontal;
      if (std::abs(error[2]) > levels->vertical_m) ++counts.misleading_vertical;
      if (levels->fault_detected) ++counts.detected;
      if (levels->excluded_cluster.has_value()) {
        ++(levels->excluded_cluster == faulty ? counts.excluded_right : counts.excluded_wrong);
      }
      if (std::isinf(levels->horizontal_m)) ++counts.no_level;
    }
  }
  return counts;
}

void ExpectCovered(const FaultCounts& counts) {
  const double risk = ProtectionOptions().risk;
  EXPECT_LE(UpperBound(counts.misleading_horizontal, counts.scans), risk)
      << counts.misleading_horizontal << " of " << counts.scans;
  EXPECT_LE(UpperBound(counts.misleading_vertical, counts.scans), risk)
      << counts.misleading_vertical << " of " << counts.scans;
}

TEST(ProtectionLevelsMonteCarloTest, FaultsOfSingleClustersOfAnySizeAreCovered) {
  // Every scan has a fault, and the probabilities say so.
  const FaultCounts counts = Simulate({});
  ASSERT_EQ(counts.scans, 30'000);
  ExpectCovered(counts);
  // The levels are there, most of what is left out is what was wrong, and large faults are found.
  EXPECT_LT(counts.no_level, counts.scans / 100);
  EXPECT_GT(counts.excluded_right, 5 * counts.excluded_wrong);
  EXPECT_GT(counts.excluded_right, counts.scans / 3);
}

TEST(ProtectionLevelsMonteCarloTest, FaultsThatAreHardToDetectAreCovered) {
  Simulation hard;
  hard.clusters = 6;         // each of which holds a large part of the pose
  hard.sizes = {-0.7, 0.0};  // 0.2 to 1 m: many are below the threshold
  const FaultCounts counts = Simulate(hard);
  ExpectCovered(counts);
  EXPECT_GT(counts.scans - counts.detected, counts.scans / 4);
  EXPECT_GT(counts.detected, counts.scans / 20);
  // Levels that know of no faults do not cover them: the check can fail.
  hard.assumed_share = 0.0;
  hard.models = 3;
  EXPECT_GT(Simulate(hard).misleading_horizontal, 9000 / 100);
}

TEST(ProtectionLevelsMonteCarloTest, RareFaultsAreCovered) {
  Simulation rare;
  rare.fault_share = rare.assumed_share = 0.1;
  rare.scans_each = 2000;
  ExpectCovered(Simulate(rare));
}

TEST(ProtectionLevelsMonteCarloTest, ScansWithoutAFaultRaiseTheAlarmAsSeldomAsStated) {
  Simulation none;
  none.fault_share = 0.0;
  const FaultCounts counts = Simulate(none);
  // The mean of what is allowed, and three of its standard deviations.
  const double allowed = ProtectionOptions().false_alarm * counts.scans;
  EXPECT_LE(counts.detected, allowed + 3.0 * std::sqrt(allowed));
  EXPECT_GT(counts.detected, 0);  // the gate is not deaf
}

}  // namespace
}  // namespace voxloc
