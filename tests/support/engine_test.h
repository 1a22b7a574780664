// SPDX-License-Identifier: Apache-2.0
//
// EngineTest: a suite that runs on every engine, see test_engines.h. Derive from it, write TEST_P,
// and instantiate with VOXLOC_INSTANTIATE_ON_ENGINES, which names the cases `Suite.Case/cuda`.

#ifndef VOXLOC_TESTS_SUPPORT_ENGINE_TEST_H_
#define VOXLOC_TESTS_SUPPORT_ENGINE_TEST_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>

#include "core/engine/engine.h"
#include "tests/support/engine_scene.h"
#include "tests/support/test_engines.h"

namespace voxloc {

// The parameter is the engine's name. Every test ends with an engine that still computes.
class EngineTest : public ::testing::TestWithParam<std::string> {
 protected:
  void TearDown() override;

  // The process's engine of that name: shared by all tests, so its maps and tiles are too.
  static Engine& engine() { return TestEngine(GetParam()); }
  // A forwarding engine to it, for callers that need ownership.
  static std::unique_ptr<Engine> EngineHandle();

  // The synthetic scene in this engine, and what engine_scene.h has for it.
  static const std::shared_ptr<const ResidentMap>& scene_map() {
    return TestEngineScene(GetParam());
  }
  static AlignJob SceneJob(const Profile& profile) {
    return voxloc::SceneJob(profile, scene_map());
  }
  static ScoreRequest SceneScoreRequest(const Stage& stage, size_t poses) {
    return voxloc::SceneScoreRequest(stage, poses, scene_map());
  }
};

}  // namespace voxloc

#define VOXLOC_INSTANTIATE_ON_ENGINES(suite)                                          \
  INSTANTIATE_TEST_SUITE_P(, suite, ::testing::ValuesIn(::voxloc::TestEngineNames()), \
                           ::voxloc::NameByEngine)

#endif  // VOXLOC_TESTS_SUPPORT_ENGINE_TEST_H_
