// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "core/estimate/covariance/cluster_covariance.h"
#include "core/estimate/integrity/protection_levels.h"
#include "core/ndt/chart_derivatives.h"
#include "tests/support/random_numbers.h"

namespace voxloc {
namespace {

constexpr size_t kClusters = 40;
constexpr size_t kPointsOfCluster = 5;
constexpr double kRotationScaleM = 4.0;
constexpr double kInformation = 1e4;  // of a cluster, along each scaled axis

// A scan whose clusters know all directions equally well, and pull by their noise.
class ScanProtectionTest : public ::testing::Test {
 protected:
  ScanProtectionTest() {
    RandomNumbers random(5);
    auto cloud = std::make_shared<PointCloud>();
    auto groups = std::make_shared<PointGroups>();
    job_.passes.resize(1);
    result_.passes.resize(1);
    for (size_t k = 0; k < kClusters; ++k) {
      GroupSums& sums = result_.passes[0].groups.emplace_back();
      for (int i = 0; i < 6; ++i) {
        const double scale = i < 3 ? 1.0 : kRotationScaleM;
        sums.derivatives.gradient[i] = scale * std::sqrt(kInformation) * random.Normal();
        sums.derivatives.hessian[ndt::UpperIndex(i, i)] = -scale * scale * kInformation;
      }
      for (size_t j = 0; j < kPointsOfCluster; ++j) {
        groups->places.push_back(static_cast<uint32_t>(cloud->size()));
        cloud->PushBack(static_cast<float>(k), static_cast<float>(j), 1.0F);
      }
      groups->ends.push_back(static_cast<uint32_t>(cloud->size()));
    }
    job_.scan = cloud;
    job_.passes[0].groups = groups;
    result_.map_T_base.translation = {100.0, 50.0, 2.0};
    calibrated_.rotation_scale_m = kRotationScaleM;
    Vector6 information = Vector6::Constant(kClusters * kInformation);
    information.tail<3>() *= kRotationScaleM * kRotationScaleM;
    calibrated_.information = information.asDiagonal();
    calibrated_.covariance = information.cwiseInverse().asDiagonal();
  }

  [[nodiscard]] absl::StatusOr<ScanProtection> Protect(
      const ScanProtectionOptions& options = ScanProtectionOptions()) const {
    return ProtectScan({&job_, &result_}, calibrated_, calibrated_.covariance, systematic_,
                       options);
  }

  [[nodiscard]] ScanProtection Protected() const {
    const auto protection = Protect();
    EXPECT_TRUE(protection.ok()) << protection.status();
    return protection.value_or(ScanProtection());
  }

  AlignJob job_;
  AlignResult result_;
  CalibratedCovariance calibrated_;
  Matrix6 systematic_ = Matrix6::Zero();
};

TEST_F(ScanProtectionTest, IsAFewStandardDeviationsWhereNothingIsWrong) {
  const ScanProtection protection = Protected();
  const double sigma_m = 1.0 / std::sqrt(kClusters * kInformation);
  EXPECT_GT(protection.vertical_m, 3.0 * sigma_m);
  EXPECT_LT(protection.vertical_m, 8.0 * sigma_m);
  EXPECT_GT(protection.horizontal_m, protection.vertical_m);
  EXPECT_FALSE(protection.fault_detected);
  EXPECT_EQ(protection.excluded_points, 0U);
  EXPECT_EQ(protection.map_T_base.translation, result_.map_T_base.translation);
}

TEST_F(ScanProtectionTest, GrowsWithWhatAllClustersShare) {
  systematic_(2, 2) = 0.05 * 0.05;
  const ScanProtection protection = Protected();
  // 3.29 standard deviations leave out one of a thousand.
  EXPECT_GT(protection.vertical_m, 3.29 * 0.05);
  EXPECT_LT(protection.vertical_m, 4.0 * 0.05);
}

TEST_F(ScanProtectionTest, LeavesOutTheClusterThatPullsAwayFromTheOthers) {
  constexpr size_t kWrong = 7;
  const double pull_m = 0.2;
  result_.passes[0].groups[kWrong].derivatives.gradient[0] += kInformation * pull_m;
  const ScanProtection protection = Protected();
  EXPECT_TRUE(protection.fault_detected);
  EXPECT_EQ(protection.excluded_points, kPointsOfCluster);
  const Eigen::Vector3d center = Eigen::Vector3d(kWrong, 2.0, 1.0);
  EXPECT_LT((protection.excluded_center_map - protection.map_T_base * center).norm(), 1e-9);
  // To where the others say: their gradients over their information.
  double gradient = 0.0;
  for (size_t k = 0; k < kClusters; ++k) {
    if (k != kWrong) gradient += result_.passes[0].groups[k].derivatives.gradient[0];
  }
  EXPECT_NEAR(protection.map_T_base.translation.x() - result_.map_T_base.translation.x(),
              gradient / ((kClusters - 1) * kInformation), 1e-9);
  EXPECT_TRUE(std::isfinite(protection.horizontal_m));
}

TEST_F(ScanProtectionTest, HasNoLevelAlongWhatTheScanDoesNotObserve) {
  for (GroupSums& sums : result_.passes[0].groups) {
    sums.derivatives.gradient[0] *= 1e-3;
    sums.derivatives.hessian[ndt::UpperIndex(0, 0)] *= 1e-6;
  }
  calibrated_.information(0, 0) *= 1e-6;
  ScanProtection protection = Protected();
  EXPECT_TRUE(std::isinf(protection.horizontal_m));
  EXPECT_TRUE(std::isfinite(protection.vertical_m));

  // The guess says how wrong it may be.
  job_.map_T_base_guess = result_.map_T_base;
  job_.guess_covariance = 0.01 * Matrix6::Identity();
  protection = Protected();
  EXPECT_GT(protection.horizontal_m, 0.3);
  EXPECT_LT(protection.horizontal_m, 0.5);
}

TEST_F(ScanProtectionTest, DoubtsWhatTheCovarianceDoubts) {
  // As much information as elsewhere, but the covariance takes it for none.
  calibrated_.information(1, 1) *= 1e-6;
  for (GroupSums& sums : result_.passes[0].groups) {
    sums.derivatives.hessian[ndt::UpperIndex(1, 1)] *= 0.9;
  }
  const ScanProtection protection = Protected();
  EXPECT_TRUE(std::isinf(protection.horizontal_m));
}

TEST_F(ScanProtectionTest, SaysWhatIsMissingOrOutOfRange) {
  ScanProtectionOptions options;
  options.risk = 0.0;
  EXPECT_EQ(Protect(options).status(),
            absl::InvalidArgumentError("risk must be over 0 and below 1 (got 0)"));
  options = ScanProtectionOptions();
  options.fault_probability = 1.5;
  EXPECT_EQ(Protect(options).status(),
            absl::InvalidArgumentError("fault_probability must be from 0 to 1 (got 1.5)"));
  result_.passes.clear();
  EXPECT_EQ(Protect().status().code(), absl::StatusCode::kFailedPrecondition);
  calibrated_.status = absl::DeadlineExceededError("late");
  EXPECT_EQ(Protect().status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace voxloc
