// SPDX-License-Identifier: Apache-2.0
//
// Whatever is put in, the CUDA engine answers as the CPU engine does: with an error that says why,
// or with a finite result; and it goes on working.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tests/cuda/engine/engine_pair.h"

namespace voxloc {
namespace {

using ::testing::HasSubstr;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::shared_ptr<const PointCloud> Cloud(const std::vector<Eigen::Vector3f>& points) {
  auto cloud = std::make_shared<PointCloud>();
  for (const Eigen::Vector3f& p : points) cloud->PushBack(p.x(), p.y(), p.z());
  return cloud;
}

class CudaBadInputTest : public CudaEngineTest {
 protected:
  // What was asked for is refused or answered; an ordinary job is aligned after it all the same.
  void TearDown() override {
    if (!WhyNoCudaDevice().empty()) return;
    const AlignResult result = AlignOne(CudaEngine(), CudaSceneJob(AutowareProfile()));
    EXPECT_TRUE(result.status.ok()) << result.status;
    EXPECT_LE(TranslationDistance(result.map_T_base, ScenePose()), 0.05);
    CudaEngineTest::TearDown();
  }

  static AlignResult AlignWith(const std::function<void(AlignJob&)>& change) {
    AlignJob job = CudaSceneJob(PreciseProfile());
    change(job);
    return AlignOne(CudaEngine(), job);
  }

