// SPDX-License-Identifier: Apache-2.0
//
// The autoware profile against what the reference computed: every set found in VOXLOC_GOLDEN_DIR
// when the test runs, within the tolerances that the set states.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/geometry/euler.h"
#include "core/ndt/pose_score.h"
#include "tests/golden/golden_fixture.h"

namespace voxloc::golden {
namespace {

double Relative(double value, double expected) {
  return std::abs(value - expected) / std::max(1e-12, std::abs(expected));
}

// The files give a pose as a matrix and as x y z roll pitch yaw, both in float32.
void ExpectSamePose(const Pose& pose, const nlohmann::json& p) {
  ChartVector chart;
  for (int i = 0; i < 6; ++i) chart[i] = p.at(static_cast<size_t>(i)).get<double>();
  const Pose of_chart = PoseFromChart(chart);
  EXPECT_LE(TranslationDistance(pose, of_chart), kFloat32 * pose.translation.norm());
  // Three angles of up to pi, and the nine entries of the matrix.
  EXPECT_LE(RotationDistance(pose, of_chart), (3.0 * M_PI + 9.0) * kFloat32);
}

VOXLOC_INSTANTIATE_ON_ENGINES(GoldenTest);

TEST_P(GoldenTest, goldenScoreConstantsMatchTheReference) {
  ForEachGoldenSet([](const LoadedSet& loaded) {
    const Stage& stage = loaded.profile.stages[0];
    const ndt::ScoreConstants constants =
        ndt::ComputeScoreConstants(stage.outlier_ratio, stage.cells.cell_size_m);
    EXPECT_NEAR(constants.d1, loaded.set.json.at("gauss_d1").get<double>(), 1e-12);
    EXPECT_NEAR(constants.d2, loaded.set.json.at("gauss_d2").get<double>(), 1e-12);
  });
}

TEST_P(GoldenTest, goldenCellsMatchTheReference) {
  ForEachGoldenSet([](const LoadedSet& loaded) {
    const auto& json = loaded.set.json;
    ASSERT_EQ(loaded.map->cells(0), json.at("voxel_count").get<size_t>());
    const Eigen::Vector3d reach = Eigen::Vector3d::Constant(1e9);
    const auto cells = loaded.map->CellsInBox(0, -reach, reach, 100'000'000);
    ASSERT_TRUE(cells.ok()) << cells.status();
    for (const auto& voxel : json.at("voxels")) {
      const Eigen::Vector3d mean(voxel.at("mean")[0], voxel.at("mean")[1], voxel.at("mean")[2]);
      const auto nearest =
          std::min_element(cells->begin(), cells->end(), [&](const MapCell& a, const MapCell& b) {
            return (a.mean - mean).squaredNorm() < (b.mean - mean).squaredNorm();
          });
      EXPECT_LE((nearest->mean - mean).norm(), loaded.set.Tolerance("cell_mean_m"));
      EXPECT_EQ(nearest->count, voxel.at("n").get<uint64_t>());
      const auto compare = [&](const ndt::Symmetric3<double>& ours, const char* key,
                               double tolerance) {
        const Eigen::Matrix3d expected = Matrix3FromJson(voxel.at(key));
        Eigen::Matrix3d matrix;
        matrix << ours.xx, ours.xy, ours.xz, ours.xy, ours.yy, ours.yz, ours.xz, ours.yz, ours.zz;
        EXPECT_LE((matrix - expected).cwiseAbs().maxCoeff() / expected.cwiseAbs().maxCoeff(),
                  tolerance)
            << key << " of the cell at " << mean.transpose();
      };
      compare(nearest->covariance, "cov", loaded.set.Tolerance("cell_covariance_rel"));
      compare(nearest->information, "icov", loaded.set.Tolerance("cell_inverse_rel"));
    }
  });
}

TEST_P(GoldenTest, goldenDerivativesMatchTheReference) {
  ForEachGoldenSet([](const LoadedSet& loaded) {
    const auto& entries = loaded.set.json.at("derivatives");
    double largest_gradient = 0.0;
    double largest_hessian = 0.0;
    for (const auto& entry : entries) {
      for (const auto& g : entry.at("gradient")) {
        largest_gradient = std::max(largest_gradient, std::abs(g.get<double>()));
      }
      for (const auto& h : entry.at("hessian")) {
        largest_hessian = std::max(largest_hessian, std::abs(h.get<double>()));
      }
    }
    for (const auto& entry : entries) {
      SCOPED_TRACE(entry.at("label").get<std::string>());
      ExpectSamePose(PoseOf(entry.at("pose")), entry.at("p"));
      // One iteration, traced: its first record is the evaluation at the pose itself.
      AlignJob job = loaded.MakeJob(PoseOf(entry.at("pose")));
      job.profile.stages[0].max_iterations = 1;
      job.with_trace = true;
      const AlignResult result = loaded.engine->Align({&job, 1})[0];
      ASSERT_TRUE(result.status.ok()) << result.status;
      ASSERT_FALSE(result.trace.empty());
      const IterationTrace& at_pose = result.trace[0];
      EXPECT_LE(Relative(at_pose.score.score, entry.at("score")),
                loaded.set.Tolerance("score_rel"));
      // Here, unlike where it aligns, the reference leaves the regularisation out.
      job.regularization_position_map.reset();
      const AlignResult unregularized = loaded.engine->Align({&job, 1})[0];
      ASSERT_TRUE(unregularized.status.ok()) << unregularized.status;
      EXPECT_LE(
          Relative(unregularized.before.transform_probability, entry.at("transform_probability")),
          loaded.set.Tolerance("score_rel"));
      EXPECT_LE(Relative(at_pose.score.nearest_voxel_likelihood, entry.at("nvtl")),
                loaded.set.Tolerance("nvtl_rel"));
      EXPECT_LE(Relative(static_cast<double>(at_pose.score.pairs), entry.at("neighbor_total")),
                loaded.set.Tolerance("neighbor_count_rel"));
      EXPECT_LE(Relative(static_cast<double>(at_pose.score.matched_points),
                         entry.at("points_with_neighbor")),
                loaded.set.Tolerance("neighbor_count_rel"));
      // A negative roll is a roll over 90 degrees in the reference's angles. Its pitch then turns
      // the other way.
      Eigen::Array<double, 6, 1> sign = Eigen::Array<double, 6, 1>::Ones();
      if (std::cos(entry.at("p")[4].get<double>()) < 0.0) sign[4] = -1.0;
      for (int i = 0; i < 6; ++i) {
        EXPECT_LE(std::abs(at_pose.gradient[i] - sign[i] * entry.at("gradient")[i].get<double>()),
                  loaded.set.Tolerance("gradient_of_set_max") * largest_gradient)
            << "gradient " << i;
        for (int j = 0; j < 6; ++j) {
          EXPECT_LE(std::abs(at_pose.hessian(i, j) -
                             sign[i] * sign[j] * entry.at("hessian")[6 * i + j].get<double>()),
                    loaded.set.Tolerance("hessian_of_set_max") * largest_hessian)
              << "Hessian " << i << " " << j;
        }
      }
    }
  });
}

}  // namespace
}  // namespace voxloc::golden
