// SPDX-License-Identifier: Apache-2.0
//
// Every kernel of the engine once, on next to no data: what compute-sanitizer can watch in a
// minute.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/cuda/engine/engine_pair.h"
#include "tests/support/result_bits.h"

namespace voxloc {
namespace {

// A street corner of 16 m, a map of a few thousand points.
SceneOptions Corner() {
  SceneOptions options;
  options.half_extent_m = 8.0;
  options.points_per_m2 = 8.0;
  return options;
}

Pose CornerPose() { return Displaced({}, {0.5, -0.5, 1.5}, 0.3); }

class CudaSmallTest : public CudaEngineTest {
 protected:
  static std::vector<PointCloud> Clouds() {
    return CutIntoTiles(SceneMap(Corner()), 2, 2, {-8.0, -8.0}, {8.3, 7.9});
  }
  static const std::shared_ptr<const ResidentMap>& Map() {
    static const auto& map =
        *new std::shared_ptr<const ResidentMap>(LoadMap(CudaEngine(), Clouds(), AllStatistics()));
    return map;
  }
  static AlignJob Job(const Profile& profile, size_t points = 70) {
    AlignJob job;
    job.map = Map();
    job.scan = std::make_shared<const PointCloud>(
        SceneScan(CornerPose(), points, Corner(), /*range_m=*/12.0));
    job.map_T_base_guess = Displaced(CornerPose(), {0.1, -0.05, 0.02}, 0.01);
    job.profile = profile;
    for (Stage& stage : job.profile.stages) stage.max_iterations = 3;
    return job;
  }
  static void ExpectAligned(const std::vector<AlignJob>& jobs) {
    const std::string alone = Bits(AlignOne(CudaEngine(), jobs[0]));
    const std::vector<AlignResult> results = CudaEngine().Align(jobs);
    ASSERT_EQ(results.size(), jobs.size());
    for (const AlignResult& result : results) {
      ASSERT_TRUE(result.status.ok()) << result.status;
      EXPECT_GT(result.after.matched_points, 0u);
    }
    EXPECT_TRUE(Bits(results[0]) == alone);
  }
};

TEST_F(CudaSmallTest, BuildsAndComposes) {
  ASSERT_NE(Map(), nullptr);
  const auto cpu = LoadMap(CpuEngine(), Clouds(), AllStatistics());
  for (const CellStatistics& statistics : AllStatistics()) {
    EXPECT_EQ(AllCells(*Map(), statistics).size(), AllCells(*cpu, statistics).size());
  }
}

TEST_F(CudaSmallTest, ComposesASuccessor) {
  std::vector<PointCloud> clouds = Clouds();
  std::vector<std::shared_ptr<const ResidentTile>> tiles;
  for (const PointCloud& cloud : clouds) {
    auto tile = CudaEngine().BuildTile(cloud, AllStatistics());
    ASSERT_TRUE(tile.ok()) << tile.status();
    tiles.push_back(*tile);
  }
  const auto first = CudaEngine().Compose(tiles, AllStatistics(), nullptr);
  ASSERT_TRUE(first.ok()) << first.status();
  for (float& z : clouds[1].z) z += 0.4F;
  auto tile = CudaEngine().BuildTile(clouds[1], AllStatistics());
  ASSERT_TRUE(tile.ok()) << tile.status();
  tiles[1] = *tile;
  const auto successor = CudaEngine().Compose(tiles, AllStatistics(), first->get());
  const auto fresh = CudaEngine().Compose(tiles, AllStatistics(), nullptr);
  ASSERT_TRUE(successor.ok()) << successor.status();
  ASSERT_TRUE(fresh.ok()) << fresh.status();
  AlignJob job = Job(PreciseProfile());
  job.map = *successor;
  const std::string bits = Bits(AlignOne(CudaEngine(), job));
  job.map = *fresh;
  EXPECT_TRUE(Bits(AlignOne(CudaEngine(), job)) == bits);
}

TEST_F(CudaSmallTest, AlignsOneUnderBothProfiles) {
  ExpectAligned({Job(AutowareProfile())});
  ExpectAligned({Job(PreciseProfile())});
}

TEST_F(CudaSmallTest, AlignsEight) {
  ExpectAligned(std::vector<AlignJob>(8, Job(AutowareProfile())));
}

TEST_F(CudaSmallTest, AlignsTwoHundredOfBothProfiles) {
  std::vector<AlignJob> jobs;
  for (size_t i = 0; i < 200; ++i) {
    jobs.push_back(Job(i % 4 == 0 ? PreciseProfile() : AutowareProfile(), 20 + i % 50));
    for (Stage& stage : jobs.back().profile.stages) stage.max_iterations = 1;
  }
  ExpectAligned(jobs);
}

TEST_F(CudaSmallTest, AlignsAScanOfManyChunks) {
  AlignJob job = Job(AutowareProfile(), 5000);
  job.profile.stages[0].max_iterations = 1;
  ExpectAligned({job});
}

TEST_F(CudaSmallTest, WritesTraceAndPointScores) {
  AlignJob job = Job(PreciseProfile());
  job.with_trace = true;
  job.with_point_scores = true;
  ExpectAligned({job, job, Job(AutowareProfile())});
}

TEST_F(CudaSmallTest, SearchesAlongLines) {
  AlignJob job = Job(AutowareProfile());
  job.profile.stages[0].line_search = true;
  job.regularization_position_map = CornerPose().translation;
  ExpectAligned({job, job});
}

TEST_F(CudaSmallTest, SearchesDirectlyAndInFloat) {
  AlignJob seven = Job(AutowareProfile());
  seven.profile.stages[0].search = NeighborSearch::kDirect7;
  AlignJob one = Job(PreciseProfile());
  for (Stage& stage : one.profile.stages) {
    stage.search = NeighborSearch::kDirect1;
    stage.float_transform = true;
  }
  ExpectAligned({seven, one});
}

TEST_F(CudaSmallTest, ScoresPosesAndPoints) {
  const AlignJob job = Job(AutowareProfile());
  for (const bool point_scores : {false, true}) {
    for (const size_t poses : {1, 40}) {
      ScoreRequest request;
      request.map = job.map;
      request.scan = job.scan;
      request.stage = job.profile.stages[0];
      request.map_T_base.assign(poses, CornerPose());
      request.with_point_scores = point_scores;
      const auto result = CudaEngine().Score(request);
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_GT(result->poses.back().pairs, 0u);
      EXPECT_EQ(result->point_scores.size(), point_scores ? poses * job.scan->size() : 0u);
    }
  }
}

}  // namespace
}  // namespace voxloc