  static void ExpectRefused(const std::function<void(AlignJob&)>& change, absl::StatusCode code,
                            const std::string& message) {
    const AlignResult result = AlignWith(change);
    EXPECT_EQ(result.status.code(), code) << result.status;
    EXPECT_THAT(std::string(result.status.message()), HasSubstr(message));
  }
};

TEST_F(CudaBadInputTest, ScansWithoutAFinitePointAreRefused) {
  const auto code = absl::StatusCode::kInvalidArgument;
  ExpectRefused([](AlignJob& job) { job.scan = nullptr; }, code, "no points");
  ExpectRefused([](AlignJob& job) { job.scan = Cloud({}); }, code, "no points");
  ExpectRefused(
      [](AlignJob& job) {
        job.scan = Cloud({{kNaN, 0, 0}, {0, HUGE_VALF, 0}});
      },
      code, "none of the scan's 2 points is finite");
}

TEST_F(CudaBadInputTest, PointsThatAreNotFiniteAreLeftOut) {
  const AlignJob clean = CudaSceneJob(AutowareProfile());
  auto dirty = std::make_shared<PointCloud>();
  for (size_t i = 0; i < clean.scan->size(); ++i) {
    if (i % 3 == 0) dirty->PushBack(kNaN, 1.0F, HUGE_VALF);
    dirty->PushBack(clean.scan->x[i], clean.scan->y[i], clean.scan->z[i]);
  }
  AlignJob job = clean;
  job.scan = dirty;
  job.want_point_scores = true;
  const AlignResult expected = AlignOne(CudaEngine(), clean);
  const AlignResult result = AlignOne(CudaEngine(), job);
  ASSERT_TRUE(result.status.ok()) << result.status;
  // The others may be summed in another order.
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

  ScoreRequest request;
  request.map = job.map;
  request.scan = dirty;
  request.stage = job.profile.stages[0];
  request.map_T_base = {ScenePose()};
  request.want_point_scores = true;
  const auto score = CudaEngine().Score(request);
  ASSERT_TRUE(score.ok()) << score.status();
  EXPECT_EQ(score->poses[0].points, clean.scan->size());
  EXPECT_EQ(score->point_scores.size(), dirty->size());
}

// Points relative to another origin than the frame's zero, as clouds may have them.
TEST_F(CudaBadInputTest, AScansOriginCounts) {
  AlignJob job = SceneJob(PreciseProfile());
  job.map_T_base_guess = Displaced(ScenePose(), {0.2, -0.1, 0.0}, 0.01);
  auto shifted = std::make_shared<PointCloud>(*job.scan);
  shifted->origin = {100.0, -50.0, 8.0};
  for (size_t i = 0; i < shifted->size(); ++i) {
    shifted->x[i] -= 100.0F;
    shifted->y[i] += 50.0F;
    shifted->z[i] -= 8.0F;
  }
  AlignJob moved = job;
  moved.scan = shifted;
  const ResultPair results = AlignOnBoth({job, moved}, SceneMapPair());
  ASSERT_TRUE(results.cuda[1].status.ok()) << results.cuda[1].status;
  EXPECT_LE(TranslationDistance(results.cuda[1].map_T_base, results.cuda[0].map_T_base), 1e-4);
  EXPECT_LE(TranslationDistance(results.cuda[1].map_T_base, results.cpu[1].map_T_base), 1e-4);
}

TEST_F(CudaBadInputTest, OneOrTwoPointsAreAligned) {
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

// Chunks that are full, one short of full, and one over.
TEST_F(CudaBadInputTest, ScansOfEveryLengthAreAlignedAsOnTheCpu) {
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

TEST_F(CudaBadInputTest, PointsFarBeyondTheLatticeDoNotSpoilTheOthers) {
  const AlignJob clean = CudaSceneJob(AutowareProfile());
  const AlignResult expected = AlignOne(CudaEngine(), clean);
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
      const AlignResult result = AlignOne(CudaEngine(), job);
      ASSERT_TRUE(result.status.ok()) << result.status;
      EXPECT_EQ(result.termination, Termination::kConverged) << far;
      EXPECT_LE(TranslationDistance(result.map_T_base, expected.map_T_base), 1e-3);
      EXPECT_EQ(result.after.points, scan->size());
      EXPECT_LE(result.after.matched_points, clean.scan->size());
    }
  }
}

TEST_F(CudaBadInputTest, GuessesThatAreNotFiniteAreRefused) {
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

TEST_F(CudaBadInputTest, GuessesFarOutsideTheMapFindNothing) {
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

TEST_F(CudaBadInputTest, MapsThatDoNotFitAreRefused) {
  const auto code = absl::StatusCode::kFailedPrecondition;
  ExpectRefused([](AlignJob& job) { job.map = nullptr; }, code, "does not belong");
  ExpectRefused([](AlignJob& job) { job.map = SceneMapPair().cpu; }, code, "does not belong");
  AlignJob on_device = CudaSceneJob(PreciseProfile());
  const AlignResult on_cpu = AlignOne(CpuEngine(), on_device);
  EXPECT_EQ(on_cpu.status.code(), code) << on_cpu.status;

  const auto only_autoware =
      LoadMap(CudaEngine(), {SceneMap()}, RequiredStatistics({AutowareProfile()}));
  const auto use_it = [&](AlignJob& job) { job.map = only_autoware; };
  ExpectRefused(use_it, code, "has no " + ToString(PreciseProfile().stages[0].cells));
  ExpectRefused(use_it, code, "it has " + ToString(AutowareProfile().stages[0].cells));
}

TEST_F(CudaBadInputTest, TilesThatDoNotFitAreRefused) {
  const auto refused = [](const std::vector<std::shared_ptr<const ResidentTile>>& tiles,
                          const std::vector<CellStatistics>& statistics) {
    const auto map = CudaEngine().Compose(tiles, statistics, nullptr);
    EXPECT_EQ(map.status().code(), absl::StatusCode::kInvalidArgument) << map.status();
    return std::string(map.status().message());
  };
  const auto foreign = CpuEngine().BuildTile(SceneMap(), AllStatistics());
  ASSERT_TRUE(foreign.ok());
  EXPECT_THAT(refused({*foreign}, AllStatistics()), HasSubstr("belong"));
  EXPECT_THAT(refused({nullptr}, AllStatistics()), HasSubstr("belong"));
  const auto own = CudaEngine().BuildTile(SceneMap(), AllStatistics());
  ASSERT_TRUE(own.ok()) << own.status();
  CellStatistics other;
  other.cell_size_m = 7.0;
  EXPECT_THAT(refused({*own}, {other}), HasSubstr("7 m"));
  other.cell_size_m = -7.0;
  EXPECT_THAT(refused({*own}, {other}), HasSubstr("cell size"));
  EXPECT_THAT(refused({}, {other}), HasSubstr("cell size"));
}

TEST_F(CudaBadInputTest, CloudsThatMakeNoTileAreRefusedAsOnTheCpu) {
  PointCloud not_finite;
  not_finite.PushBack(kNaN, 0.0F, 0.0F);
  PointCloud far = *Cloud({{0, 0, 0}});
  far.origin.x() = 1e12;
  PointCloud no_origin = *Cloud({{0, 0, 0}});
  no_origin.origin.y() = std::nan("");
  const PointCloud one_beyond = *Cloud({{0, 0, 0}, {3e38F, 0, 0}});
  for (const PointCloud& cloud : {PointCloud(), not_finite, far, no_origin, one_beyond}) {
    const auto tile = CudaEngine().BuildTile(cloud, AllStatistics());
    const auto expected = CpuEngine().BuildTile(cloud, AllStatistics());
    EXPECT_EQ(tile.status().code(), expected.status().code()) << tile.status();
    EXPECT_FALSE(tile.ok());
  }
  EXPECT_EQ(CudaEngine().BuildTile(SceneMap(), {}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(CudaBadInputTest, AMapWithoutUsableCellsFindsNothing) {
  PointCloud sparse;
  for (int i = 0; i < 50; ++i) sparse.PushBack(10.0F * static_cast<float>(i), 0.0F, 0.0F);
  for (const auto& map : {LoadMap(CudaEngine(), {}, AllStatistics()),
                          LoadMap(CudaEngine(), {sparse}, AllStatistics())}) {
    ASSERT_NE(map, nullptr);
    for (size_t i = 0; i < map->statistics().size(); ++i) EXPECT_EQ(map->cells(i), 0u);
    const AlignResult result = AlignWith([&](AlignJob& job) { job.map = map; });
    ASSERT_TRUE(result.status.ok()) << result.status;
    EXPECT_EQ(result.termination, Termination::kZeroStep);
    EXPECT_EQ(result.after.matched_points, 0u);
    ScoreRequest request;
    request.map = map;
    request.scan = SceneJob(AutowareProfile()).scan;
    request.stage = AutowareProfile().stages[0];
    request.map_T_base = {ScenePose()};
    const auto score = CudaEngine().Score(request);
    ASSERT_TRUE(score.ok()) << score.status();
    EXPECT_EQ(score->poses[0].pairs, 0u);
    EXPECT_EQ(score->poses[0].points, request.scan->size());
  }
}

// One point written many times is no cell; a plane, a line and a huge pile are.
TEST_F(CudaBadInputTest, DegenerateCellsAreThoseOfTheCpu) {
  PointCloud cloud = SceneMap();
  for (int i = 0; i < 2000; ++i) {
    const auto x = static_cast<float>(0.37 + 1.0 * (i / 15 % 12));
    const auto y = static_cast<float>(-0.21 + 1.0 * (i / 180));
    cloud.PushBack(x, y, 9.123F);
    cloud.PushBack(40.0F + 0.0005F * static_cast<float>(i), 3.5F, 2.5F);
    cloud.PushBack(50.0F + 0.001F * static_cast<float>(i % 50),
                   3.0F + 0.001F * static_cast<float>(i / 50), 2.5F);
  }
  for (int i = 0; i < 200'000; ++i) {
    const auto step = static_cast<float>(i);
    cloud.PushBack(60.1F + 5e-6F * step, 3.1F + 1e-3F * static_cast<float>(i % 700),
                   1.1F + 1e-3F * static_cast<float>(i % 311));
  }
  const MapPair maps = LoadMapPair({cloud}, AllStatistics());
  ASSERT_NE(maps.cpu, nullptr);
  ASSERT_NE(maps.cuda, nullptr);
  for (size_t i = 0; i < AllStatistics().size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(maps.cuda->cells(i), maps.cpu->cells(i));
  }
  auto scan = std::make_shared<PointCloud>(*SceneJob(PreciseProfile()).scan);
  for (int i = 0; i < 200; ++i) {
    scan->PushBack(0.1F * static_cast<float>(i % 20), 0.1F * static_cast<float>(i / 20), 7.6F);
  }
  for (const Profile& profile : {AutowareProfile(), PreciseProfile()}) {
    AlignJob job = SceneJob(profile);
    job.scan = scan;
    const ResultPair results = AlignOnBoth({job}, maps);
    ASSERT_TRUE(results.cuda[0].status.ok()) << results.cuda[0].status;
    EXPECT_NE(results.cuda[0].termination, Termination::kNotFinite);
    EXPECT_LE(TranslationDistance(results.cuda[0].map_T_base, results.cpu[0].map_T_base), 1e-3);
  }
}

TEST_F(CudaBadInputTest, AbsurdProfilesAreRefusedBeforeAnythingRuns) {
  const auto code = absl::StatusCode::kInvalidArgument;
  ExpectRefused([](AlignJob& job) { job.profile.stages.clear(); }, code, "stages");
  ExpectRefused([](AlignJob& job) { job.profile.stages[0].cells.cell_size_m = 0.0; }, code,
                "cell size");
  ExpectRefused([](AlignJob& job) { job.profile.stages[2].max_iterations = 1'000'000'000; }, code,
                "max_iterations");
  ExpectRefused([](AlignJob& job) { job.profile.stages[1].max_step = -1.0; }, code, "max_step");
}

TEST_F(CudaBadInputTest, BadJobsLeaveTheirNeighborsAlone) {
  std::vector<AlignJob> jobs(40, CudaSceneJob(AutowareProfile()));
  for (size_t i = 0; i < jobs.size(); i += 4) jobs[i].scan = nullptr;
  jobs[5].map = SceneMapPair().cpu;
  jobs[7].profile.stages.clear();
  const std::vector<AlignResult> results = CudaEngine().Align(jobs);
  ASSERT_EQ(results.size(), jobs.size());
  for (size_t i = 0; i < jobs.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(results[i].status.ok(), i % 4 != 0 && i != 5 && i != 7) << results[i].status;
    if (results[i].status.ok()) {
      EXPECT_EQ(results[i].map_T_base.translation, results[1].map_T_base.translation);
    }
  }
  EXPECT_TRUE(CudaEngine().Align({}).empty());
}

TEST_F(CudaBadInputTest, WhatCannotBeScoredIsAnError) {
  const auto code = [](const std::function<void(ScoreRequest&)>& change) {
    ScoreRequest request;
    request.map = SceneMapPair().cuda;
    request.scan = SceneJob(AutowareProfile()).scan;
    request.stage = AutowareProfile().stages[0];
    request.map_T_base.assign(2, ScenePose());
    change(request);
    return CudaEngine().Score(request).status().code();
  };
  const auto invalid = absl::StatusCode::kInvalidArgument;
  const auto precondition = absl::StatusCode::kFailedPrecondition;
  EXPECT_EQ(code([](ScoreRequest&) {}), absl::StatusCode::kOk);
  EXPECT_EQ(code([](ScoreRequest& r) { r.scan = nullptr; }), invalid);
  EXPECT_EQ(code([](ScoreRequest& r) { r.scan = Cloud({}); }), invalid);
  EXPECT_EQ(code([](ScoreRequest& r) { r.scan = Cloud({{kNaN, 0, 0}}); }), invalid);
  EXPECT_EQ(code([](ScoreRequest& r) { r.map_T_base[1].translation.z() = HUGE_VAL; }), invalid);
  EXPECT_EQ(code([](ScoreRequest& r) { r.stage.outlier_ratio = 0.0; }), invalid);
  EXPECT_EQ(code([](ScoreRequest& r) { r.stage.cells.cell_size_m = -1.0; }), invalid);
  EXPECT_EQ(code([](ScoreRequest& r) { r.map = nullptr; }), precondition);
  EXPECT_EQ(code([](ScoreRequest& r) { r.map = SceneMapPair().cpu; }), precondition);
  EXPECT_EQ(code([](ScoreRequest& r) { r.stage.cells.cell_size_m = 3.0; }), precondition);
}

}  // namespace
}  // namespace voxloc
