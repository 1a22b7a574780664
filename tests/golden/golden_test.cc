// SPDX-License-Identifier: Apache-2.0
//
// The autoware profile against what the reference computed: every set found in VOXLOC_GOLDEN_DIR
// when the test runs, within the tolerances that the set states.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/ndt/score_function.h"
#include "tests/golden/golden_fixture.h"

namespace voxloc::golden {
namespace {

constexpr double kRadToDeg = 180.0 / M_PI;

double Relative(double value, double expected) {
  return std::abs(value - expected) / std::max(1e-12, std::abs(expected));
}

INSTANTIATE_TEST_SUITE_P(, GoldenTest, ::testing::ValuesIn(EngineNames()),
                         [](const auto& engine) { return engine.param; });

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
      // One iteration, traced: its first record is the evaluation at the pose itself.
      AlignJob job = loaded.MakeJob(PoseOf(entry.at("pose")));
      job.profile.stages[0].max_iterations = 1;
      job.want_trace = true;
      const AlignResult result = loaded.engine->Align({&job, 1})[0];
      ASSERT_TRUE(result.status.ok()) << result.status;
      ASSERT_FALSE(result.trace.empty());
      const IterationTrace& at_pose = result.trace[0];
      const bool regularized = job.regularization_position_map.has_value();
      if (!regularized) {
        EXPECT_LE(Relative(at_pose.score.score, entry.at("score")),
                  loaded.set.Tolerance("score_rel"));
      }
      EXPECT_LE(Relative(at_pose.score.nearest_voxel_likelihood, entry.at("nvtl")),
                loaded.set.Tolerance("nvtl_rel"));
      EXPECT_LE(Relative(static_cast<double>(at_pose.score.pairs), entry.at("neighbor_total")),
                loaded.set.Tolerance("neighbor_count_rel"));
      EXPECT_LE(Relative(static_cast<double>(at_pose.score.matched_points),
                         entry.at("points_with_neighbor")),
                loaded.set.Tolerance("neighbor_count_rel"));
      for (int i = 0; i < 6; ++i) {
        EXPECT_LE(std::abs(at_pose.gradient[i] - entry.at("gradient")[i].get<double>()),
                  loaded.set.Tolerance("gradient_of_set_max") * largest_gradient)
            << "gradient " << i;
        for (int j = 0; j < 6; ++j) {
          EXPECT_LE(std::abs(at_pose.hessian(i, j) - entry.at("hessian")[6 * i + j].get<double>()),
                    loaded.set.Tolerance("hessian_of_set_max") * largest_hessian)
              << "Hessian " << i << " " << j;
        }
      }
    }
  });
}

TEST_P(GoldenTest, goldenAlignmentsMatchTheReference) {
  ForEachGoldenSet([](const LoadedSet& loaded) {
    for (const auto& entry : loaded.set.json.at("alignments")) {
      const std::string label = entry.at("label");
      SCOPED_TRACE(label);
      const AlignJob job = loaded.MakeJob(PoseOf(entry.at("guess")));
      const AlignResult result = loaded.engine->Align({&job, 1})[0];
      ASSERT_TRUE(result.status.ok()) << result.status;
      ASSERT_TRUE(result.map_T_base.translation.allFinite());
      ASSERT_TRUE(result.map_T_base.rotation.coeffs().allFinite());
      if (loaded.OnlyFinite(label)) {
        EXPECT_NE(result.termination, Termination::kNotFinite);
        continue;
      }
      const Pose expected = PoseOf(entry.at("final_pose"));
      EXPECT_LE(TranslationDistance(result.map_T_base, expected), loaded.set.Tolerance("pose_m"));
      EXPECT_LE(RotationDistance(result.map_T_base, expected) * kRadToDeg,
                loaded.set.Tolerance("pose_deg"));
      const double slack =
          loaded.set.Tolerance("iterations") + (label == "offset_small" ? 0.0 : 1.0);
      EXPECT_LE(std::abs(result.iterations - entry.at("iterations").get<int>()), slack);
    }
  });
}

}  // namespace
}  // namespace voxloc::golden
