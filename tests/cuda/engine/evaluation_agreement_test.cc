// SPDX-License-Identifier: Apache-2.0
//
// Single evaluations on the device against the CPU engine and against brute force in double: every
// data set, every stage of both profiles, near the map's zero and far from it.

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/geometry/euler.h"
#include "tests/cuda/engine/agreement.h"
#include "tests/cuda/engine/data_sets.h"
#include "tests/cuda/engine/engine_pair.h"
#include "tests/cuda/engine/near_reference.h"

namespace voxloc {
namespace {

constexpr double kTolerance = 1e-5;

// One iteration of one stage, traced: its first record is the evaluation at the guess.
AlignJob EvaluationJob(const std::shared_ptr<const PointCloud>& scan, const Pose& guess,
                       const Stage& stage) {
  AlignJob job;
  job.scan = scan;
  job.map_T_base_guess = guess;
  job.profile.stages = {stage};
  job.profile.stages[0].max_iterations = 1;
  job.with_trace = true;
  return job;
}

class Comparison {
 public:
  // The result's first evaluation, at the job's guess, and the one after its step.
  void Add(const std::string& where, const AlignResult& cuda, const AlignResult& cpu,
           const reference::NearReference& brute_force, const AlignJob& job) {
    const Stage& stage = job.profile.stages[0];
    ASSERT_TRUE(cuda.status.ok()) << where << ": " << cuda.status;
    ASSERT_TRUE(cpu.status.ok()) << where << ": " << cpu.status;
    ASSERT_EQ(cuda.trace.size(), cpu.trace.size()) << where;
    if (cpu.trace.empty()) return;
    const IterationTrace& at = cuda.trace[0];
    AddOne(absl::StrCat(where, ", guess"), at.score, FromEngine(at.score, at.gradient, at.hessian),
           &cpu.trace[0],
           brute_force.Evaluate(*job.scan, ChartFromPose(job.map_T_base_guess), stage));
    // The two engines end at slightly different poses: only brute force can be had at both.
    AddOne(absl::StrCat(where, ", after"), cuda.after,
           FromEngine(cuda.after, cuda.gradient, cuda.hessian), nullptr,
           brute_force.Evaluate(*job.scan, ChartFromPose(cuda.map_T_base), stage));
  }

  void ExpectAgreement(const std::string& what) const {
    std::cout << what << ": " << compared_ << " compared, " << undecided_
              << " with a pair on the search radius\n  from double: " << from_double_
              << "\n  from cpu:    " << from_cpu_ << std::endl;
    from_double_.ExpectWithin(kTolerance);
    from_cpu_.ExpectWithin(kTolerance);
    // Seldom: no pose of the sets has one so far.
    EXPECT_GE(compared_, 9 * undecided_) << what;
  }
  size_t compared() const { return compared_; }

 private:
  // `cpu` is null where the CPU engine has not been there.
  void AddOne(const std::string& where, const PoseScore& counts, const Evaluated& cuda,
              const IterationTrace* cpu, const reference::Evaluation& expected) {
    EXPECT_EQ(counts.points, expected.points) << where;
    const auto undecided = static_cast<double>(expected.undecided_pairs);
    EXPECT_NEAR(static_cast<double>(counts.pairs), static_cast<double>(expected.pairs), undecided)
        << where;
    EXPECT_NEAR(static_cast<double>(counts.matched_points),
                static_cast<double>(expected.matched_points), undecided)
        << where;
    const auto same_pairs = [&](const auto& other) {
      return counts.pairs == other.pairs && counts.matched_points == other.matched_points;
    };
    // Where a pair is so near to the search radius that float32 cannot tell, sums may differ by it.
    if (same_pairs(expected)) {
      ++compared_;
      reference::Evaluation magnitudes = expected;
      magnitudes.gradient_magnitude = expected.gradient_terms;
      from_double_.Add(where, cuda, FromReference(expected), magnitudes);
    } else {
      ++undecided_;
    }
    if (cpu != nullptr && same_pairs(cpu->score)) {
      from_cpu_.Add(where, cuda, FromEngine(cpu->score, cpu->gradient, cpu->hessian), expected);
    }
  }

