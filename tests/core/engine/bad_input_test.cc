// SPDX-License-Identifier: Apache-2.0
//
// Whatever is put in, an engine answers: with an error that says why, or with a finite result.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/engine_test.h"

namespace voxloc {
namespace {

using ::testing::HasSubstr;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::shared_ptr<const PointCloud> Cloud(const std::vector<Eigen::Vector3f>& points) {
  auto cloud = std::make_shared<PointCloud>();
  for (const Eigen::Vector3f& p : points) cloud->PushBack(p.x(), p.y(), p.z());
  return cloud;
}

class BadInputTest : public EngineTest {
 protected:
  // Whatever was refused or answered, an ordinary job is aligned after it.
  void TearDown() override {
    const AlignResult result = AlignOne(engine(), SceneJob(AutowareProfile()));
    EXPECT_TRUE(result.status.ok()) << result.status;
    EXPECT_LE(TranslationDistance(result.map_T_base, ScenePose()), 0.05);
    EngineTest::TearDown();
  }

  static AlignResult AlignWith(const std::function<void(AlignJob&)>& change) {
    AlignJob job = SceneJob(PreciseProfile());
    change(job);
    return AlignOne(engine(), job);
  }

  static void ExpectRefused(const std::function<void(AlignJob&)>& change, absl::StatusCode code,
                            const std::string& message) {
    const AlignResult result = AlignWith(change);
    EXPECT_EQ(result.status.code(), code) << result.status;
    EXPECT_THAT(std::string(result.status.message()), HasSubstr(message));
  }
};
VOXLOC_INSTANTIATE_ON_ENGINES(BadInputTest);

TEST_P(BadInputTest, ScansWithoutAFinitePointAreRefused) {
  const auto code = absl::StatusCode::kInvalidArgument;
  ExpectRefused([](AlignJob& job) { job.scan = nullptr; }, code, "no points");
  ExpectRefused([](AlignJob& job) { job.scan = Cloud({}); }, code, "no points");
  ExpectRefused(
      [](AlignJob& job) {
        job.scan = Cloud({{kNaN, 0, 0}, {0, HUGE_VALF, 0}});
      },
      code, "none of the scan's 2 points is finite");
}

TEST_P(BadInputTest, ScansWhoseOriginIsBeyondFloat32AreRefused) {
  for (const double origin_m : {std::nan(""), HUGE_VAL, 1e300, 3e38, -1.1e9}) {
    auto scan = std::make_shared<PointCloud>(*SceneJob(PreciseProfile()).scan);
    scan->origin.y() = origin_m;
    ExpectRefused([&](AlignJob& job) { job.scan = scan; }, absl::StatusCode::kInvalidArgument,
                  "the scan's origin must be within 1e+09 m along each axis (got (0, ");
    ScoreRequest request = SceneScoreRequest(AutowareProfile().stages[0], 1);
    request.scan = scan;
    EXPECT_EQ(engine().Score(request).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST_P(BadInputTest, ColumnsOfDifferentLengthsAreRefused) {
  PointCloud good = *SceneJob(PreciseProfile()).scan;
  good.intensity.assign(good.size(), 1.0F);
  for (const auto column :
       {&PointCloud::x, &PointCloud::y, &PointCloud::z, &PointCloud::intensity}) {
    auto scan = std::make_shared<PointCloud>(good);
    ((*scan).*column).pop_back();
    const auto expect_refused = [](const absl::Status& status) {
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(std::string(status.message()), HasSubstr("must have the same length"));
    };
    expect_refused(AlignWith([&](AlignJob& job) { job.scan = scan; }).status);
    ScoreRequest request = SceneScoreRequest(AutowareProfile().stages[0], 1);
    request.scan = scan;
    expect_refused(engine().Score(request).status());
    expect_refused(engine().Filter(*scan, {}, WorkClass::kTracking).status());
    expect_refused(engine().BuildTile(*scan, AllStatistics()).status());
  }
}

TEST_P(BadInputTest, PointsThatAreNotFiniteAreLeftOut) {
  const AlignJob clean = SceneJob(AutowareProfile());
  auto dirty = std::make_shared<PointCloud>();
  for (size_t i = 0; i < clean.scan->size(); ++i) {
    if (i % 3 == 0) dirty->PushBack(kNaN, 1.0F, HUGE_VALF);
    dirty->PushBack(clean.scan->x[i], clean.scan->y[i], clean.scan->z[i]);
  }
  AlignJob job = clean;
  job.scan = dirty;
  job.with_point_scores = true;
  const AlignResult expected = AlignOne(engine(), clean);
  const AlignResult result = AlignOne(engine(), job);
  ASSERT_TRUE(result.status.ok()) << result.status;
  // An engine may sum the others in another order.
  EXPECT_LE(TranslationDistance(result.map_T_base, expected.map_T_base), 1e-5);
  EXPECT_EQ(result.after.points, clean.scan->size());
  EXPECT_NEAR(result.after.transform_probability, expected.after.transform_probability, 1e-4);
  ASSERT_EQ(result.point_scores.size(), dirty->size());
  size_t nonzero = 0;
  for (size_t i = 0; i < dirty->size(); ++i) {
    if (!dirty->IsFinite(i)) {
      EXPECT_EQ(result.point_scores[i], 0.0F);
    }
    nonzero += result.point_scores[i] > 0.0F ? 1 : 0;
  }
  EXPECT_GT(nonzero, clean.scan->size() / 2);

  ScoreRequest request = SceneScoreRequest(AutowareProfile().stages[0], 1);
  request.scan = dirty;
  request.with_point_scores = true;
  const auto score = engine().Score(request);
  ASSERT_TRUE(score.ok()) << score.status();
  EXPECT_EQ(score->poses[0].points, clean.scan->size());
  EXPECT_EQ(score->point_scores.size(), dirty->size());
}

TEST_P(BadInputTest, OneOrTwoPointsAreAligned) {
  for (const Profile& profile : {AutowareProfile(), PreciseProfile()}) {
    for (const auto& scan :
         {Cloud({{1.0F, 2.0F, -1.4F}}), Cloud({{1.0F, 2.0F, -1.4F}, {-3.0F, 2.0F, -1.5F}})}) {
      const AlignResult result = AlignWith([&](AlignJob& job) {
        job.profile = profile;
        job.scan = scan;
      });
      ASSERT_TRUE(result.status.ok()) << result.status;
      EXPECT_TRUE(result.map_T_base.translation.allFinite());
      EXPECT_TRUE(result.map_T_base.rotation.coeffs().allFinite());
      EXPECT_EQ(result.after.points, scan->size());
      EXPECT_NE(result.termination, Termination::kNotFinite);
    }
  }
}

// A few points in another country do not spoil the sums of those beside them in memory.
TEST_P(BadInputTest, PointsFarBeyondTheLatticeDoNotSpoilTheOthers) {
  const AlignJob clean = SceneJob(AutowareProfile());
  const AlignResult expected = AlignOne(engine(), clean);
  for (const float far : {1e9F, 1e20F, 3e38F, -3e38F}) {
    auto scan = std::make_shared<PointCloud>();
    for (size_t i = 0; i < clean.scan->size(); ++i) {
      scan->PushBack(clean.scan->x[i], clean.scan->y[i], clean.scan->z[i]);
      if (i % 10 == 0) scan->PushBack(far, i % 20 == 0 ? -far : 0.0F, 0.5F * far);
    }
    for (const bool float_transform : {false, true}) {
      AlignJob job = clean;
      job.scan = scan;
      job.profile.stages[0].float_transform = float_transform;
      const AlignResult result = AlignOne(engine(), job);
      ASSERT_TRUE(result.status.ok()) << result.status;
      EXPECT_EQ(result.termination, Termination::kConverged) << far;
      EXPECT_LE(TranslationDistance(result.map_T_base, expected.map_T_base), 1e-3);
      EXPECT_EQ(result.after.points, scan->size());
      EXPECT_LE(result.after.matched_points, clean.scan->size());
    }
  }
}

TEST_P(BadInputTest, GuessesThatAreNotFiniteAreRefused) {
  for (int i = 0; i < 7; ++i) {
    for (const double bad : {std::nan(""), HUGE_VAL}) {
      ExpectRefused(
          [&](AlignJob& job) {
            if (i < 3) {
              job.map_T_base_guess.translation[i] = bad;
            } else {
              job.map_T_base_guess.rotation.coeffs()[i - 3] = bad;
            }
          },
          absl::StatusCode::kInvalidArgument, "not finite");
    }
  }
}

TEST_P(BadInputTest, GuessesFarOutsideTheMapFindNothing) {
  for (const double far : {1e5, 1e9, 1e12, -1e12, 1e200}) {
    for (const Profile& profile : {AutowareProfile(), PreciseProfile()}) {
      const AlignResult result = AlignWith([&](AlignJob& job) {
        job.profile = profile;
        job.map_T_base_guess.translation = {far, -far, far};
      });
      ASSERT_TRUE(result.status.ok()) << result.status;
      EXPECT_EQ(result.termination, Termination::kZeroStep);
      EXPECT_EQ(result.after.matched_points, 0u);
      EXPECT_TRUE(result.map_T_base.translation.allFinite());
    }
  }
}

TEST_P(BadInputTest, MapsThatDoNotFitAreRefused) {
  const auto code = absl::StatusCode::kFailedPrecondition;
  ExpectRefused([](AlignJob& job) { job.map = nullptr; }, code, "does not belong");

  class ForeignMap : public ResidentMap {
   public:
    const std::vector<CellStatistics>& statistics() const override { return statistics_; }
    size_t cells(size_t) const override { return 0; }
    size_t MemoryBytes() const override { return 0; }
    absl::StatusOr<std::vector<MapCell>> CellsInBox(size_t, const Eigen::Vector3d&,
                                                    const Eigen::Vector3d&, size_t) const override {
      return std::vector<MapCell>();
    }

   private:
    std::vector<CellStatistics> statistics_ = AllStatistics();
  };
  ExpectRefused([](AlignJob& job) { job.map = std::make_shared<ForeignMap>(); }, code,
                "does not belong");

  // The message names what is missing and what there is.
  const auto only_autoware =
      LoadMap(engine(), {SceneMap()}, RequiredStatistics({AutowareProfile()}));
  const auto use_it = [&](AlignJob& job) { job.map = only_autoware; };
  ExpectRefused(use_it, code, "has no " + ToString(PreciseProfile().stages[0].cells));
  ExpectRefused(use_it, code, "it has " + ToString(AutowareProfile().stages[0].cells));
}

TEST_P(BadInputTest, AMapWithoutUsableCellsFindsNothing) {
  PointCloud sparse;
  for (int i = 0; i < 50; ++i) {
    sparse.PushBack(10.0F * static_cast<float>(i), 0.0F, 0.0F);
  }
  for (const auto& map :
       {LoadMap(engine(), {}, AllStatistics()), LoadMap(engine(), {sparse}, AllStatistics())}) {
    ASSERT_NE(map, nullptr);
    for (size_t i = 0; i < map->statistics().size(); ++i) EXPECT_EQ(map->cells(i), 0u);
    const AlignResult result = AlignWith([&](AlignJob& job) { job.map = map; });
    ASSERT_TRUE(result.status.ok()) << result.status;
    EXPECT_EQ(result.termination, Termination::kZeroStep);
    EXPECT_EQ(result.after.matched_points, 0u);
    ScoreRequest request = SceneScoreRequest(AutowareProfile().stages[0], 1);
    request.map = map;
    const auto score = engine().Score(request);
    ASSERT_TRUE(score.ok()) << score.status();
    EXPECT_EQ(score->poses[0].pairs, 0u);
    EXPECT_EQ(score->poses[0].points, request.scan->size());
  }
}

// One point written many times is no cell: its covariance is rounding alone.
TEST_P(BadInputTest, AMapOfRepeatedPointsDoesNotOverflow) {
  PointCloud repeated = SceneMap();
  for (int i = 0; i < 2000; ++i) {
    // Fifteen copies of each, two cells apart and above the scene's own points.
    const auto x = static_cast<float>(0.37 + 1.0 * (i / 15 % 12));
    const auto y = static_cast<float>(-0.21 + 1.0 * (i / 180));
    repeated.PushBack(x, y, 9.123F);
  }
  const auto map = LoadMap(engine(), {repeated}, AllStatistics());
  auto scan = std::make_shared<PointCloud>(*SceneJob(PreciseProfile()).scan);
  for (int i = 0; i < 200; ++i) {
    scan->PushBack(0.1F * static_cast<float>(i % 20), 0.1F * static_cast<float>(i / 20), 7.6F);
  }
  for (const Profile& profile : {AutowareProfile(), PreciseProfile()}) {
    const AlignResult result = AlignWith([&](AlignJob& job) {
      job.map = map;
      job.scan = scan;
      job.profile = profile;
    });
    ASSERT_TRUE(result.status.ok()) << result.status;
    EXPECT_NE(result.termination, Termination::kNotFinite);
    EXPECT_LE(TranslationDistance(result.map_T_base, ScenePose()), 0.1);
  }
}

TEST_P(BadInputTest, AbsurdProfilesAreRefusedBeforeAnythingRuns) {
  const auto code = absl::StatusCode::kInvalidArgument;
  ExpectRefused([](AlignJob& job) { job.profile.stages.clear(); }, code, "stages");
  ExpectRefused([](AlignJob& job) { job.profile.stages[0].cells.cell_size_m = 0.0; }, code,
                "cell size");
  ExpectRefused([](AlignJob& job) { job.profile.stages[2].max_iterations = 1'000'000'000; }, code,
                "max_iterations");
  ExpectRefused([](AlignJob& job) { job.profile.stages[1].max_step = -1.0; }, code, "step_size_m");
}

// Nor beside a job whose profile is the same in all else.
TEST_P(BadInputTest, AbsurdProfilesAreRefusedBesideGoodOnes) {
  const std::vector<std::function<void(Profile&)>> changes = {
      [](Profile& profile) { profile.allowed_loss = 1.0; },
      [](Profile& profile) { profile.independent_points = 20.0; },  // with the exact curvature
      [](Profile& profile) { profile.observed_share = 0.0; },
      [](Profile& profile) { profile.regularization_scale = -1.0; },
      [](Profile& profile) { profile.acceptance_threshold = 1e9; }};
  const AlignJob good = SceneJob(AutowareProfile());
  for (size_t i = 0; i < changes.size(); ++i) {
    SCOPED_TRACE(i);
    AlignJob bad = good;
    changes[i](bad.profile);
    const std::vector<AlignResult> results = engine().Align(std::vector<AlignJob>{good, bad, good});
    EXPECT_EQ(results[1].status.code(), absl::StatusCode::kInvalidArgument) << results[1].status;
    EXPECT_TRUE(results[0].status.ok() && results[2].status.ok());
  }
}

TEST_P(BadInputTest, BadJobsLeaveTheirNeighborsAlone) {
  std::vector<AlignJob> jobs(40, SceneJob(AutowareProfile()));
  for (size_t i = 0; i < jobs.size(); i += 4) jobs[i].scan = nullptr;
  jobs[5].map = nullptr;
  jobs[7].profile.stages.clear();
  const std::vector<AlignResult> results = engine().Align(jobs);
  ASSERT_EQ(results.size(), jobs.size());
  for (size_t i = 0; i < jobs.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(results[i].status.ok(), i % 4 != 0 && i != 5 && i != 7) << results[i].status;
    if (results[i].status.ok()) {
      EXPECT_EQ(results[i].map_T_base.translation, results[1].map_T_base.translation);
    }
  }
  EXPECT_TRUE(engine().Align({}).empty());
}

TEST_P(BadInputTest, TilesThatCannotBeBuiltAreRefused) {
  const std::vector<CellStatistics> statistics = AllStatistics();
  const auto code = [&](const PointCloud& cloud, absl::Span<const CellStatistics> wanted) {
    return engine().BuildTile(cloud, wanted).status().code();
  };
  const auto invalid = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(code({}, statistics), invalid);
  EXPECT_EQ(code(*Cloud({{kNaN, kNaN, kNaN}}), statistics), invalid);
  EXPECT_EQ(code(*Cloud({{0, 0, 0}, {3e38F, 0, 0}}), statistics), invalid);
  PointCloud far = *Cloud({{0, 0, 0}});
  far.origin.x() = 1e12;
  EXPECT_EQ(code(far, statistics), invalid);
  PointCloud no_origin = *Cloud({{0, 0, 0}});
  no_origin.origin.y() = std::nan("");
  EXPECT_EQ(code(no_origin, statistics), invalid);
  EXPECT_EQ(code(*Cloud({{0, 0, 0}}), {}), invalid);
  CellStatistics absurd;
  absurd.cell_size_m = 0.0;
  EXPECT_EQ(code(*Cloud({{0, 0, 0}}), absl::MakeConstSpan(&absurd, 1)), invalid);
  EXPECT_TRUE(engine().BuildTile(*Cloud({{0, 0, 0}}), statistics).ok());
}

}  // namespace
}  // namespace voxloc
