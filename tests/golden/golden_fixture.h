// SPDX-License-Identifier: Apache-2.0
//
// What all tests against golden sets begin with: every set there is, its map in an engine of this
// build. The CUDA engine's tests skip where there is no device.

#ifndef VOXLOC_TESTS_GOLDEN_GOLDEN_FIXTURE_H_
#define VOXLOC_TESTS_GOLDEN_GOLDEN_FIXTURE_H_

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/engine/engine.h"
#include "tests/support/golden_set.h"

namespace voxloc::golden {

// Relative error of the scores and poses that the files list as float32.
constexpr double kFloat32 = std::numeric_limits<float>::epsilon();

// A set and its map in an engine.
struct LoadedSet {
  GoldenSet set;
  Profile profile;
  Engine* engine = nullptr;
  std::shared_ptr<const ResidentMap> map;

  AlignJob MakeJob(const Pose& guess) const;
  // Of the alignments, those that are only to end finite.
  bool OnlyFinite(const std::string& label) const;
};

// Of a row-major 4x4 matrix.
Pose PoseOf(const nlohmann::json& matrix);
std::vector<Pose> PosesOf(const nlohmann::json& matrices);

std::vector<std::string> EngineNames();

// The parameter is the name of an engine.
class GoldenTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override;

  // Calls `check` with every set there is, as `change` returns it; skips, saying so, where there is
  // none.
  void ForEachGoldenSet(
      const std::function<void(const LoadedSet&)>& check,
      const std::function<GoldenSet(GoldenSet)>& change = [](GoldenSet set) { return set; });

 private:
  std::unique_ptr<Engine> engine_;
};

}  // namespace voxloc::golden

#endif  // VOXLOC_TESTS_GOLDEN_GOLDEN_FIXTURE_H_
