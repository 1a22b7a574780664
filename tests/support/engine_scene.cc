// SPDX-License-Identifier: Apache-2.0

#include "tests/support/engine_scene.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/geometry/euler.h"
#include "tests/support/random_numbers.h"

namespace voxloc {

std::vector<CellStatistics> AllStatistics() {
  return RequiredStatistics({AutowareProfile(), PreciseProfile()});
}

std::shared_ptr<const ResidentMap> LoadMap(Engine& engine, const std::vector<PointCloud>& tiles,
                                           const std::vector<CellStatistics>& statistics) {
  std::vector<std::shared_ptr<const ResidentTile>> built;
  for (const PointCloud& cloud : tiles) {
    auto tile = engine.BuildTile(cloud, statistics);
    EXPECT_TRUE(tile.ok()) << tile.status();
    if (!tile.ok()) return nullptr;
    built.push_back(*std::move(tile));
  }
  auto map = engine.Compose(built, statistics, nullptr);
  EXPECT_TRUE(map.ok()) << map.status();
  return map.ok() ? *map : nullptr;
}

std::vector<MapCell> AllCells(const ResidentMap& map, const CellStatistics& statistics) {
  const auto& all = map.statistics();
  const auto it = std::find(all.begin(), all.end(), statistics);
  EXPECT_NE(it, all.end()) << ToString(statistics);
  if (it == all.end()) return {};
  const auto index = static_cast<size_t>(it - all.begin());
  const Eigen::Vector3d reach = Eigen::Vector3d::Constant(1e12);
  auto cells = map.CellsInBox(index, -reach, reach, 100'000'000);
  EXPECT_TRUE(cells.ok()) << cells.status();
  EXPECT_EQ(cells->size(), map.cells(index));
  return *std::move(cells);
}

Pose ScenePose() {
  ChartVector chart;
  chart << 3.2, -2.1, 1.5, 0.02, -0.03, 0.7;
  return PoseFromChart(chart);
}

const SceneInEngine& SharedScene() {
  static const auto& scene = *[] {
    auto* made = new SceneInEngine;
    made->engine = MakeCpuEngine({2});
    made->map = LoadMap(*made->engine, {SceneMap()}, AllStatistics());
    return made;
  }();
  return scene;
}

AlignJob SceneJob(const Profile& profile, std::shared_ptr<const ResidentMap> map) {
  static const auto& scan =
      *new std::shared_ptr<const PointCloud>(new PointCloud(SceneScan(ScenePose(), 1500)));
  AlignJob job;
  job.map = std::move(map);
  job.scan = scan;
  job.map_T_base_guess = ScenePose();
  job.profile = profile;
  return job;
}

AlignJob SceneJob(const Profile& profile) { return SceneJob(profile, SharedScene().map); }

std::vector<AlignJob> PerturbedSceneJobs(const AlignJob& scene_job) {
  std::vector<AlignJob> jobs;
  for (int i = 0; i < 8; ++i) {
    AlignJob job = scene_job;
    const double heading = 2.0 * M_PI * i / 8.0;
    job.map_T_base_guess =
        Displaced(ScenePose(), {0.49 * std::cos(heading), 0.49 * std::sin(heading), 0.1},
                  (i % 2 == 0 ? 2.0 : -2.0) * kRadiansPerDegree);
    job.with_trace = true;
    jobs.push_back(job);
  }
  return jobs;
}

std::vector<Stage> StagesOfBothProfiles() {
  std::vector<Stage> stages = AutowareProfile().stages;
  for (const Stage& stage : PreciseProfile().stages) {
    stages.push_back(stage);
    stages.back().point_voxel_m = 0.0;
    stages.push_back(stages.back());
    stages.back().curvature = Curvature::kExact;
  }
  return stages;
}

ScoreRequest SceneScoreRequest(const Stage& stage, size_t poses,
                               std::shared_ptr<const ResidentMap> map) {
  AlignJob job = SceneJob(AutowareProfile(), std::move(map));
  ScoreRequest request;
  request.map = std::move(job.map);
  request.scan = job.scan;
  request.stage = stage;
  RandomNumbers random(61);
  for (size_t i = 0; i < poses; ++i) {
    request.map_T_base.push_back(
        Displaced(ScenePose(), random.InBox(0.8), random.Uniform(-0.05, 0.05)));
  }
  return request;
}

AlignResult AlignOne(Engine& engine, const AlignJob& job) {
  return std::move(engine.Align({&job, 1})[0]);
}

}  // namespace voxloc
