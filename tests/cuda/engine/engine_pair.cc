// SPDX-License-Identifier: Apache-2.0

#include "tests/cuda/engine/engine_pair.h"

#include <utility>

#include "core/engine/cpu/cpu_engine.h"
#include "tests/support/test_engines.h"

namespace voxloc {

Engine& CudaEngine() { return TestEngine("cuda"); }

Engine& CpuEngine() {
  static Engine* const engine = MakeCpuEngine().release();
  return *engine;
}

MapPair LoadMapPair(const std::vector<PointCloud>& tiles,
                    const std::vector<CellStatistics>& statistics) {
  MapPair maps;
  maps.cpu = LoadMap(CpuEngine(), tiles, statistics);
  maps.cuda = LoadMap(CudaEngine(), tiles, statistics);
  return maps;
}

const MapPair& SceneMapPair() {
  static const auto& maps =
      *new MapPair{LoadMap(CpuEngine(), {SceneMap()}, AllStatistics()), TestEngineScene("cuda")};
  return maps;
}

AlignJob CudaSceneJob(const Profile& profile) { return SceneJob(profile, SceneMapPair().cuda); }

std::vector<AlignJob> InMap(std::vector<AlignJob> jobs,
                            const std::shared_ptr<const ResidentMap>& map) {
  for (AlignJob& job : jobs) job.map = map;
  return jobs;
}

ResultPair AlignOnBoth(const std::vector<AlignJob>& jobs, const MapPair& maps) {
  ResultPair results;
  results.cpu = CpuEngine().Align(InMap(jobs, maps.cpu));
  results.cuda = CudaEngine().Align(InMap(jobs, maps.cuda));
  EXPECT_EQ(results.cpu.size(), jobs.size());
  EXPECT_EQ(results.cuda.size(), jobs.size());
  results.cuda.resize(jobs.size());
  return results;
}

}  // namespace voxloc
