// SPDX-License-Identifier: Apache-2.0
//
// A scan of the synthetic scene is found without a prior, in the whole map and in regions; and the
// search ends when it is told to.

#include "core/estimate/global_search/global_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/engine/cpu/cpu_engine.h"
#include "core/engine/replica/replicated_engine.h"
#include "core/geometry/euler.h"
#include "tests/core/engine/replica/replicated_scene.h"
#include "tests/core/estimate/global_search/deadline_engine.h"
#include "tests/support/class_recorder.h"
#include "tests/support/engine_test.h"
#include "tests/support/synthetic_scene.h"

namespace voxloc {
namespace {

constexpr size_t kCacheBytes = size_t{64} << 20;

PoseSearchJob JobOf(std::shared_ptr<const ResidentMap> map, const Pose& scene_T_base,
                    size_t points = 2000) {
  PoseSearchJob job;
  job.map = std::move(map);
  job.scan = std::make_shared<const PointCloud>(SceneScan(scene_T_base, points));
  job.profile = PreciseProfile();
  return job;
}

double YawOf(const Pose& pose) {
  const Eigen::Vector3d ahead = pose.rotation * Eigen::Vector3d::UnitX();
  return std::atan2(ahead.y(), ahead.x());
}

PoseRegion Around(const Pose& pose, double half_m, double yaw_half_range_rad) {
  PoseRegion region;
  const Eigen::Vector3d half = Eigen::Vector3d::Constant(half_m);
  region.box = PoseRegion::Box{pose.translation - half, pose.translation + half};
  region.yaw_rad = YawOf(pose);
  region.yaw_half_range_rad = yaw_half_range_rad;
  return region;
}

void ExpectAt(const Pose& truth, const absl::StatusOr<PoseSearchResult>& found) {
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_FALSE(found->ranked.hypotheses.empty());
  const Pose& best = found->ranked.hypotheses[0].result.map_T_base;
  EXPECT_LT(TranslationDistance(best, truth), 0.05);
  EXPECT_LT(RotationDistance(best, truth), 0.2 * kRadiansPerDegree);
}

void ExpectSame(const PoseSearchResult& a, const PoseSearchResult& b) {
  EXPECT_EQ(a.candidates_scored, b.candidates_scored);
  EXPECT_EQ(a.candidates_aligned, b.candidates_aligned);
  EXPECT_EQ(a.ranked.ambiguity_gap, b.ranked.ambiguity_gap);
  ASSERT_EQ(a.ranked.hypotheses.size(), b.ranked.hypotheses.size());
  for (size_t i = 0; i < a.ranked.hypotheses.size(); ++i) {
    const Pose& pose_a = a.ranked.hypotheses[i].result.map_T_base;
    const Pose& pose_b = b.ranked.hypotheses[i].result.map_T_base;
    EXPECT_EQ(pose_a.translation, pose_b.translation);
    EXPECT_EQ(pose_a.rotation.coeffs(), pose_b.rotation.coeffs());
  }
}

class GlobalSearchTest : public EngineTest {
 protected:
  static PoseSearchJob SceneSearchJob() { return JobOf(scene_map(), ScenePose()); }
};
VOXLOC_INSTANTIATE_ON_ENGINES(GlobalSearchTest);

TEST_P(GlobalSearchTest, FindsAScanInTheWholeMapWhateverItsHeading) {
  GlobalSearch search(engine(), kCacheBytes);
  for (const double turn_rad : {0.0, 1.9, 4.4}) {
    SCOPED_TRACE(turn_rad);
    const Pose truth = Displaced(ScenePose(), {-4.3, 6.2, 0.1}, turn_rad);
    const auto found = search.Search(JobOf(scene_map(), truth), PoseRegion(), nullptr);
    ExpectAt(truth, found);
    EXPECT_FALSE(found->timed_out);
    EXPECT_GT(found->candidates_scored, 10000u);
    EXPECT_GE(found->candidates_aligned, 1u);
  }
}

TEST_P(GlobalSearchTest, IsWorkOfASearch) {
  ClassRecorder recorder(engine());
  GlobalSearch search(recorder, kCacheBytes);
  const auto found =
      search.Search(SceneSearchJob(), Around(ScenePose(), 5.0, 20.0 * kRadiansPerDegree), nullptr);
  ExpectAt(ScenePose(), found);
  const RecordedClasses classes = recorder.Take();
  EXPECT_EQ(classes.bound, std::set<WorkClass>{WorkClass::kSearching});
  EXPECT_EQ(classes.align, std::set<WorkClass>{WorkClass::kSearching});
}

TEST_P(GlobalSearchTest, AnswersOnlyPosesOfTheRegion) {
  GlobalSearch search(engine(), kCacheBytes);
  // The truth lies in a corner of one, its heading near an end. The true place is outside of the
  // second, the true heading outside of the third.
  PoseRegion around = Around(ScenePose(), 5.0, 30.0 * kRadiansPerDegree);
  around.box->min += Eigen::Vector3d(4.0, -4.0, 0.0);
  around.box->max += Eigen::Vector3d(4.0, -4.0, 0.0);
  around.yaw_rad += 25.0 * kRadiansPerDegree;
  PoseRegion elsewhere = Around(ScenePose(), 5.0, M_PI);
  elsewhere.box->min.x() += 12.0;
  elsewhere.box->max.x() += 12.0;
  PoseRegion turned = Around(ScenePose(), 5.0, 30.0 * kRadiansPerDegree);
  turned.yaw_rad += 2.0;
  ExpectAt(ScenePose(), search.Search(SceneSearchJob(), around, nullptr));
  PoseRegion a_turn_on = around;  // the same headings
  a_turn_on.yaw_rad += 2.0 * M_PI;
  ExpectAt(ScenePose(), search.Search(SceneSearchJob(), a_turn_on, nullptr));
  for (const PoseRegion& region : {around, elsewhere, turned}) {
    const auto found = search.Search(SceneSearchJob(), region, nullptr);
    ASSERT_TRUE(found.ok()) << found.status();
    for (const PoseHypothesis& hypothesis : found->ranked.hypotheses) {
      const Pose& pose = hypothesis.result.map_T_base;
      EXPECT_TRUE((pose.translation.array() >= region.box->min.array() - 1.0).all());
      EXPECT_TRUE((pose.translation.array() <= region.box->max.array() + 1.0).all());
      EXPECT_LE(std::abs(WrapAngle(YawOf(pose) - region.yaw_rad)),
                region.yaw_half_range_rad + 3.0 * kRadiansPerDegree);
    }
  }
}

// Two copies of the scene side by side: nothing says which of them it is.
TEST_P(GlobalSearchTest, TwoPlacesAlikeAreAmbiguous) {
  const Eigen::Vector3d apart(200.0, 0.0, 0.0);
  const auto map = LoadMap(engine(), {SceneMap(), SceneMap({}, apart)}, AllStatistics());
  GlobalSearch search(engine(), kCacheBytes);
  const auto found = search.Search(JobOf(map, ScenePose()), PoseRegion(), nullptr);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(found->ranked.ambiguous);
  ASSERT_GE(found->ranked.hypotheses.size(), 2u);
  std::vector<double> x;
  for (size_t i = 0; i < 2; ++i) {
    x.push_back(found->ranked.hypotheses[i].result.map_T_base.translation.x());
  }
  std::sort(x.begin(), x.end());
  EXPECT_NEAR(x[0], ScenePose().translation.x(), 0.1);
  EXPECT_NEAR(x[1], ScenePose().translation.x() + apart.x(), 0.1);
}

TEST_P(GlobalSearchTest, TellsHowFarItIs) {
  GlobalSearch search(engine(), kCacheBytes);
  std::vector<PoseSearchPhase> phases;
  double fraction = 0.0;
  size_t particles = 0;
  const auto found =
      search.Search(SceneSearchJob(), PoseRegion(), [&](const PoseSearchProgress& progress) {
        EXPECT_GE(progress.fraction, fraction);
        fraction = progress.fraction;
        particles += progress.particles.size();
        if (phases.empty() || phases.back() != progress.phase) phases.push_back(progress.phase);
      });
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(phases,
            (std::vector<PoseSearchPhase>{PoseSearchPhase::kPreparing, PoseSearchPhase::kSearching,
                                          PoseSearchPhase::kAligning, PoseSearchPhase::kRanking}));
  EXPECT_EQ(fraction, 1.0);
  EXPECT_EQ(particles, found->candidates_aligned);
}

TEST_P(GlobalSearchTest, LeavesFoundBeforeADeadlineOnTheWayAreAligned) {
  const PoseSearchJob job = SceneSearchJob();
  DeadlineEngine unhurried(engine());
  const auto complete = GlobalSearch(unhurried, kCacheBytes).Search(job, PoseRegion(), nullptr);
  ASSERT_TRUE(complete.ok()) << complete.status();
  EXPECT_FALSE(complete->timed_out);
  // All calls but the last one.
  DeadlineEngine hurried(engine());
  hurried.bounds_in_time = unhurried.bounds - 1;
  const auto found = GlobalSearch(hurried, kCacheBytes).Search(job, PoseRegion(), nullptr);
  ASSERT_TRUE(found.ok()) << found.status();
  ExpectAt(ScenePose(), found);
  EXPECT_TRUE(found->timed_out);
  EXPECT_EQ(found->candidates_scored, hurried.nodes);
  EXPECT_LT(found->candidates_scored, complete->candidates_scored);
  EXPECT_GE(found->candidates_aligned, 1u);
}

TEST_P(GlobalSearchTest, ADeadlineBeforeTheFirstLeafGivesNothingAndIsNoError) {
  for (const bool before_the_search : {true, false}) {
    DeadlineEngine hurried(engine());
    hurried.bounds_in_time = 1;
    PoseSearchJob job = SceneSearchJob();
    if (before_the_search) job.stop.deadline = absl::InfinitePast();
    const auto found = GlobalSearch(hurried, kCacheBytes).Search(job, PoseRegion(), nullptr);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_TRUE(found->timed_out);
    if (!before_the_search) {
      EXPECT_EQ(found->candidates_scored, hurried.nodes);
    }
    EXPECT_EQ(found->candidates_aligned, 0u);
    EXPECT_TRUE(found->ranked.hypotheses.empty());
    EXPECT_FALSE(found->reliable);
  }
}

TEST_P(GlobalSearchTest, ADeadlineAmongTheAlignmentsLeavesThePosesReachedUntilThen) {
  constexpr size_t kFew = 2000;   // all of them align the candidates
  constexpr size_t kMany = 6000;  // the candidates are aligned with fewer, the best ones once more
  const struct {
    size_t points;
    size_t aligns_in_time;
    bool timed_out;
    double within_m;  // of the truth: where the leaf is, or after an alignment
  } rows[] = {{kFew, 0, true, 2.0},
              {kFew, 1, false, 0.05},
              {kMany, 0, true, 2.0},
              {kMany, 1, true, 0.05},
              {kMany, 2, false, 0.05}};
  for (const auto& row : rows) {
    SCOPED_TRACE(absl::StrCat(row.points, " points, ", row.aligns_in_time, " in time"));
    DeadlineEngine hurried(engine());
    hurried.aligns_in_time = row.aligns_in_time;
    const PoseSearchJob job = JobOf(scene_map(), ScenePose(), row.points);
    const auto found = GlobalSearch(hurried, kCacheBytes).Search(job, PoseRegion(), nullptr);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(hurried.aligns, row.aligns_in_time);
    EXPECT_EQ(found->timed_out, row.timed_out);
    ASSERT_FALSE(found->ranked.hypotheses.empty());
    const Pose& best = found->ranked.hypotheses[0].result.map_T_base;
    EXPECT_LT(TranslationDistance(best, ScenePose()), row.within_m);
  }
}

TEST_P(GlobalSearchTest, EndsWhenCancelledInAnyPhase) {
  GlobalSearch search(engine(), kCacheBytes);
  for (const PoseSearchPhase phase :
       {PoseSearchPhase::kPreparing, PoseSearchPhase::kSearching, PoseSearchPhase::kAligning}) {
    auto cancelled = std::make_shared<std::atomic<bool>>(false);
    PoseSearchJob job = SceneSearchJob();
    job.stop.cancelled = cancelled;
    const auto found = search.Search(job, PoseRegion(), [&](const PoseSearchProgress& progress) {
      if (progress.phase == phase) *cancelled = true;
    });
    EXPECT_EQ(found.status().code(), absl::StatusCode::kCancelled);
  }
}

TEST_P(GlobalSearchTest, BadQuestionsSayWhatIsWrong) {
  GlobalSearch search(engine(), kCacheBytes);
  PoseRegion beside = Around(ScenePose(), 5.0, M_PI);
  PoseRegion above = beside;
  for (Eigen::Vector3d* corner : {&beside.box->min, &beside.box->max}) corner->x() += 500.0;
  for (Eigen::Vector3d* corner : {&above.box->min, &above.box->max}) corner->z() += 500.0;
  const struct {
    std::function<void(PoseSearchJob&, PoseRegion&)> spoil;
    const char* text;
  } rows[] = {
      {[&](auto&, auto& region) { region = beside; }, "does not touch the map"},
      {[&](auto&, auto& region) { region = above; }, "does not touch the map"},
      {[](auto&, auto& region) { region = Around(ScenePose(), -1.0, M_PI); }, "the region's x"},
      {[](auto&, auto& region) { region.yaw_half_range_rad = 0.0; },
       "yaw_half_range_rad must be over 0"},
      {[](auto&, auto& region) { region.yaw_rad = NAN; }, "yaw_rad"},
      {[](auto&, auto& region) { region.max_tilt_rad = 0.6; }, "(got 0.6)"},
      {[](auto& job, auto&) { job.map = nullptr; }, "no map"},
      {[](auto& job, auto&) { job.scan = std::make_shared<const PointCloud>(); }, "no points"},
      {[](auto& job, auto&) { job.hypotheses.max_hypotheses = 0; }, "max_hypotheses"},
  };
  for (const auto& row : rows) {
    PoseSearchJob job = SceneSearchJob();
    PoseRegion region;
    row.spoil(job, region);
    const absl::Status status = search.Search(job, region, nullptr).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_NE(std::string(status.message()).find(row.text), std::string::npos) << status;
  }
}

TEST_P(GlobalSearchTest, AMapTooLargeSaysWhatIsAllowedAndARegionOfItIsSearched) {
  constexpr size_t kLittle = size_t{6} << 20;
  const auto map = LoadMap(engine(), {SceneMap(), SceneMap({}, Eigen::Vector3d(900.0, 0.0, 0.0))},
                           AllStatistics());
  GlobalSearch search(engine(), kLittle);
  const PoseSearchJob job = JobOf(map, ScenePose());
  const auto whole = search.Search(job, PoseRegion(), nullptr);
  EXPECT_EQ(whole.status().code(), absl::StatusCode::kInvalidArgument) << whole.status();
  EXPECT_NE(std::string(whole.status().message()).find("smaller region"), std::string::npos);
  ExpectAt(ScenePose(), search.Search(job, Around(ScenePose(), 8.0, M_PI), nullptr));
}

PoseSearchResult ExpectedResult(const PoseSearchJob& job) {
  const auto found =
      GlobalSearch(*SharedScene().engine, kCacheBytes).Search(job, PoseRegion(), nullptr);
  EXPECT_TRUE(found.ok()) << found.status();
  return found.value_or(PoseSearchResult());
}

TEST(CpuGlobalSearchTest, IsTheSameWithAnyNumberOfThreadsAndEngines) {
  const PoseSearchJob job = JobOf(SharedScene().map, ScenePose());
  const PoseSearchResult expected = ExpectedResult(job);
  std::vector<std::unique_ptr<Engine>> replicas;
  for (const size_t threads : {1, 3}) replicas.push_back(MakeCpuEngine({threads}));
  std::vector<std::unique_ptr<Engine>> engines;
  engines.push_back(MakeCpuEngine({1}));
  engines.push_back(*MakeReplicatedEngine(std::move(replicas)));
  for (const std::unique_ptr<Engine>& engine : engines) {
    PoseSearchJob job_there = job;
    job_there.map = LoadMap(*engine, {SceneMap()}, AllStatistics());
    const auto found = GlobalSearch(*engine, kCacheBytes).Search(job_there, PoseRegion(), nullptr);
    ASSERT_TRUE(found.ok()) << found.status();
    ExpectSame(*found, expected);
  }
}

TEST(CpuGlobalSearchTest, IsTheSameWhenAnEngineOfSeveralFailsOnTheWay) {
  const PoseSearchJob job = JobOf(SharedScene().map, ScenePose());
  const PoseSearchResult expected = ExpectedResult(job);
  for (const auto fault : {&Faults::fail_in_bound, &Faults::fail_in_align}) {
    const Fleet fleet = MakeEmptyFleet(2);
    PoseSearchJob job_there = job;
    job_there.map = LoadMap(*fleet.engine, {SceneMap()}, AllStatistics());
    GlobalSearch search(*fleet.engine, kCacheBytes);
    (*fleet.faults[0]).*fault = true;
    // The second search is for the other engine alone, with the same grid.
    for (int i = 0; i < 2; ++i) {
      const auto found = search.Search(job_there, PoseRegion(), nullptr);
      ASSERT_TRUE(found.ok()) << found.status();
      EXPECT_TRUE(fleet.faults[0]->failed);
      ExpectSame(*found, expected);
    }
    fleet.faults[1]->failed = true;
    EXPECT_EQ(search.Search(job_there, PoseRegion(), nullptr).status().code(),
              absl::StatusCode::kUnavailable);
  }
}

}  // namespace
}  // namespace voxloc
