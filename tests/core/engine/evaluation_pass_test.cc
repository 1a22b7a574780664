// SPDX-License-Identifier: Apache-2.0
//
// What is evaluated once more at the end of an alignment: sums of groups against brute force in
// double, and scores of points against those of a scoring.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "core/engine/align.h"
#include "core/engine/search_rules.h"
#include "core/geometry/euler.h"
#include "core/ndt/chart_derivatives.h"
#include "tests/support/engine_test.h"
#include "tests/support/evaluation_comparison.h"
#include "tests/support/reference_ndt.h"
#include "tests/support/result_bits.h"

namespace voxloc {
namespace {

class EvaluationPassTest : public EngineTest {};
VOXLOC_INSTANTIATE_ON_ENGINES(EvaluationPassTest);

// Groups of 1, 2, 3, ... 40 points and one of all that are left but the last, in an order that has
// nothing to do with that of the points.
std::shared_ptr<const PointGroups> MixedGroups(size_t points) {
  auto groups = std::make_shared<PointGroups>();
  groups->places.resize(points);
  std::iota(groups->places.begin(), groups->places.end(), 0U);
  std::sort(groups->places.begin(), groups->places.end(), [points](uint32_t a, uint32_t b) {
    return a * 7919ULL % points < b * 7919ULL % points;
  });
  groups->places.pop_back();
  uint32_t end = 0;
  for (uint32_t size = 1; size <= 40; ++size) groups->ends.push_back(end += size);
  groups->ends.push_back(static_cast<uint32_t>(groups->places.size()));
  return groups;
}

PointCloud CloudOf(const PointCloud& cloud, const PointGroups& groups, size_t group) {
  PointCloud part;
  part.origin = cloud.origin;
  const uint32_t begin = group == 0 ? 0 : groups.ends[group - 1];
  for (uint32_t i = begin; i < groups.ends[group]; ++i) {
    const uint32_t place = groups.places[i];
    part.PushBack(cloud.x[place], cloud.y[place], cloud.z[place]);
  }
  return part;
}

void ExpectGroupsAgree(const std::vector<GroupSums>& sums, const AlignJob& job,
                       const EvaluationPass& pass, const Pose& map_T_base, Stage stage) {
  stage.curvature = Curvature::kExact;
  const PointCloud& cloud = pass.cloud != nullptr ? *pass.cloud : *job.scan;
  const std::vector<MapCell> cells = AllCells(*job.map, stage.cells);
  const ChartVector chart = ChartFromPose(map_T_base);
  ASSERT_EQ(sums.size(), pass.groups->ends.size());
  size_t matched = 0;
  for (size_t g = 0; g < sums.size(); ++g) {
    SCOPED_TRACE("group " + std::to_string(g));
    const PointCloud part = CloudOf(cloud, *pass.groups, g);
    const reference::Evaluation expected =
        reference::Evaluate(cells, part, chart, stage, ndt::kShellFraction);
    matched += expected.matched_points;
    const PoseScore score = ToPoseScore(sums[g].score, part.size());
    ndt::Derivatives derivatives;
    ndt::ToChart(sums[g].derivatives,
                 ndt::ComputeChartAxes(ndt::ComputeAngleTerms(chart[3], chart[4], chart[5])),
                 {/*second_order=*/true, /*exact_pitch_curvature=*/true}, derivatives);
    if (expected.pairs == 0) {
      EXPECT_EQ(score.pairs, 0U);
      EXPECT_EQ(score.score, 0.0);
      EXPECT_TRUE(ToEigen(derivatives.hessian.m).isZero(0.0));
      continue;
    }
    Deviations largest;
    ExpectEvaluationsAgree(score, ToEigen(derivatives.gradient), ToEigen(derivatives.hessian.m),
                           expected, 2e-5, largest);
  }
  EXPECT_GT(matched, cloud.size() / 2);
}

TEST_P(EvaluationPassTest, SumsOfGroupsAgreeWithBruteForceAtTheAnswer) {
  for (const Profile& profile : {AutowareProfile(), PreciseProfile()}) {
    SCOPED_TRACE(profile.name);
    AlignJob job = SceneJob(profile);
    job.map_T_base_guess = Displaced(ScenePose(), {0.3, -0.2, 0.05}, 0.02);
    EvaluationPass pass;
    pass.groups = MixedGroups(job.scan->size());
    job.passes = {pass, pass};
    job.passes[1].score_stage = true;
    const AlignResult result = AlignOne(engine(), job);
    ASSERT_TRUE(result.status.ok()) << result.status;
    ASSERT_EQ(result.passes.size(), 2U);
    const Stage& answer = profile.stages[static_cast<size_t>(result.stage)];
    ExpectGroupsAgree(result.passes[0].groups, job, pass, result.map_T_base, answer);
    ExpectGroupsAgree(result.passes[1].groups, job, pass, result.map_T_base,
                      profile.stages[profile.score_stage]);
    EXPECT_TRUE(result.passes[0].point_scores.empty());
  }
}

TEST_P(EvaluationPassTest, ScoresOfPointsAreThoseOfAScoring) {
  AlignJob job = SceneJob(PreciseProfile());
  job.map_T_base_guess = Displaced(ScenePose(), {0.3, -0.2, 0.05}, 0.02);
  // A cloud of its own, with a point that is not finite.
  auto other = std::make_shared<PointCloud>(SceneScan(ScenePose(), 333));
  other->x[17] = std::numeric_limits<float>::quiet_NaN();
  for (const bool own_cell_only : {false, true}) {
    for (const bool of_other : {false, true}) {
      EvaluationPass pass;
      pass.cloud = of_other ? other : nullptr;
      pass.score_stage = true;
      pass.own_cell_only = own_cell_only;
      pass.with_point_scores = true;
      job.passes.push_back(pass);
    }
  }
  const AlignResult result = AlignOne(engine(), job);
  ASSERT_TRUE(result.status.ok()) << result.status;
  for (size_t k = 0; k < 4; ++k) {
    SCOPED_TRACE("pass " + std::to_string(k));
    ScoreRequest request;
    request.map = job.map;
    request.scan = k % 2 == 1 ? other : job.scan;
    request.map_T_base = {result.map_T_base};
    request.stage = job.profile.stages[job.profile.score_stage];
    if (k >= 2) request.stage.search = NeighborSearch::kDirect1;
    request.with_point_scores = true;
    const auto scored = engine().Score(request);
    ASSERT_TRUE(scored.ok()) << scored.status();
    const std::vector<float>& scores = result.passes[k].point_scores;
    EXPECT_TRUE(result.passes[k].groups.empty());
    ASSERT_EQ(scores.size(), request.scan->size());
    for (size_t i = 0; i < scores.size(); ++i) {
      EXPECT_NEAR(scores[i], scored->point_scores[i], 1e-4F) << i;
    }
  }
  EXPECT_EQ(result.passes[1].point_scores[17], 0.0F);
}

TEST_P(EvaluationPassTest, GroupsScoreTheirPointsOnly) {
  AlignJob job = SceneJob(PreciseProfile());
  EvaluationPass pass;
  pass.with_point_scores = true;
  job.passes = {pass, pass};
  job.passes[1].groups = MixedGroups(job.scan->size());
  const AlignResult result = AlignOne(engine(), job);
  ASSERT_TRUE(result.status.ok()) << result.status;
  const std::vector<float>& all = result.passes[0].point_scores;
  std::vector<float> expected(all.size(), 0.0F);
  for (const uint32_t place : job.passes[1].groups->places) expected[place] = all[place];
  EXPECT_EQ(result.passes[1].point_scores, expected);
  EXPECT_NE(all, expected);
}

TEST_P(EvaluationPassTest, WithGroupsThatAreEmptyNoPointIsScored) {
  AlignJob job = SceneJob(PreciseProfile());
  EvaluationPass pass;
  pass.with_point_scores = true;
  pass.groups = std::make_shared<const PointGroups>();
  job.passes = {pass, pass};
  job.passes[1].groups = std::make_shared<const PointGroups>(PointGroups{{}, {0, 0}});
  const AlignResult result = AlignOne(engine(), job);
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_TRUE(result.passes[0].groups.empty());
  EXPECT_EQ(result.passes[1].groups.size(), 2U);
  for (const PassResult& of_none : result.passes) {
    EXPECT_EQ(of_none.point_scores, std::vector<float>(job.scan->size(), 0.0F));
  }
}

TEST_P(EvaluationPassTest, WithoutASearchTheyAreEvaluatedAtTheGuess) {
  AlignJob job = SceneJob(PreciseProfile());
  job.map_T_base_guess = Displaced(ScenePose(), {0.1, -0.05, 0.02}, 0.01);
  EvaluationPass pass;
  pass.groups = MixedGroups(job.scan->size());
  job.passes = {pass};
  job.passes_only = true;
  job.with_point_scores = true;
  const AlignResult result = AlignOne(engine(), job);
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_LE(TranslationDistance(result.map_T_base, job.map_T_base_guess), 1e-12);
  EXPECT_EQ(result.point_scores.size(), job.scan->size());
  ExpectGroupsAgree(result.passes[0].groups, job, pass, job.map_T_base_guess,
                    job.profile.stages.back());
}

TEST_P(EvaluationPassTest, TheBitsAreTheSameAloneAndInAnyBatch) {
  std::vector<AlignJob> jobs;
  std::vector<std::string> alone;
  for (size_t i = 0; i < 9; ++i) {
    AlignJob job = SceneJob(i % 2 == 0 ? PreciseProfile() : AutowareProfile());
    const double shift_m = 0.05 * static_cast<double>(i);
    job.map_T_base_guess = Displaced(ScenePose(), {shift_m, -0.1, 0.0}, 0.01);
    if (i % 3 > 0) {
      EvaluationPass pass;
      pass.groups = MixedGroups(job.scan->size());
      pass.with_point_scores = i % 3 == 1;
      job.passes = {pass};
    }
    job.passes_only = i == 7;
    if (!job.passes_only) {
      AlignJob plain = job;
      plain.passes.clear();
      EXPECT_EQ(AlignOne(engine(), plain).map_T_base.translation,
                AlignOne(engine(), job).map_T_base.translation);
    }
    alone.push_back(PassBits(AlignOne(engine(), job)));
    jobs.push_back(std::move(job));
  }
  for (size_t first = 0; first < jobs.size(); ++first) {
    const std::vector<AlignResult> results = engine().Align(jobs);
    for (size_t i = 0; i < jobs.size(); ++i) {
      EXPECT_TRUE(PassBits(results[i]) == alone[i]) << "place " << i;
    }
    std::rotate(jobs.begin(), jobs.begin() + 1, jobs.end());
    std::rotate(alone.begin(), alone.begin() + 1, alone.end());
  }
}

TEST_P(EvaluationPassTest, GroupsThatDoNotFitTheirCloudAreAnError) {
  const auto status_of = [&](const PointGroups& groups) {
    AlignJob job = SceneJob(PreciseProfile());
    auto scan = std::make_shared<PointCloud>(*job.scan);
    scan->y[3] = std::numeric_limits<float>::infinity();
    job.scan = scan;
    EvaluationPass pass;
    pass.groups = std::make_shared<const PointGroups>(groups);
    job.passes = {pass};
    return AlignOne(engine(), job).status;
  };
  EXPECT_TRUE(status_of({{0, 1, 2}, {1, 3}}).ok());
  EXPECT_TRUE(status_of({{}, {}}).ok());
  EXPECT_TRUE(status_of({{0}, {0, 1, 1}}).ok());
  const auto invalid = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(status_of({{0, 1, 2}, {1, 2}}).code(), invalid);
  EXPECT_EQ(status_of({{0, 1, 2}, {2, 1, 3}}).code(), invalid);
  EXPECT_EQ(status_of({{0, 1, 2}, {}}).code(), invalid);
  EXPECT_EQ(status_of({{0, 1500}, {2}}).code(), invalid);
  EXPECT_EQ(status_of({{0, 3}, {2}}).code(), invalid);
  EXPECT_EQ(status_of({{0}, std::vector<uint32_t>(kMaxPointGroups + 1, 1)}).code(), invalid);
  EXPECT_EQ(status_of({std::vector<uint32_t>(1501, 0), {1501}}).code(), invalid);
  // Points whose offsets are finite and which are not: engines would leave them out, and with them
  // the places that the groups name.
  for (const bool of_scan : {true, false}) {
    AlignJob job = SceneJob(PreciseProfile());
    auto cloud = std::make_shared<PointCloud>(*job.scan);
    cloud->origin.x() = 3e38;
    cloud->x.back() = 3e38F;
    EvaluationPass pass;
    pass.groups = std::make_shared<const PointGroups>(
        PointGroups{{static_cast<uint32_t>(cloud->size() - 1)}, {1}});
    (of_scan ? job.scan : pass.cloud) = cloud;
    job.passes = {pass};
    EXPECT_EQ(AlignOne(engine(), job).status.code(), invalid);
  }
  AlignJob job = SceneJob(PreciseProfile());
  job.passes.resize(kMaxPasses + 1);
  EXPECT_EQ(AlignOne(engine(), job).status.code(), invalid);
}

}  // namespace
}  // namespace voxloc
