// SPDX-License-Identifier: Apache-2.0
//
// The reference's covariances: every set found in VOXLOC_GOLDEN_DIR when the test runs. The
// formulas on the reference's own alignments, to the digits that its float32 poses leave; and the
// methods as a whole, from its result on, as near as alignments come.

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "core/estimate/covariance/covariance_estimator.h"
#include "core/geometry/euler.h"
#include "tests/golden/displacement.h"
#include "tests/golden/golden_fixture.h"
#include "tests/golden/moved_set.h"

namespace voxloc::golden {
namespace {

class GoldenCovarianceTest : public GoldenTest {
 protected:
  void ForEachGoldenSetNearAndFar(const std::function<void(const LoadedSet&)>& check) {
    ForEachGoldenSet(check);
    ForEachGoldenSet(check, MovedFarFromTheOrigin);
  }
};
VOXLOC_INSTANTIATE_ON_ENGINES(GoldenCovarianceTest);

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

// A floor too low to hide what is estimated.
constexpr double kFixedVariance = 1e-18;

CovarianceOptions Options(CovarianceMethod method) {
  CovarianceOptions options;
  options.method = method;
  options.fixed = kFixedVariance * Matrix6::Identity();
  return options;
}

CovarianceReport Estimate(const LoadedSet& loaded, const nlohmann::json& entry,
                          CovarianceMethod method) {
  const AlignJob job = loaded.MakeJob(PoseOf(entry.at("guess")));
  const AlignResult result = ResultOf(entry);
  const CovarianceOptions options = Options(method);
  const CovarianceRequest request = {{&job, &result}, &options, std::nullopt};
  CovarianceReport report = EstimateCovariances(*loaded.engine, {&request, 1})[0];
  EXPECT_TRUE(report.status.ok()) << report.status;
  EXPECT_EQ(report.method, method);
  return report;
}

// The largest relative error of the products of up to six 2x2 matrices: each entry of a product has
// two products and a sum, and the entries of a rotation's block, at most 1, are summed in pairs.
constexpr double kProductRounding = 128.0 * std::numeric_limits<double>::epsilon();

// What is to be reported for the reference's estimate of x and y: turned into base axes, raised to
// the fixed variances, turned back, as the reference does; then made symmetric, which its own is to
// rounding only (WithHalvesThatDiffer). The 2x2 block of a tilted base is not quite a rotation, so
// the estimate shrinks on the way.
Eigen::Matrix2d ThroughBaseAxes(const Eigen::Matrix2d& estimate, const Pose& map_T_base) {
  const Eigen::Matrix2d block = map_T_base.rotation.toRotationMatrix().topLeftCorner<2, 2>();
  Eigen::Matrix2d in_base = block.transpose() * estimate * block;
  for (int i = 0; i < 2; ++i) in_base(i, i) = std::max(in_base(i, i), kFixedVariance);
  const Eigen::Matrix2d in_map = block * in_base * block.transpose();
  return 0.5 * (in_map + in_map.transpose());
}

void ExpectReported(const CovarianceReport& report, const Eigen::Matrix2d& estimate,
                    double estimate_tolerance, const Pose& map_T_base) {
  const Eigen::Matrix2d reported = report.covariance.topLeftCorner<2, 2>();
  EXPECT_LE(LargestEntry(reported - ThroughBaseAxes(estimate, map_T_base)),
            estimate_tolerance + kProductRounding * LargestEntry(estimate));
}

// How far a covariance may be off when each position is off by `position_m`: a standard deviation
// then changes by no more.
double CovarianceTolerance(const Eigen::Matrix2d& covariance, double position_m) {
  const double sigma = std::sqrt(std::max(0.0, covariance.trace()));
  return 2.0 * sigma * position_m + position_m * position_m;
}

// The main result's position, then these.
std::vector<Eigen::Vector2d> PositionsOf(const AlignResult& result,
                                         const std::vector<Pose>& map_T_base) {
  std::vector<Eigen::Vector2d> positions = {result.map_T_base.translation.head<2>()};
  for (const Pose& pose : map_T_base) positions.emplace_back(pose.translation.head<2>());
  return positions;
}

std::vector<double> WeightsOf(const AlignResult& result, const std::vector<double>& nvtl,
                              double temperature) {
  std::vector<double> scores = {result.after.nearest_voxel_likelihood};
  scores.insert(scores.end(), nvtl.begin(), nvtl.end());
  return SoftmaxWeights(scores, temperature);
}

std::vector<double> ScoresAt(const LoadedSet& loaded, const std::vector<Pose>& map_T_base) {
  ScoreRequest request;
  request.map = loaded.map;
  request.scan = loaded.set.source;
  request.map_T_base = map_T_base;
  request.stage = loaded.profile.stages.front();
  const auto result = loaded.engine->Score(request);
  EXPECT_TRUE(result.ok()) << result.status();
  std::vector<double> nvtl;
  if (!result.ok()) return nvtl;
  for (const PoseScore& score : result->poses) nvtl.push_back(score.nearest_voxel_likelihood);
  return nvtl;
}

// Second moments around the mean, from distances to the main result, which large coordinates do not
// round.
Eigen::Matrix2d CentredCovariance(const AlignResult& result, const std::vector<Pose>& map_T_base,
                                  const std::vector<double>& weights) {
  std::vector<Eigen::Vector2d> offsets;
  Eigen::Vector2d mean = Eigen::Vector2d::Zero();
  for (const Eigen::Vector2d& position : PositionsOf(result, map_T_base)) {
    offsets.emplace_back(position - result.map_T_base.translation.head<2>());
    mean += weights.at(offsets.size() - 1) * offsets.back();
  }
  Eigen::Matrix2d covariance = Eigen::Matrix2d::Zero();
  for (size_t i = 0; i < offsets.size(); ++i) {
    covariance += weights[i] * (offsets[i] - mean) * (offsets[i] - mean).transpose();
  }
  return covariance;
}

// What a mean in map coordinates, rounded to double, may change of it.
double MomentRounding(const AlignResult& result, const Eigen::Matrix2d& covariance) {
  return CovarianceTolerance(covariance, 4.0 * std::numeric_limits<double>::epsilon() *
                                             result.map_T_base.translation.norm());
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

// How far two inverses of a block may differ that were computed in double, each from a determinant
// of a few roundings: the condition number times these.
double InverseRounding(const Eigen::Matrix2d& block, const Eigen::Matrix2d& inverse) {
  return kProductRounding * block.norm() * inverse.norm() * inverse.norm();
}

// A set whose Hessians are as far from symmetric as those of sets far from the origin. The
// reference takes a cell's covariance from sums of products of map coordinates, rounded differently
// on either side of the diagonal: by 1e-16 of the square of the coordinates, 1e-6 m^2 at 1e5 m.
// What is left of that in the sums of some hundred cells is 1e-8 of a Hessian's norm; 1e-15 within
// 50 m.
GoldenSet WithHalvesThatDiffer(GoldenSet set) {
  for (auto& entry : set.json.at("alignments")) {
    auto& upper = entry.at("hessian").at(1);
    const Eigen::Matrix2d block = HessianOf(entry.at("hessian")).topLeftCorner<2, 2>();
    upper = upper.get<double>() + 1e-8 * block.norm();
    const Eigen::Matrix2d covariance =
        -HessianOf(entry.at("hessian")).topLeftCorner<2, 2>().inverse();
    for (int i = 0; i < 4; ++i) {
      entry.at("laplace_cov_xy").at(static_cast<size_t>(i)) = covariance(i / 2, i % 2);
    }
  }
  return set;
}

TEST_P(GoldenCovarianceTest, goldenLaplaceMatchesTheReference) {
  const auto check = [](const LoadedSet& loaded) {
    for (const auto& entry : loaded.set.json.at("alignments")) {
      SCOPED_TRACE(entry.at("label").get<std::string>());
      const Eigen::Matrix2d expected = Matrix2Of(entry.at("laplace_cov_xy"));
      const Matrix6 hessian = HessianOf(entry.at("hessian"));
      const auto laplace = LaplaceCovariance(hessian);
      ASSERT_TRUE(laplace.ok()) << laplace.status();
      const double allowed = InverseRounding(hessian.topLeftCorner<2, 2>(), expected);
      EXPECT_LE(LargestEntry(*laplace - expected), allowed);
      const CovarianceReport report = Estimate(loaded, entry, CovarianceMethod::kLaplace);
      ExpectReported(report, expected, 2.0 * allowed, PoseOf(entry.at("final_pose")));
    }
  };
  ForEachGoldenSet(check);
  ForEachGoldenSet(check, WithHalvesThatDiffer);
}

// With the engine's own alignment in place of the reference's. Compared as Hessians, which differ
// by the set's tolerance and by what the distance of the two poses makes of them.
TEST_P(GoldenCovarianceTest, goldenLaplaceFollowsTheEnginesHessian) {
  ForEachGoldenSet([](const LoadedSet& loaded) {
    const ChangeBound bound(loaded);
    for (const auto& entry : loaded.set.json.at("alignments")) {
      const std::string label = entry.at("label");
      if (loaded.OnlyFinite(label)) continue;
      SCOPED_TRACE(label);
      const AlignJob job = loaded.MakeJob(PoseOf(entry.at("guess")));
      const AlignResult result = loaded.engine->Align({&job, 1})[0];
      const auto laplace = LaplaceCovariance(result.hessian);
      ASSERT_TRUE(laplace.ok()) << laplace.status();
      const Eigen::Matrix2d block = HessianOf(entry.at("hessian")).topLeftCorner<2, 2>();
      const Pose end = PoseOf(entry.at("final_pose"));
      const ScoreChange change = bound.At(end, BetweenPoses(result.map_T_base, end));
      const double hessian_off = change.hessian.topLeftCorner<2, 2>().norm() +
                                 loaded.set.Tolerance("hessian_of_set_max") * block.norm();
      const Eigen::Matrix2d ours = -laplace->inverse();
      EXPECT_LE((ours - block).norm(), hessian_off);
      std::cout << "LAPLACE: Hessian off by " << (ours - block).norm() / block.norm()
                << " of its norm, allowed " << hessian_off / block.norm() << std::endl;
    }
  });
}

TEST_P(GoldenCovarianceTest, goldenOffsetPosesMatchTheReferenceNearAndFarFromTheOrigin) {
  ForEachGoldenSetNearAndFar([](const LoadedSet& loaded) {
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
TEST_P(GoldenCovarianceTest, goldenMomentsOfTheReferencesSamplesMatchNearAndFarFromTheOrigin) {
  ForEachGoldenSetNearAndFar([](const LoadedSet& loaded) {
    ForEachMultiNdt(loaded, [](const nlohmann::json& entry) {
      const AlignResult result = ResultOf(entry);
      const PositionMoments moments =
          MomentsOf(PositionsOf(result, PosesOf(entry.at("multi_ndt_final"))));
      const Eigen::Matrix2d expected = Matrix2Of(entry.at("multi_ndt_cov_xy"));
      EXPECT_LE((moments.mean - Vector2Of(entry.at("multi_ndt_mean"))).norm(),
                2.0 * PositionStep(result));
      EXPECT_LE(LargestEntry(moments.covariance - expected),
                CovarianceTolerance(expected, PositionStep(result)));
    });
  });
}

TEST_P(GoldenCovarianceTest, goldenMultiNdtMatchesTheReferenceNearAndFarFromTheOrigin) {
  ForEachGoldenSetNearAndFar([](const LoadedSet& loaded) {
    ForEachMultiNdt(loaded, [&](const nlohmann::json& entry) {
      if (loaded.OnlyFinite(entry.at("label"))) return;
      const AlignResult result = ResultOf(entry);
      const CovarianceReport report = Estimate(loaded, entry, CovarianceMethod::kMultiNdt);
      const auto& expected_poses = entry.at("multi_ndt_final");
      ASSERT_EQ(report.aligned_map_T_base.size(), expected_poses.size());
      ASSERT_EQ(report.nvtl.size(), expected_poses.size());
      const double position_m = loaded.set.Tolerance("pose_m");
      double largest_m = 0.0;
      for (size_t i = 0; i < expected_poses.size(); ++i) {
        const Pose& pose = report.aligned_map_T_base[i];
        const Pose expected = PoseOf(expected_poses[i]);
        largest_m = std::max(largest_m, TranslationDistance(pose, expected));
        EXPECT_LE(RotationDistance(pose, expected) * kDegreesPerRadian,
                  loaded.set.Tolerance("pose_deg"));
      }
      // The files list poses in float32.
      EXPECT_LE(largest_m, position_m + PositionStep(result));
      const Eigen::Matrix2d expected = Matrix2Of(entry.at("multi_ndt_cov_xy"));
      const PositionMoments moments = MomentsOf(PositionsOf(result, report.aligned_map_T_base));
      EXPECT_LE((moments.mean - Vector2Of(entry.at("multi_ndt_mean"))).norm(),
                position_m + PositionStep(result));
      // As far off as the poses make it, no farther.
      EXPECT_LE(LargestEntry(moments.covariance - expected),
                CovarianceTolerance(expected, largest_m + PositionStep(result)));
      const size_t count = expected_poses.size() + 1;
      const double equal = 1.0 / static_cast<double>(count);
      const Eigen::Matrix2d own =
          (1.0 - equal) *
          CentredCovariance(result, report.aligned_map_T_base, std::vector<double>(count, equal));
      ExpectReported(report, own, MomentRounding(result, own), result.map_T_base);
      std::cout << "MULTI_NDT: poses within " << largest_m << " m; covariance off by "
                << LargestEntry(moments.covariance - expected) / LargestEntry(expected)
                << " of its largest entry" << std::endl;
    });
  });
}

TEST_P(GoldenCovarianceTest, goldenMultiNdtScoreMatchesTheReferenceNearAndFarFromTheOrigin) {
  ForEachGoldenSetNearAndFar([](const LoadedSet& loaded) {
    ForEachMultiNdt(loaded, [&](const nlohmann::json& entry) {
      const AlignResult result = ResultOf(entry);
      const CovarianceReport report = Estimate(loaded, entry, CovarianceMethod::kMultiNdtScore);
      const auto& expected_poses = entry.at("multi_ndt_poses");
      ASSERT_EQ(report.offset_map_T_base.size(), expected_poses.size());
      ASSERT_EQ(report.nvtl.size(), expected_poses.size());

      // The report from its own poses and scores.
      const double temperature = CovarianceOptions{}.temperature;
      const Eigen::Matrix2d own = CentredCovariance(result, report.offset_map_T_base,
                                                    WeightsOf(result, report.nvtl, temperature));
      ExpectReported(report, own, MomentRounding(result, own), result.map_T_base);

      // And from the reference's poses, which float32 moves: by millimetres at 1e5 m.
      const std::vector<Pose> poses = PosesOf(expected_poses);
      const std::vector<double> nvtl = ScoresAt(loaded, poses);
      ASSERT_EQ(nvtl.size(), poses.size());
      const PositionMoments moments =
          WeightedMoments(PositionsOf(result, poses), WeightsOf(result, nvtl, temperature));
      double largest_score = result.after.nearest_voxel_likelihood;
      double moved_by_rounding = 0.0;
      for (size_t i = 0; i < nvtl.size(); ++i) {
        largest_score = std::max(largest_score, nvtl[i]);
        moved_by_rounding = std::max(moved_by_rounding, std::abs(nvtl[i] - report.nvtl[i]));
      }
      // A score that is off, divided by the temperature, changes each weight and the sum of weights
      // by that share, and with them mean and covariance.
      const double score_off = loaded.set.Tolerance("nvtl_rel") * largest_score + moved_by_rounding;
      const double share = std::expm1(2.0 * score_off / temperature);
      const Eigen::Matrix2d expected = Matrix2Of(entry.at(kScoreCovariance));
      EXPECT_LE((moments.mean - Vector2Of(entry.at(kScoreMean))).norm(),
                share * std::sqrt(expected.trace()) + 2.0 * PositionStep(result));
      EXPECT_LE(
          LargestEntry(moments.covariance - expected),
          share * LargestEntry(expected) + CovarianceTolerance(expected, PositionStep(result)));
      std::cout << "MULTI_NDT_SCORE: covariance off by "
                << LargestEntry(moments.covariance - expected) / LargestEntry(expected)
                << " of its largest entry, allowed " << share << std::endl;
    });
  });
}

}  // namespace
}  // namespace voxloc::golden