  Disagreement from_double_;
  Disagreement from_cpu_;
  size_t compared_ = 0;
  size_t undecided_ = 0;
};

class CudaEvaluationTest : public CudaEngineTest,
                           public ::testing::WithParamInterface<std::string> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CudaEvaluationTest);

TEST_P(CudaEvaluationTest, AgreesWithTheCpuEngineAndWithDouble) {
  const auto set = LoadDataSet(GetParam());
  if (!set.ok()) GTEST_SKIP() << set.status().message();
  for (const Eigen::Vector3d& offset :
       {Eigen::Vector3d(0, 0, 0), Eigen::Vector3d(4e5, 4e6, 100.0)}) {
    const DataSet moved = Moved(*set, offset);
    const MapPair maps = LoadMapPair(moved.tiles, AllStatistics());
    if (maps.cpu == nullptr || maps.cuda == nullptr) continue;
    const PlacedScan& scan = moved.scans[0];
    const std::vector<Pose> guesses = {scan.map_T_base,
                                       Displaced(scan.map_T_base, {0.21, -0.13, 0.04}, 0.011),
                                       Displaced(scan.map_T_base, {-0.6, 0.5, -0.2}, -0.06)};
    size_t compared = 0;
    for (const Stage& stage : StagesOfBothProfiles()) {
      const std::string what =
          absl::StrCat(GetParam(), ", offset ", offset.y(), ", ", ToString(stage.cells),
                       stage.curvature == Curvature::kExact ? ", exact" : ", reweighted");
      SCOPED_TRACE(what);
      std::vector<AlignJob> jobs;
      for (const Pose& guess : guesses) jobs.push_back(EvaluationJob(scan.cloud, guess, stage));
      const ResultPair results = AlignOnBoth(jobs, maps);
      const reference::NearReference brute_force(AllCells(*maps.cpu, stage.cells),
                                                 stage.cells.cell_size_m);
      Comparison comparison;
      for (size_t i = 0; i < jobs.size(); ++i) {
        comparison.Add(absl::StrCat("guess ", i), results.cuda[i], results.cpu[i], brute_force,
                       jobs[i]);
      }
      comparison.ExpectAgreement(what);
      compared += comparison.compared();
    }
    EXPECT_GT(compared, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(, CudaEvaluationTest, ::testing::ValuesIn(DataSetNames()),
                         [](const auto& set) { return set.param; });
INSTANTIATE_TEST_SUITE_P(Golden, CudaEvaluationTest, ::testing::ValuesIn(GoldenDataSetNames()),
                         [](const auto& set) { return set.param; });

// What profiles may change, each on the synthetic scene.
class CudaOptionTest : public CudaEngineTest {
 protected:
  static void ExpectAgreement(const std::string& what, const Stage& stage,
                              const std::vector<Pose>& guesses,
                              const MapPair& maps = SceneMapPair()) {
    const auto scan = SceneJob(AutowareProfile()).scan;
    std::vector<AlignJob> jobs;
    for (const Pose& guess : guesses) jobs.push_back(EvaluationJob(scan, guess, stage));
    const ResultPair results = AlignOnBoth(jobs, maps);
    const reference::NearReference brute_force(AllCells(*maps.cpu, stage.cells),
                                               stage.cells.cell_size_m);
    Comparison comparison;
    for (size_t i = 0; i < jobs.size(); ++i) {
      comparison.Add(absl::StrCat("guess ", i), results.cuda[i], results.cpu[i], brute_force,
                     jobs[i]);
    }
    comparison.ExpectAgreement(what);
    EXPECT_GT(comparison.compared(), 0u) << what;
  }

  static std::vector<Pose> Guesses() {
    return {ScenePose(), Displaced(ScenePose(), {0.4, -0.3, 0.1}, 0.03),
            Displaced(ScenePose(), {-1.0, 0.7, -0.2}, -0.1)};
  }
};

TEST_F(CudaOptionTest, DirectSearches) {
  for (const NeighborSearch search : {NeighborSearch::kDirect1, NeighborSearch::kDirect7}) {
    for (Stage stage : StagesOfBothProfiles()) {
      stage.search = search;
      ExpectAgreement(absl::StrCat(search == NeighborSearch::kDirect1 ? "direct1, " : "direct7, ",
                                   ToString(stage.cells)),
                      stage, Guesses());
    }
  }
}

TEST_F(CudaOptionTest, DirectSearchesWithSeveralGaussiansInACell) {
  const Stage autoware = AutowareProfile().stages[0];
  const MapPair maps =
      LoadMapPair(CutIntoTiles(SceneMap(), 20, 20, {-31.0, -31.0}, {3.1, 3.1}), {autoware.cells});
  for (const NeighborSearch search :
       {NeighborSearch::kRadius, NeighborSearch::kDirect1, NeighborSearch::kDirect7}) {
    Stage stage = autoware;
    stage.search = search;
    ExpectAgreement(absl::StrCat("tiles not merged, search ", static_cast<int>(search)), stage,
                    Guesses(), maps);
  }
}

TEST_F(CudaOptionTest, TheOldPitchCurvatureAndTheShortcut) {
  Stage plain = AutowareProfile().stages[0];
  plain.small_angle_shortcut = false;
  Stage old_sign = plain;
  old_sign.exact_pitch_curvature = false;
  Stage shortcut = plain;
  shortcut.small_angle_shortcut = true;
  std::vector<Pose> guesses;
  for (const double angle : {9e-5, -9e-5, 0.2}) {
    ChartVector chart;
    chart << 3.0, -2.0, 1.6, angle, angle, angle;
    guesses.push_back(PoseFromChart(chart));
  }
  ExpectAgreement("plain", plain, guesses);
  ExpectAgreement("old pitch curvature", old_sign, guesses);
  ExpectAgreement("small-angle shortcut", shortcut, guesses);
}

TEST_F(CudaOptionTest, AnyRotation) {
  std::vector<Pose> guesses;
  for (const Eigen::Vector3d& angles :
       {Eigen::Vector3d(3.1, 0.1, -0.4), Eigen::Vector3d(-1.5, 1.2, 2.0),
        Eigen::Vector3d(0.4, -1.5, 3.1)}) {
    ChartVector chart;
    chart << 1.0, -2.0, 3.0, angles;
    guesses.push_back(PoseFromChart(chart));
  }
  for (const Stage& stage : {AutowareProfile().stages[0], PreciseProfile().stages[2]}) {
    ExpectAgreement(absl::StrCat("any rotation, ", ToString(stage.cells)), stage, guesses);
  }
}

// Near the map's zero float32 coordinates are fine enough for the usual tolerance.
TEST_F(CudaOptionTest, TheFloatTransformNearTheOrigin) {
  Stage stage = AutowareProfile().stages[0];
  stage.float_transform = true;
  ExpectAgreement("float transform", stage, Guesses());
}

// Far from it they come in steps of 3 cm: points land elsewhere, and the score shows it. A fused
// multiply-add may round single points to the neighbouring step.
TEST_F(CudaOptionTest, TheFloatTransformFarFromTheOrigin) {
  const Eigen::Vector3d origin(4e5, -4e5, 0.0);
  const Stage exact = PreciseProfile().stages.back();
  Stage rounded = exact;
  rounded.float_transform = true;
  const MapPair maps = LoadMapPair({SceneMap({}, origin)}, {exact.cells});
  Pose guess = ScenePose();
  guess.translation += origin;
  const auto scan = SceneJob(AutowareProfile()).scan;
  const ResultPair results =
      AlignOnBoth({EvaluationJob(scan, guess, exact), EvaluationJob(scan, guess, rounded)}, maps);
  for (const auto& result : results.cuda) ASSERT_TRUE(result.status.ok()) << result.status;
  const double without = results.cpu[0].before.score;
  const double expected = results.cpu[1].before.score;
  const double score = results.cuda[1].before.score;
  std::cout << "exact " << without << ", rounded " << expected << ", on the device " << score
            << std::endl;
  EXPECT_GT(std::abs(expected - without), 1e-4 * expected);
  EXPECT_NEAR(score, expected, 0.1 * std::abs(expected - without));
  EXPECT_NEAR(results.cuda[0].before.score, without, kTolerance * without);
}

TEST_F(CudaOptionTest, ARegularisationAddsWhatItAddsOnTheCpu) {
  for (const bool in_score : {false, true}) {
    for (const double scale : {0.01, 3.0}) {
      AlignJob job = EvaluationJob(SceneJob(AutowareProfile()).scan, Guesses()[1],
                                   AutowareProfile().stages[0]);
      job.profile.score_includes_regularization = in_score;
      job.profile.regularization_scale = scale;
      AlignJob pulled = job;
      pulled.regularization_position_map = ScenePose().translation + Eigen::Vector3d(0.7, -0.4, 9);
      const ResultPair results = AlignOnBoth({job, pulled}, SceneMapPair());
      for (const AlignResult& result : results.cuda) {
        ASSERT_TRUE(result.status.ok()) << result.status;
        ASSERT_EQ(result.trace.size(), 1u);
      }
      const IterationTrace& cuda = results.cuda[1].trace[0];
      const IterationTrace& cpu = results.cpu[1].trace[0];
      const IterationTrace& plain = results.cpu[0].trace[0];
      reference::Evaluation magnitudes =
          reference::NearReference(AllCells(*SceneMapPair().cpu, job.profile.stages[0].cells), 2.0)
              .Evaluate(*job.scan, ChartFromPose(job.map_T_base_guess), job.profile.stages[0]);
      magnitudes.gradient_magnitude += (cpu.gradient - plain.gradient).cwiseAbs();
      magnitudes.hessian_magnitude += (cpu.hessian - plain.hessian).cwiseAbs();
      Disagreement disagreement;
      disagreement.Add(absl::StrCat("scale ", scale),
                       FromEngine(cuda.score, cuda.gradient, cuda.hessian),
                       FromEngine(cpu.score, cpu.gradient, cpu.hessian), magnitudes);
      disagreement.ExpectWithin(kTolerance);
      EXPECT_GT((cpu.gradient - plain.gradient).norm(), 1.0);
      EXPECT_EQ(cpu.score.score != plain.score.score, in_score);
      std::cout << "regularisation of " << scale << ": " << disagreement << std::endl;
    }
  }
}

class CudaScanLengthTest : public CudaEngineTest {};

// Chunks that are full, one short of full, and one over.
TEST_F(CudaScanLengthTest, ScansOfEveryLengthAreAlignedAsOnTheCpu) {
  const PointCloud all = SceneScan(ScenePose(), 5000);
  std::vector<AlignJob> jobs;
  for (const size_t points : {3,   31,  32,  33,  63,  64,   65,   127,  128,  129,
                              255, 257, 511, 512, 513, 1023, 1025, 4095, 4096, 4097}) {
    auto scan = std::make_shared<PointCloud>();
    for (size_t i = 0; i < points; ++i) scan->PushBack(all.x[i], all.y[i], all.z[i]);
    AlignJob job = SceneJob(AutowareProfile());
    job.scan = scan;
    job.profile.stages[0].max_iterations = 1;
    jobs.push_back(job);
  }
  const ResultPair results = AlignOnBoth(jobs, SceneMapPair());
  for (size_t i = 0; i < jobs.size(); ++i) {
    SCOPED_TRACE(jobs[i].scan->size());
    ASSERT_TRUE(results.cuda[i].status.ok()) << results.cuda[i].status;
    EXPECT_EQ(results.cuda[i].before.points, jobs[i].scan->size());
    EXPECT_EQ(results.cuda[i].before.pairs, results.cpu[i].before.pairs);
    EXPECT_NEAR(results.cuda[i].before.score, results.cpu[i].before.score,
                1e-5 * results.cpu[i].before.score);
  }
}

}  // namespace
}  // namespace voxloc
