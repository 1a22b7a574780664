// SPDX-License-Identifier: Apache-2.0
//
// The synthetic scene in an engine of several, and what one engine alone says of it.

#ifndef VOXLOC_TESTS_CORE_ENGINE_REPLICA_REPLICATED_SCENE_H_
#define VOXLOC_TESTS_CORE_ENGINE_REPLICA_REPLICATED_SCENE_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "core/engine/replica/replicated_engine.h"
#include "tests/core/engine/replica/faulty_engine.h"
#include "tests/support/engine_scene.h"
#include "tests/support/random_numbers.h"
#include "tests/support/result_bits.h"

namespace voxloc {

// One part for each engine, which the test steers by its faults.
struct Fleet {
  std::vector<std::shared_ptr<Faults>> faults;
  std::unique_ptr<Engine> engine;
  std::shared_ptr<const ResidentMap> map;
};

// Without a map.
inline Fleet MakeEmptyFleet(size_t engines) {
  Fleet fleet;
  std::vector<std::unique_ptr<Engine>> parts;
  for (size_t i = 0; i < engines; ++i) {
    fleet.faults.push_back(std::make_shared<Faults>());
    parts.push_back(std::make_unique<FaultyEngine>(fleet.faults.back()));
  }
  auto engine = MakeReplicatedEngine(std::move(parts));
  EXPECT_TRUE(engine.ok()) << engine.status();
  if (engine.ok()) fleet.engine = *std::move(engine);
  return fleet;
}

inline Fleet MakeFleet(size_t engines) {
  Fleet fleet = MakeEmptyFleet(engines);
  if (fleet.engine == nullptr) return fleet;
  fleet.map = LoadMap(*fleet.engine, {SceneMap()}, RequiredStatistics({AutowareProfile()}));
  return fleet;
}

// A small scan at the scene's pose, searched from as many different guesses.
inline std::vector<AlignJob> FleetJobs(std::shared_ptr<const ResidentMap> map, size_t count) {
  static const auto& scan =
      *new std::shared_ptr<const PointCloud>(new PointCloud(SceneScan(ScenePose(), 200)));
  RandomNumbers random(91);
  std::vector<AlignJob> jobs(count);
  for (AlignJob& job : jobs) {
    job.map = map;
    job.scan = scan;
    job.profile = AutowareProfile();
    job.map_T_base_guess = Displaced(ScenePose(), random.InBox(0.3), random.Uniform(-0.03, 0.03));
    job.with_trace = true;
    job.with_point_scores = true;
  }
  return jobs;
}

inline ScoreRequest FleetRequest(std::shared_ptr<const ResidentMap> map, size_t poses) {
  const AlignJob job = FleetJobs(std::move(map), 1)[0];
  ScoreRequest request;
  request.map = job.map;
  request.scan = std::make_shared<const PointCloud>(SceneScan(ScenePose(), 50));
  request.stage = job.profile.stages[0];
  request.with_point_scores = true;
  RandomNumbers random(92);
  for (size_t i = 0; i < poses; ++i) {
    request.map_T_base.push_back(
        Displaced(ScenePose(), random.InBox(0.8), random.Uniform(-0.05, 0.05)));
  }
  return request;
}

inline void ExpectSameScores(const PoseScore& a, const PoseScore& b) {
  EXPECT_EQ(a.score, b.score);
  EXPECT_EQ(a.transform_probability, b.transform_probability);
  EXPECT_EQ(a.nearest_voxel_likelihood, b.nearest_voxel_likelihood);
  EXPECT_EQ(a.matched_points, b.matched_points);
  EXPECT_EQ(a.pairs, b.pairs);
}

// The results are those of one engine alone, to the last bit.
inline void ExpectAsAlone(const std::vector<AlignResult>& results,
                          const std::vector<AlignJob>& jobs) {
  std::vector<AlignJob> alone = jobs;
  for (AlignJob& job : alone) job.map = SharedScene().map;
  const std::vector<AlignResult> expected = SharedScene().engine->Align(alone);
  ASSERT_EQ(results.size(), expected.size());
  for (size_t i = 0; i < results.size(); ++i) {
    SCOPED_TRACE(i);
    ASSERT_TRUE(results[i].status.ok()) << results[i].status;
    EXPECT_TRUE(Bits(results[i]) == Bits(expected[i]));
    EXPECT_EQ(results[i].trace.size(), expected[i].trace.size());
  }
}

inline void ExpectAsAlone(const absl::StatusOr<ScoreResult>& result, ScoreRequest request) {
  request.map = SharedScene().map;
  const auto expected = SharedScene().engine->Score(request);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_TRUE(expected.ok()) << expected.status();
  ASSERT_EQ(result->poses.size(), expected->poses.size());
  for (size_t i = 0; i < result->poses.size(); ++i) {
    SCOPED_TRACE(i);
    ExpectSameScores(result->poses[i], expected->poses[i]);
  }
  EXPECT_EQ(result->point_scores, expected->point_scores);
}

}  // namespace voxloc

#endif  // VOXLOC_TESTS_CORE_ENGINE_REPLICA_REPLICATED_SCENE_H_
