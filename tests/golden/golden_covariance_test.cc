// SPDX-License-Identifier: Apache-2.0
//
// The reference's covariances: every set found in VOXLOC_GOLDEN_DIR when the test runs. The
// formulas on the reference's own alignments, to the digits that its float32 poses leave; and the
// methods as a whole, from its result on, as near as alignments come.

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "core/estimate/covariance/covariance_estimator.h"
#include "core/estimate/covariance/reference_covariance.h"
#include "tests/golden/golden_fixture.h"

namespace voxloc::golden {
namespace {

class GoldenCovarianceTest : public GoldenTest {};
INSTANTIATE_TEST_SUITE_P(, GoldenCovarianceTest, ::testing::ValuesIn(EngineNames()),
                         [](const auto& engine) { return engine.param; });

constexpr double kRadToDeg = 180.0 / M_PI;
constexpr char kScoreMean[] = "multi_ndt_score_mean_t0.05";
constexpr char kScoreCovariance[] = "multi_ndt_score_cov_xy_t0.05";

Eigen::Matrix2d Matrix2Of(const nlohmann::json& row_major_4) {
  Eigen::Matrix2d matrix;
  for (int i = 0; i < 4; ++i) matrix(i / 2, i % 2) = row_major_4.at(static_cast<size_t>(i));
  return matrix;
}

Eigen::Vector2d Vector2Of(const nlohmann::json& values) {
  return {values.at(0).get<double>(), values.at(1).get<double>()};
}

Matrix6 HessianOf(const nlohmann::json& row_major_36) {
  Matrix6 hessian;
  for (int i = 0; i < 36; ++i) hessian(i / 6, i % 6) = row_major_36.at(static_cast<size_t>(i));
  return hessian;
}

double LargestEntry(const Eigen::Matrix2d& matrix) { return matrix.cwiseAbs().maxCoeff(); }

// The reference's result of an alignment, as if an engine had given it.
AlignResult ResultOf(const nlohmann::json& entry) {
  AlignResult result;
  result.map_T_base = PoseOf(entry.at("final_pose"));
  result.hessian = HessianOf(entry.at("hessian"));
  result.after.nearest_voxel_likelihood = entry.at("nvtl");
  return result;
}

// Without floors that would hide what is estimated.
CovarianceOptions Options(CovarianceMethod method) {
  CovarianceOptions options;
  options.method = method;
  options.fixed = 1e-18 * Matrix6::Identity();
  return options;
}

CovarianceReport Estimate(const LoadedSet& loaded, const nlohmann::json& entry,
                          CovarianceMethod method) {
  const AlignJob job = loaded.MakeJob(PoseOf(entry.at("guess")));
  const AlignResult result = ResultOf(entry);
  const CovarianceOptions options = Options(method);
  const CovarianceRequest request = {{&job, &result}, &options};
  CovarianceReport report = EstimateCovariances(*loaded.engine, {&request, 1})[0];
  EXPECT_TRUE(report.status.ok()) << report.status;
  EXPECT_EQ(report.method, method);
  return report;
}

// Turning an estimate into base axes and back shrinks it where the base is tilted: by up to this
// share.
double TiltShare(const Pose& map_T_base) {
  const Eigen::Matrix3d rotation = map_T_base.rotation.toRotationMatrix();
  return 2.0 * (1.0 - rotation(2, 2) * rotation(2, 2));
}

std::vector<Eigen::Vector2d> PositionsOf(const AlignResult& result, const nlohmann::json& poses) {
  std::vector<Eigen::Vector2d> positions = {result.map_T_base.translation.head<2>()};
  for (const auto& pose : poses) positions.emplace_back(PoseOf(pose).translation.head<2>());
  return positions;
}

// How far a covariance may be off when each position is off by `position_m`: a standard deviation
// then changes by no more.
double CovarianceTolerance(const Eigen::Matrix2d& covariance, double position_m) {
  const double sigma = std::sqrt(std::max(0.0, covariance.trace()));
  return 2.0 * sigma * position_m + position_m * position_m;
}

// Calls `check` with every alignment that the reference took MULTI_NDT from.
void ForEachMultiNdt(const LoadedSet& loaded,
                     const std::function<void(const nlohmann::json&)>& check) {
  for (const auto& entry : loaded.set.json.at("alignments")) {
    if (entry.contains("multi_ndt_final")) check(entry);
  }
}

// Steps of float32, in which the reference keeps poses.
double PositionStep(const AlignResult& result) {
  return 1.2e-7 * std::max(1.0, result.map_T_base.translation.cwiseAbs().maxCoeff());
}

TEST_P(GoldenCovarianceTest, goldenLaplaceMatchesTheReference) {
  ForEachGoldenSet([](const LoadedSet& loaded) {
    for (const auto& entry : loaded.set.json.at("alignments")) {
      SCOPED_TRACE(entry.at("label").get<std::string>());
      const Eigen::Matrix2d expected = Matrix2Of(entry.at("laplace_cov_xy"));
      const auto laplace = LaplaceCovariance(HessianOf(entry.at("hessian")));
      ASSERT_TRUE(laplace.ok()) << laplace.status();
      EXPECT_LE(LargestEntry(*laplace - expected), 1e-9 * LargestEntry(expected));
      const CovarianceReport report = Estimate(loaded, entry, CovarianceMethod::kLaplace);
      EXPECT_LE(LargestEntry(report.covariance.topLeftCorner<2, 2>() - expected),
                (1e-9 + TiltShare(PoseOf(entry.at("final_pose")))) * LargestEntry(expected));
    }
  });
}

// With the engine's own alignment in place of the reference's.
TEST_P(GoldenCovarianceTest, goldenLaplaceFollowsTheEnginesHessian) {
  ForEachGoldenSet([](const LoadedSet& loaded) {
    double largest = 0.0;
    for (const auto& entry : loaded.set.json.at("alignments")) {
      const std::string label = entry.at("label");
      if (loaded.OnlyFinite(label)) continue;
      SCOPED_TRACE(label);
      const AlignJob job = loaded.MakeJob(PoseOf(entry.at("guess")));
      const AlignResult result = loaded.engine->Align({&job, 1})[0];
      const auto laplace = LaplaceCovariance(result.hessian);
      ASSERT_TRUE(laplace.ok()) << laplace.status();
      const Eigen::Matrix2d expected = Matrix2Of(entry.at("laplace_cov_xy"));
      const double deviation = LargestEntry(*laplace - expected) / LargestEntry(expected);
      largest = std::max(largest, deviation);
      // Cells are soft over decimetres: poses two millimetres apart see weights that differ by
      // up to a percent.
      EXPECT_LE(deviation, 0.01 * std::max(1.0, loaded.set.Tolerance("pose_m") / 0.002));
    }
    std::cout << "Laplace: largest relative deviation " << largest << std::endl;
  });
}

TEST_P(GoldenCovarianceTest, goldenOffsetPosesMatchTheReference) {
  ForEachGoldenSet([](const LoadedSet& loaded) {
    ForEachMultiNdt(loaded, [](const nlohmann::json& entry) {
      const AlignResult result = ResultOf(entry);
      const std::vector<Pose> poses =
          OffsetPoses(result.map_T_base, CovarianceOptions{}.offsets_base);
      const auto& expected = entry.at("multi_ndt_poses");
      ASSERT_EQ(poses.size(), expected.size());
      for (size_t i = 0; i < poses.size(); ++i) {
        EXPECT_LE(TranslationDistance(poses[i], PoseOf(expected[i])), 2.0 * PositionStep(result));
        EXPECT_LE(RotationDistance(poses[i], PoseOf(expected[i])), 1e-6);
      }
    });
  });
}

// The reference's own samples, so only the formula is at stake.
TEST_P(GoldenCovarianceTest, goldenMomentsOfTheReferencesSamplesMatch) {
  ForEachGoldenSet([](const LoadedSet& loaded) {
    ForEachMultiNdt(loaded, [](const nlohmann::json& entry) {
      const AlignResult result = ResultOf(entry);
      const PositionMoments moments = MomentsOf(PositionsOf(result, entry.at("multi_ndt_final")));
      const Eigen::Matrix2d expected = Matrix2Of(entry.at("multi_ndt_cov_xy"));
      EXPECT_LE((moments.mean - Vector2Of(entry.at("multi_ndt_mean"))).norm(),
                2.0 * PositionStep(result));
      EXPECT_LE(LargestEntry(moments.covariance - expected),
                CovarianceTolerance(expected, PositionStep(result)));
    });
  });
}

TEST_P(GoldenCovarianceTest, goldenMultiNdtMatchesTheReference) {
  ForEachGoldenSet([](const LoadedSet& loaded) {
    ForEachMultiNdt(loaded, [&](const nlohmann::json& entry) {
      if (loaded.OnlyFinite(entry.at("label"))) return;
      const AlignResult result = ResultOf(entry);
      const CovarianceReport report = Estimate(loaded, entry, CovarianceMethod::kMultiNdt);
      const auto& expected_poses = entry.at("multi_ndt_final");
      ASSERT_EQ(report.aligned_map_T_base.size(), expected_poses.size());
      ASSERT_EQ(report.nvtl.size(), expected_poses.size());
      const double position_m = loaded.set.Tolerance("pose_m");
      double largest_m = 0.0;
      std::vector<Eigen::Vector2d> positions = {result.map_T_base.translation.head<2>()};
      for (size_t i = 0; i < expected_poses.size(); ++i) {
        const Pose& pose = report.aligned_map_T_base[i];
        const Pose expected = PoseOf(expected_poses[i]);
        largest_m = std::max(largest_m, TranslationDistance(pose, expected));
        EXPECT_LE(RotationDistance(pose, expected) * kRadToDeg, loaded.set.Tolerance("pose_deg"));
        positions.emplace_back(pose.translation.head<2>());
      }
      EXPECT_LE(largest_m, position_m);
      const Eigen::Matrix2d expected = Matrix2Of(entry.at("multi_ndt_cov_xy"));
      const PositionMoments moments = MomentsOf(positions);
      EXPECT_LE((moments.mean - Vector2Of(entry.at("multi_ndt_mean"))).norm(), position_m);
      // As far off as the poses make it, no farther.
      EXPECT_LE(LargestEntry(moments.covariance - expected),
                CovarianceTolerance(expected, largest_m + PositionStep(result)));
      EXPECT_LE(LargestEntry(report.covariance.topLeftCorner<2, 2>() - moments.covariance),
                (1e-9 + TiltShare(result.map_T_base)) * LargestEntry(moments.covariance));
      std::cout << "MULTI_NDT: poses within " << largest_m << " m; covariance off by "
                << LargestEntry(moments.covariance - expected) / LargestEntry(expected)
                << " of its largest entry" << std::endl;
    });
  });
}

TEST_P(GoldenCovarianceTest, goldenMultiNdtScoreMatchesTheReference) {
  ForEachGoldenSet([](const LoadedSet& loaded) {
    ForEachMultiNdt(loaded, [&](const nlohmann::json& entry) {
      const AlignResult result = ResultOf(entry);
      const CovarianceReport report = Estimate(loaded, entry, CovarianceMethod::kMultiNdtScore);
      std::vector<double> scores = {result.after.nearest_voxel_likelihood};
      scores.insert(scores.end(), report.nvtl.begin(), report.nvtl.end());
      const PositionMoments moments =
          WeightedMoments(PositionsOf(result, entry.at("multi_ndt_poses")),
                          SoftmaxWeights(scores, CovarianceOptions{}.temperature));
      // A score off by its tolerance, divided by the temperature, changes a weight by that share,
      // and with it mean and covariance.
      const double share = 2.0 * loaded.set.Tolerance("nvtl_rel") *
                           result.after.nearest_voxel_likelihood / CovarianceOptions{}.temperature;
      const Eigen::Matrix2d expected = Matrix2Of(entry.at(kScoreCovariance));
      EXPECT_LE((moments.mean - Vector2Of(entry.at(kScoreMean))).norm(),
                share * std::sqrt(expected.trace()) + 2.0 * PositionStep(result));
      EXPECT_LE(
          LargestEntry(moments.covariance - expected),
          share * LargestEntry(expected) + CovarianceTolerance(expected, PositionStep(result)));
      EXPECT_LE(LargestEntry(report.covariance.topLeftCorner<2, 2>() - moments.covariance),
                (1e-6 + TiltShare(result.map_T_base)) * LargestEntry(moments.covariance));
      std::cout << "MULTI_NDT_SCORE: covariance off by "
                << LargestEntry(moments.covariance - expected) / LargestEntry(expected)
                << " of its largest entry, allowed " << share << std::endl;
    });
  });
}

}  // namespace
}  // namespace voxloc::golden
