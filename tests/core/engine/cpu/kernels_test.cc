// SPDX-License-Identifier: Apache-2.0
//
// All instruction sets give the same answers, but for rounding.

#include "core/engine/cpu/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <string>
#include <vector>

#include "core/engine/cpu/cpu_map.h"
#include "core/engine/cpu/scan_evaluator.h"
#include "core/geometry/euler.h"
#include "tests/support/engine_scene.h"
#include "tests/support/evaluation_comparison.h"
#include "tests/support/random_numbers.h"
#include "tests/support/reference_ndt.h"

namespace voxloc::cpu {
namespace {

TEST(KernelsTest, TheWidestIsSelectedAndTheBaselineAlwaysThere) {
  const std::vector<const Kernels*> available = AvailableKernels();
  ASSERT_FALSE(available.empty());
  EXPECT_EQ(std::string(available[0]->instruction_set), "baseline");
  EXPECT_EQ(&SelectKernels(), available.back());
  EXPECT_EQ(&SelectKernels(), &SelectKernels());
}

TEST(KernelsTest, EveryInstructionSetAgreesWithBruteForce) {
  const AlignJob job = SceneJob(AutowareProfile());
  const auto* map = dynamic_cast<const CpuMap*>(job.map.get());
  ASSERT_NE(map, nullptr);
  const ChartVector chart = ChartFromPose(Displaced(ScenePose(), {0.2, 0.1, -0.05}, 0.01));
  for (const Stage& stage : {AutowareProfile().stages[0], PreciseProfile().stages.back()}) {
    const reference::Evaluation expected =
        reference::Evaluate(AllCells(*map, stage.cells), *job.scan, chart, stage);
    for (const Kernels* kernels : AvailableKernels()) {
      SCOPED_TRACE(kernels->instruction_set);
      ScanEvaluator evaluator(*kernels);
      evaluator.SetScan(*job.scan);
      evaluator.SetStage(map->Grid(stage.cells), stage);
      std::vector<float> best(job.scan->size());
      const Evaluation evaluation = evaluator.Evaluate(chart, /*with_derivatives=*/true,
                                                       evaluator.points(), nullptr, best.data());
      Deviations largest;
      const Matrix6 hessian = Eigen::Map<const Eigen::Matrix<double, 6, 6, Eigen::RowMajor>>(
          &evaluation.derivatives.hessian.m[0][0]);
      const ChartVector gradient = Eigen::Map<const ChartVector>(evaluation.derivatives.gradient);
      ExpectEvaluationsAgree(evaluation.score, gradient, hessian, expected, 1e-5, largest);
      std::cout << kernels->instruction_set << ": " << largest << std::endl;

      // Without derivatives the score is the same, and so is every point's.
      std::vector<float> best_again(job.scan->size());
      const Evaluation score_only = evaluator.Evaluate(
          chart, /*with_derivatives=*/false, evaluator.points(), nullptr, best_again.data());
      EXPECT_NEAR(score_only.score.score, evaluation.score.score, 1e-6 * evaluation.score.score);
      EXPECT_EQ(score_only.score.pairs, evaluation.score.pairs);
      for (size_t i = 0; i < best.size(); ++i) {
        EXPECT_NEAR(static_cast<double>(best[i]), static_cast<double>(best_again[i]), 1e-5);
      }
    }
  }
}

// Instruction sets with fused multiply-add round once where the others round twice. That is all in
// which they differ: the same pairs, in the same order of sums.
TEST(KernelsTest, InstructionSetsDifferByRoundingOnly) {
  const AlignJob job = SceneJob(AutowareProfile());
  const auto* map = dynamic_cast<const CpuMap*>(job.map.get());
  ASSERT_NE(map, nullptr);
  std::vector<Stage> stages = AutowareProfile().stages;
  for (const Stage& stage : PreciseProfile().stages) stages.push_back(stage);
  RandomNumbers random(97);
  double largest = 0.0;
  for (const Stage& stage : stages) {
    for (int i = 0; i < 20; ++i) {
      const ChartVector chart =
          ChartFromPose(Displaced(ScenePose(), random.InBox(0.5), random.Uniform(-0.05, 0.05)));
      const auto evaluate = [&](const Kernels& kernels) {
        ScanEvaluator evaluator(kernels);
        evaluator.SetScan(*job.scan);
        evaluator.SetStage(map->Grid(stage.cells), stage);
        return evaluator.Evaluate(chart, /*with_derivatives=*/true, evaluator.points(), nullptr,
                                  nullptr);
      };
      const Evaluation baseline = evaluate(*AvailableKernels()[0]);
      EXPECT_GT(baseline.score.pairs, 0u);
      double scale = 0.0;
      for (const double slope : baseline.derivatives.gradient) {
        scale = std::max(scale, std::abs(slope));
      }
      for (const Kernels* kernels : AvailableKernels()) {
        SCOPED_TRACE(testing::Message() << kernels->instruction_set << ", cells of "
                                        << stage.cells.cell_size_m << " m, pose " << i);
        const Evaluation other = evaluate(*kernels);
        EXPECT_EQ(other.score.pairs, baseline.score.pairs);
        EXPECT_EQ(other.score.matched_points, baseline.score.matched_points);
        EXPECT_NEAR(other.score.score, baseline.score.score, 1e-6 * baseline.score.score);
        for (int k = 0; k < 6; ++k) {
          const double apart =
              std::abs(other.derivatives.gradient[k] - baseline.derivatives.gradient[k]) / scale;
          EXPECT_LT(apart, 1e-5) << "gradient " << k;
          largest = std::max(largest, apart);
        }
      }
    }
  }
  std::cout << "largest difference of a gradient, as a share of its largest entry: " << largest
            << std::endl;
}

// Indices and places against floor() in double, on all sides of zero and beyond the lattice.
TEST(KernelsTest, PointsAreLocatedAsByFloor) {
  const float xs[16] = {0.0F,  -0.0F, 1.99F, 2.0F,  -0.01F, -2.0F,  -2.01F, 1000.5F,
                        -1e4F, 1e5F,  3e7F,  -3e7F, 1e30F,  -1e30F, 3e38F,  7.25F};
  const float zeros[16] = {};
  for (const Kernels* kernels : AvailableKernels()) {
    SCOPED_TRACE(kernels->instruction_set);
    int32_t cells[3][16];
    float locals[3][16];
    LocateArguments in{};
    in.x = xs;
    in.y = xs;
    in.z = zeros;
    in.padded_count = 16;
    in.rotation[0][0] = in.rotation[1][1] = in.rotation[2][2] = 1.0;
    in.translation[0] = 0.5;
    in.translation[1] = -4e6;
    in.cell_size_m = 2.0;
    kernels->locate(in, {cells[0], cells[1], cells[2], locals[0], locals[1], locals[2]});
    for (int i = 0; i < 16; ++i) {
      for (int axis = 0; axis < 3; ++axis) {
        const double at = static_cast<double>(axis < 2 ? xs[i] : 0.0F) + in.translation[axis];
        if (std::abs(at) < 5e8) {
          EXPECT_EQ(cells[axis][i], static_cast<int32_t>(std::floor(at / 2.0))) << xs[i];
          EXPECT_NEAR(static_cast<double>(locals[axis][i]), at - 2.0 * std::floor(at / 2.0), 1e-6);
        } else {
          EXPECT_EQ(cells[axis][i], at > 0.0 ? 1 << 28 : -(1 << 28));
          EXPECT_GE(locals[axis][i], 0.0F);
          EXPECT_LE(locals[axis][i], 2.0F);
        }
      }
    }
  }
}

}  // namespace
}  // namespace voxloc::cpu
