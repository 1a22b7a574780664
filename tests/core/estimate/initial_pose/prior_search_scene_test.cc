// SPDX-License-Identifier: Apache-2.0
//
// The search around a prior, in scenes with a known answer.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/cloud/filters.h"
#include "core/engine/cpu/cpu_engine.h"
#include "core/estimate/initial_pose/prior_search.h"
#include "core/geometry/euler.h"
#include "tests/support/class_recorder.h"
#include "tests/support/engine_test.h"
#include "tests/support/random_numbers.h"
#include "tests/support/result_bits.h"

namespace voxloc {
namespace {

std::shared_ptr<const PointCloud> Shared(PointCloud cloud) {
  return std::make_shared<const PointCloud>(std::move(cloud));
}

// Autoware's test scene: three planes of 20 m that meet in a corner, a point every 0.2 m.
PointCloud HalfCube() {
  PointCloud cloud;
  for (int i = 0; i <= 100; ++i) {
    for (int j = 0; j <= 100; ++j) {
      const float u = 0.2F * static_cast<float>(i);
      const float v = 0.2F * static_cast<float>(j);
      cloud.PushBack(u, v, 0.0F);
      cloud.PushBack(0.0F, u, v);
      cloud.PushBack(v, 0.0F, u);
    }
  }
  return cloud;
}

class HalfCubeTest : public EngineTest {
 protected:
  void SetUp() override {
    PointCloud map = HalfCube();
    for (float& x : map.x) x += 100.0F;
    for (float& y : map.y) y += 100.0F;
    ASSERT_EQ(map.size(), 30603u);
    job_.profile = AutowareProfile();
    job_.map = LoadMap(engine(), {map}, RequiredStatistics({job_.profile}));
    auto scan = VoxelDownsample(HalfCube(), 1.0);
    ASSERT_TRUE(scan.ok());
    job_.scan = Shared(*std::move(scan));
    options_.covariance = Matrix6::Zero();
    options_.covariance.diagonal() << 0.25, 0.25, 0.0025, 0.000685389, 0.000685389, 0.0685389;
    options_.particles = 100;
    options_.startup_trials = 100;
  }

  PoseSearchJob job_;
  PriorSearchOptions options_;
};
VOXLOC_INSTANTIATE_ON_ENGINES(HalfCubeTest);

TEST_P(HalfCubeTest, FindsNothingWhereThereIsNoMapAndThenTheCorner) {
  options_.map_T_base.translation = {-100.0, -100.0, 0.0};
  for (const size_t startup_trials : {20, 100}) {
    options_.startup_trials = startup_trials;
    const auto outside = SearchAroundPrior(engine(), job_, options_, nullptr);
    ASSERT_TRUE(outside.ok()) << outside.status();
    EXPECT_TRUE(outside->ranked.hypotheses.empty());
    EXPECT_FALSE(outside->reliable);
    EXPECT_EQ(outside->candidates_aligned, 100u);
  }

  options_.map_T_base.translation = {100.0, 100.0, 0.0};
  ClassRecorder recorder(engine());
  const auto found = SearchAroundPrior(recorder, job_, options_, nullptr);
  EXPECT_EQ(recorder.Take().align, std::set<WorkClass>{WorkClass::kSearching});
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_FALSE(found->ranked.hypotheses.empty());
  const Pose& best = found->ranked.hypotheses[0].result.map_T_base;
  EXPECT_LT((best.translation - Eigen::Vector3d(100.0, 100.0, 0.0)).norm(), 2.0);
}

TEST_P(HalfCubeTest, APriorOfTheWholeUniverseIsNoCrash) {
  options_.covariance.diagonal().head<3>().setConstant(1e300);
  options_.startup_trials = 50;
  const auto found = SearchAroundPrior(engine(), job_, options_, nullptr);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(found->ranked.hypotheses.empty());
}

TEST_P(HalfCubeTest, SaysWhatIsWrongWithTheJob) {
  const auto code = [this] {
    return SearchAroundPrior(engine(), job_, options_, nullptr).status().code();
  };
  options_.map_T_base.translation = {100.0, 100.0, 0.0};
  for (const auto& scan : {std::shared_ptr<const PointCloud>(), Shared(PointCloud())}) {
    job_.scan = scan;
    EXPECT_EQ(code(), absl::StatusCode::kInvalidArgument);
  }
  job_.scan = Shared(HalfCube());
  job_.profile = PreciseProfile();
  EXPECT_EQ(code(), absl::StatusCode::kFailedPrecondition);
}

PoseSearchJob SearchJobOf(const AlignJob& aligned) {
  PoseSearchJob job;
  job.map = aligned.map;
  job.scan = aligned.scan;
  job.profile = aligned.profile;
  return job;
}

// Metres off in a street, and it knows nothing of the heading.
PriorSearchOptions StreetPrior() {
  PriorSearchOptions options;
  options.map_T_base = Displaced(ScenePose(), {2.0, -1.5, 0.1}, 2.0);
  options.covariance.diagonal() << 4.0, 4.0, 0.01, 1e-3, 1e-3, 1.0;
  options.particles = 120;
  options.startup_trials = 60;
  return options;
}

// A hall of 24 m by 14 m: bare, it looks the same from opposite places.
PointCloud Hall(bool with_partition, double noise_m, uint64_t seed, int points) {
  RandomNumbers random(seed);
  PointCloud cloud;
  const auto add = [&](double x, double y, double z) {
    cloud.PushBack(static_cast<float>(x + noise_m * random.Normal()),
                   static_cast<float>(y + noise_m * random.Normal()),
                   static_cast<float>(z + noise_m * random.Normal()));
  };
  for (int i = 0; i < points; ++i) {
    const double z = random.Uniform(0.0, 5.0);
    const double side = random.Index(2) == 0 ? -1.0 : 1.0;
    add(random.Uniform(-12.0, 12.0), random.Uniform(-7.0, 7.0), 0.0);
    add(random.Uniform(-12.0, 12.0), 7.0 * side, z);
    add(12.0 * side, random.Uniform(-7.0, 7.0), z);
    if (with_partition) add(random.Uniform(2.0, 10.0), 3.0, z);
  }
  return cloud;
}

class PriorSearchSceneTest : public EngineTest {
 protected:
  static PoseSearchJob StreetJob() { return SearchJobOf(SceneJob(AutowareProfile())); }

