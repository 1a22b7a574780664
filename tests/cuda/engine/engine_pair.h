// SPDX-License-Identifier: Apache-2.0
//
// The CUDA engine beside the CPU engine, with the same maps in both.

#ifndef VOXLOC_TESTS_CUDA_ENGINE_ENGINE_PAIR_H_
#define VOXLOC_TESTS_CUDA_ENGINE_ENGINE_PAIR_H_

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "core/engine/engine.h"
#include "tests/support/cuda_device.h"
#include "tests/support/engine_scene.h"

namespace voxloc {

// Made once for the whole program. Only where there is a device.
Engine& CudaEngine();
// With a thread for each processor.
Engine& CpuEngine();

// Skips without a device. Every test ends with an engine that still computes.
class CudaEngineTest : public ::testing::Test {
 protected:
  void SetUp() override { VOXLOC_REQUIRE_CUDA_DEVICE(); }
  void TearDown() override {
    if (CudaDeviceError().empty()) {
      EXPECT_TRUE(CudaEngine().Health().ok()) << CudaEngine().Health();
    }
  }
};

// One map in both engines; null, and a failed test, where an engine cannot make it.
struct MapPair {
  std::shared_ptr<const ResidentMap> cpu;
  std::shared_ptr<const ResidentMap> cuda;
};
MapPair LoadMapPair(const std::vector<PointCloud>& tiles,
                    const std::vector<CellStatistics>& statistics);

// The synthetic scene under AllStatistics(), once for the whole program.
const MapPair& SceneMapPair();

// SceneJob() in the scene's map on the CUDA engine.
AlignJob CudaSceneJob(const Profile& profile);

// The jobs in another map: that of the other engine.
std::vector<AlignJob> InMap(std::vector<AlignJob> jobs,
                            const std::shared_ptr<const ResidentMap>& map);

// What both engines make of these jobs, whose maps are left out.
struct ResultPair {
  std::vector<AlignResult> cpu;
  std::vector<AlignResult> cuda;
};
ResultPair AlignOnBoth(const std::vector<AlignJob>& jobs, const MapPair& maps);

}  // namespace voxloc

#endif  // VOXLOC_TESTS_CUDA_ENGINE_ENGINE_PAIR_H_
