// SPDX-License-Identifier: Apache-2.0
//
// The autoware profile against what the reference computed: every set found in VOXLOC_GOLDEN_DIR
// when the test runs, within the tolerances that the set states. On every engine of this build; the
// CUDA engine's tests skip where there is no device.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "core/engine/cpu/cpu_engine.h"
#include "core/geometry/euler.h"
#include "core/ndt/score_function.h"
#include "tests/golden/golden_set.h"
#include "tests/support/real_data.h"

#if defined(VOXLOC_HAVE_CUDA)
#include "cuda/cuda_engine.h"
#include "tests/support/cuda_device.h"
#endif

namespace voxloc::golden {
namespace {

constexpr double kRadToDeg = 180.0 / M_PI;

double Relative(double value, double expected) {
  return std::abs(value - expected) / std::max(1e-12, std::abs(expected));
}

Pose PoseOf(const nlohmann::json& matrix) {
  const absl::StatusOr<Pose> pose = PoseFromMatrix(MatrixFromJson(matrix));
  EXPECT_TRUE(pose.ok()) << pose.status();
  return pose.value_or(Pose{});
}

std::vector<std::string> EngineNames() {
#if defined(VOXLOC_HAVE_CUDA)
  return {"cpu", "cuda"};
#else
  return {"cpu"};
#endif
}

absl::StatusOr<std::unique_ptr<Engine>> MakeEngine([[maybe_unused]] const std::string& name) {
#if defined(VOXLOC_HAVE_CUDA)
  if (name == "cuda") return MakeCudaEngine();
#endif
  return MakeCpuEngine();
}

// An engine with the set's map in it.
struct LoadedSet {
  GoldenSet set;
  Profile profile;
  Engine* engine = nullptr;
  std::shared_ptr<const ResidentMap> map;
};

LoadedSet Load(Engine& engine, const std::string& directory, const std::string& name) {
  LoadedSet loaded;
  loaded.set = LoadGoldenSet(directory, name);
  loaded.profile = loaded.set.MakeProfile();
  loaded.engine = &engine;
  const std::vector<CellStatistics> statistics = RequiredStatistics({loaded.profile});
  std::vector<std::shared_ptr<const ResidentTile>> tiles;
  for (const PointCloud& cloud : loaded.set.Tiles()) {
    auto tile = loaded.engine->BuildTile(cloud, statistics);
    EXPECT_TRUE(tile.ok()) << tile.status();
    if (tile.ok()) tiles.push_back(*tile);
  }
  auto map = loaded.engine->Compose(tiles, statistics, nullptr);
  EXPECT_TRUE(map.ok()) << map.status();
  if (map.ok()) loaded.map = *map;
  return loaded;
}

// The name of an engine.
class GoldenTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
#if defined(VOXLOC_HAVE_CUDA)
    if (GetParam() == "cuda") VOXLOC_REQUIRE_CUDA_DEVICE();
#endif
    auto engine = MakeEngine(GetParam());
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
  }

  // Calls `check` with every set there is; skips, saying so, where there is none.
  template <typename Check>
  void ForEachGoldenSet(const Check& check) {
    const auto directory = GoldenDir();
    if (!directory) GTEST_SKIP() << "no golden sets: set VOXLOC_GOLDEN_DIR";
    const std::vector<std::string> names = ListGoldenSets(*directory);
    if (names.empty()) GTEST_SKIP() << "no golden sets in " << *directory;
    for (const std::string& name : names) {
      SCOPED_TRACE(name);
      std::cout << "golden set " << name << std::endl;
      const LoadedSet loaded = Load(*engine_, *directory, name);
      if (loaded.map == nullptr) continue;
      check(loaded);
    }
  }

 private:
  std::unique_ptr<Engine> engine_;
};

INSTANTIATE_TEST_SUITE_P(, GoldenTest, ::testing::ValuesIn(EngineNames()),
                         [](const auto& engine) { return engine.param; });

AlignJob MakeJob(const LoadedSet& loaded, const Pose& guess) {
  AlignJob job;
  job.map = loaded.map;
  job.scan = loaded.set.source;
  job.map_T_base_guess = guess;
  job.profile = loaded.profile;
  job.regularization_position_map = loaded.set.RegularizationPosition();
  return job;
}

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
      AlignJob job = MakeJob(loaded, PoseOf(entry.at("pose")));
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
    const auto& only_finite = loaded.set.json.at("alignments_only_finite");
    for (const auto& entry : loaded.set.json.at("alignments")) {
      const std::string label = entry.at("label");
      SCOPED_TRACE(label);
      const AlignJob job = MakeJob(loaded, PoseOf(entry.at("guess")));
      const AlignResult result = loaded.engine->Align({&job, 1})[0];
      ASSERT_TRUE(result.status.ok()) << result.status;
      ASSERT_TRUE(result.map_T_base.translation.allFinite());
      ASSERT_TRUE(result.map_T_base.rotation.coeffs().allFinite());
      if (std::find(only_finite.begin(), only_finite.end(), label) != only_finite.end()) {
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
