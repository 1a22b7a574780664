// SPDX-License-Identifier: Apache-2.0
//
// The engine's float32 evaluations against brute force in double.

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "core/geometry/euler.h"
#include "tests/support/engine_test.h"
#include "tests/support/evaluation_comparison.h"
#include "tests/support/reference_ndt.h"

namespace voxloc {
namespace {

constexpr double kTolerance = 1e-5;

// One iteration, traced: its first record is the evaluation at the guess.
AlignResult EvaluateAt(Engine& engine, AlignJob job, const Stage& stage) {
  job.profile.stages = {stage};
  job.profile.stages[0].max_iterations = 1;
  job.with_trace = true;
  return AlignOne(engine, job);
}

void ExpectAccurate(Engine& engine, const AlignJob& job, const Stage& stage, double tolerance,
                    Deviations& largest) {
  const std::vector<MapCell> cells = AllCells(*job.map, stage.cells);
  const AlignResult result = EvaluateAt(engine, job, stage);
  ASSERT_TRUE(result.status.ok()) << result.status;
  ASSERT_EQ(result.trace.size(), 1u);
  const IterationTrace& at = result.trace[0];
  const reference::Evaluation expected =
      reference::Evaluate(cells, *job.scan, ChartFromPose(job.map_T_base_guess), stage);
  ExpectEvaluationsAgree(at.score, at.gradient, at.hessian, expected, tolerance, largest);

  // And after the step.
  const reference::Evaluation after =
      reference::Evaluate(cells, *job.scan, ChartFromPose(result.map_T_base), stage);
  ExpectEvaluationsAgree(result.after, result.gradient, result.hessian, after, tolerance, largest);
}

std::vector<Pose> Guesses() {
  return {ScenePose(), Displaced(ScenePose(), {0.4, -0.3, 0.1}, 0.03),
          Displaced(ScenePose(), {-1.0, 0.7, -0.2}, -0.1)};
}

class EvaluationAccuracyTest : public EngineTest {};
VOXLOC_INSTANTIATE_ON_ENGINES(EvaluationAccuracyTest);

TEST_P(EvaluationAccuracyTest, EveryStageAgreesWithBruteForceNearTheOriginAndFarFromIt) {
  for (const Eigen::Vector3d& origin :
       {Eigen::Vector3d(0, 0, 0), Eigen::Vector3d(4e5, 4e6, 100.0)}) {
    const auto map = LoadMap(engine(), {SceneMap({}, origin)}, AllStatistics());
    for (const Stage& stage : StagesOfBothProfiles()) {
      SCOPED_TRACE(ToString(stage.cells));
      Deviations largest;
      for (const Pose& guess : Guesses()) {
        AlignJob job = SceneJob(AutowareProfile());
        job.map = map;
        job.map_T_base_guess = guess;
        job.map_T_base_guess.translation += origin;
        ExpectAccurate(engine(), job, stage, kTolerance, largest);
      }
    }
  }
}

// Readers give a cloud an origin of its own where its coordinates are large.
TEST_P(EvaluationAccuracyTest, AScanWithAnOriginAgreesWithBruteForce) {
  const AlignJob plain = SceneJob(AutowareProfile());
  const Eigen::Vector3d origin(35.0, -20.0, 4.0);
  auto moved = std::make_shared<PointCloud>();
  moved->origin = origin;
  for (size_t i = 0; i < plain.scan->size(); ++i) {
    const Eigen::Vector3f offset = (plain.scan->Point(i) - origin).cast<float>();
    moved->PushBack(offset.x(), offset.y(), offset.z());
  }
  for (const Stage& stage : StagesOfBothProfiles()) {
    SCOPED_TRACE(ToString(stage.cells));
    Deviations largest;
    for (const Pose& guess : Guesses()) {
      AlignJob job = plain;
      job.scan = moved;
      job.map_T_base_guess = guess;
      ExpectAccurate(engine(), job, stage, kTolerance, largest);
      const AlignResult with_origin = EvaluateAt(engine(), job, stage);
      job.scan = plain.scan;
      const AlignResult without = EvaluateAt(engine(), job, stage);
      EXPECT_NEAR(with_origin.before.score, without.before.score, 1e-4 * without.before.score);
    }
  }
}

TEST_P(EvaluationAccuracyTest, AnyRotationAgreesWithBruteForce) {
  Deviations largest;
  for (const Eigen::Vector3d& angles :
       {Eigen::Vector3d(3.1, 0.1, -0.4), Eigen::Vector3d(-1.5, 1.2, 2.0),
        Eigen::Vector3d(0.4, -1.5, 3.1)}) {
    AlignJob job = SceneJob(AutowareProfile());
    ChartVector chart;
    chart << 1.0, -2.0, 3.0, angles;
    job.map_T_base_guess = PoseFromChart(chart);
    ExpectAccurate(engine(), job, AutowareProfile().stages[0], kTolerance, largest);
  }
}

TEST_P(EvaluationAccuracyTest, DirectSearchesCountNeighborsAsBruteForceDoes) {
  for (const NeighborSearch search : {NeighborSearch::kDirect1, NeighborSearch::kDirect7}) {
    for (Stage stage : {AutowareProfile().stages[0], PreciseProfile().stages.back()}) {
      stage.search = search;
      Deviations largest;
      for (const Pose& guess : Guesses()) {
        AlignJob job = SceneJob(AutowareProfile());
        job.map_T_base_guess = guess;
        ExpectAccurate(engine(), job, stage, kTolerance, largest);
      }
    }
  }
}

TEST_P(EvaluationAccuracyTest, TheOldPitchCurvatureAndTheShortcutAreTakenAsTheyAre) {
  Stage plain = AutowareProfile().stages[0];
  plain.small_angle_shortcut = false;
  Stage old_sign = plain;
  old_sign.exact_pitch_curvature = false;
  Stage shortcut = plain;
  shortcut.small_angle_shortcut = true;
  Deviations largest;
  for (const double angle : {9e-5, -9e-5, 0.2}) {
    AlignJob job = SceneJob(AutowareProfile());
    ChartVector chart;
    chart << 3.0, -2.0, 1.6, angle, angle, angle;
    job.map_T_base_guess = PoseFromChart(chart);
    for (const Stage& stage : {plain, old_sign, shortcut}) {
      ExpectAccurate(engine(), job, stage, kTolerance, largest);
    }
  }
}

// Float32 coordinates of 4e5 m come in steps of 3 cm: points land elsewhere, and the score shows
// it.
TEST_P(EvaluationAccuracyTest, TheFloatTransformRoundsAsFloat32MapCoordinatesDo) {
  const Eigen::Vector3d origin(4e5, -4e5, 0.0);
  Stage exact = PreciseProfile().stages.back();
  Stage rounded = exact;
  rounded.float_transform = true;
  AlignJob job = SceneJob(AutowareProfile());
  job.map = LoadMap(engine(), {SceneMap({}, origin)}, {exact.cells});
  job.map_T_base_guess.translation += origin;
  const std::vector<MapCell> cells = AllCells(*job.map, exact.cells);
  const ChartVector chart = ChartFromPose(job.map_T_base_guess);
  const double expected = reference::Evaluate(cells, *job.scan, chart, rounded).score;
  const double without = reference::Evaluate(cells, *job.scan, chart, exact).score;
  const double score = EvaluateAt(engine(), job, rounded).before.score;
  // A fused multiply-add may round single points to the neighbouring step.
  EXPECT_NEAR(score, expected, 0.1 * std::abs(expected - without));
  EXPECT_GT(std::abs(expected - without), 1e-4 * expected);
  EXPECT_NEAR(EvaluateAt(engine(), job, exact).before.score, without, kTolerance * without);
}

// Both Gaussians of a cell that two tiles share take part.
TEST_P(EvaluationAccuracyTest, CellsThatTilesShareCountOnceForEachTile) {
  const Stage stage = AutowareProfile().stages[0];
  const std::vector<PointCloud> tiles =
      CutIntoTiles(SceneMap(), 20, 20, {-31.0, -31.0}, {3.1, 3.1});
  AlignJob job = SceneJob(AutowareProfile());
  job.map = LoadMap(engine(), tiles, {stage.cells});
  Deviations largest;
  ExpectAccurate(engine(), job, stage, kTolerance, largest);
  const size_t whole = EvaluateAt(engine(), SceneJob(AutowareProfile()), stage).before.pairs;
  EXPECT_GT(EvaluateAt(engine(), job, stage).before.pairs, whole * 5 / 4);
}

}  // namespace
}  // namespace voxloc