  static PoseSearchResult SearchHall(bool with_partition, const Pose& map_T_base) {
    PoseSearchJob job;
    job.profile = AutowareProfile();
    job.map = LoadMap(engine(), {Hall(with_partition, 0.01, 1, 20'000)},
                      RequiredStatistics({job.profile}));
    job.scan = Shared(Transform(map_T_base.Inverse(), Hall(with_partition, 0.01, 2, 350)));
    PriorSearchOptions options;
    options.map_T_base.translation = {0.0, 0.0, 1.5};
    options.covariance.diagonal() << 4.0, 4.0, 0.01, 1e-4, 1e-4, 1.0;
    const auto found = SearchAroundPrior(engine(), job, options, nullptr);
    EXPECT_TRUE(found.ok()) << found.status();
    return found.ok() ? *found : PoseSearchResult();
  }
};
VOXLOC_INSTANTIATE_ON_ENGINES(PriorSearchSceneTest);

TEST_P(PriorSearchSceneTest, FindsAVehicleWhoseHeadingIsUnknownWithoutDoubt) {
  const auto found = SearchAroundPrior(engine(), StreetJob(), StreetPrior(), nullptr);
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_FALSE(found->ranked.hypotheses.empty());
  const Pose& best = found->ranked.hypotheses[0].result.map_T_base;
  EXPECT_LT(TranslationDistance(best, ScenePose()), 0.1);
  EXPECT_LT(RotationDistance(best, ScenePose()), 0.01);
  EXPECT_TRUE(found->reliable);
  EXPECT_FALSE(found->ranked.ambiguous);
  EXPECT_FALSE(found->timed_out);
}

std::string BitsOfSearch(Engine& engine, const PoseSearchJob& job) {
  PriorSearchOptions options = StreetPrior();
  options.particles = 50;
  options.startup_trials = 30;
  options.guided_batch = 7;
  std::string bits;
  const auto found =
      SearchAroundPrior(engine, job, options, [&bits](const PoseSearchProgress& progress) {
        for (const SearchParticle& particle : progress.particles) bits += Bits(particle.result);
      });
  EXPECT_TRUE(found.ok()) << found.status();
  for (const PoseHypothesis& hypothesis : found->ranked.hypotheses) {
    bits += Bits(hypothesis.result);
  }
  return bits;
}

TEST_P(PriorSearchSceneTest, TheSameSeedGivesTheSameBits) {
  EXPECT_EQ(BitsOfSearch(engine(), StreetJob()), BitsOfSearch(engine(), StreetJob()));
}

TEST(CpuPriorSearchSceneTest, TheSameSeedGivesTheSameBitsWithAnyNumberOfThreads) {
  std::vector<std::string> bits;
  for (const size_t threads : {1, 2}) {
    const std::unique_ptr<Engine> engine = MakeCpuEngine({threads});
    bits.push_back(BitsOfSearch(
        *engine, SearchJobOf(SceneJob(
                     AutowareProfile(),
                     LoadMap(*engine, {SceneMap()}, RequiredStatistics({AutowareProfile()}))))));
  }
  EXPECT_EQ(bits[0], bits[1]);
}

TEST_P(PriorSearchSceneTest, ASymmetricHallIsAmbiguousAndBothPlacesAreNamed) {
  const Pose map_T_base = {{2.0, 1.0, 1.5}, RotationFromRosAngles(0.0, 0.0, 0.4)};
  const Pose opposite = {{-2.0, -1.0, 1.5}, RotationFromRosAngles(0.0, 0.0, 0.4 + M_PI)};
  const PoseSearchResult found = SearchHall(/*with_partition=*/false, map_T_base);
  EXPECT_TRUE(found.ranked.ambiguous);
  EXPECT_LT(found.ranked.ambiguity_gap, 0.05);
  for (const Pose& place : {map_T_base, opposite}) {
    EXPECT_TRUE(std::any_of(found.ranked.hypotheses.begin(), found.ranked.hypotheses.end(),
                            [&place](const PoseHypothesis& hypothesis) {
                              const Pose& pose = hypothesis.result.map_T_base;
                              return TranslationDistance(pose, place) < 0.2 &&
                                     RotationDistance(pose, place) < 0.02;
                            }))
        << "near " << place.translation.transpose();
  }
}

TEST_P(PriorSearchSceneTest, APartitionTellsTheHallsEndsApart) {
  const Pose map_T_base = {{2.0, 1.0, 1.5}, RotationFromRosAngles(0.0, 0.0, 0.4)};
  const PoseSearchResult found = SearchHall(/*with_partition=*/true, map_T_base);
  EXPECT_FALSE(found.ranked.ambiguous) << found.ranked.ambiguity_gap;
  ASSERT_FALSE(found.ranked.hypotheses.empty());
  EXPECT_LT(TranslationDistance(found.ranked.hypotheses[0].result.map_T_base, map_T_base), 0.2);
}

}  // namespace
}  // namespace voxloc
