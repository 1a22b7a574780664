// SPDX-License-Identifier: Apache-2.0

#include "tests/cuda/engine/engine_pair.h"

#include <cstdlib>
#include <iostream>
#include <utility>

#include "cuda/cuda_engine.h"

namespace voxloc {

Engine& CudaEngine() {
  static Engine* const engine = [] {
    auto made = MakeCudaEngine();
    if (!made.ok()) {
      std::cerr << "the CUDA engine cannot be made: " << made.status() << std::endl;
      std::exit(EXIT_FAILURE);
    }
    const EngineInfo info = (*made)->Info();
    std::cout << "CUDA engine: " << info.device << ", " << info.memory_bytes_free << " of "
              << info.memory_bytes_total << " bytes free" << std::endl;
    return made->release();
  }();
  return *engine;
}

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
  static const auto& maps = *new MapPair(LoadMapPair({SceneMap()}, AllStatistics()));
  return maps;
}

AlignJob CudaSceneJob(const Profile& profile) {
  AlignJob job = SceneJob(profile);
  job.map = SceneMapPair().cuda;
  return job;
}

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
