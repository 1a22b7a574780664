// SPDX-License-Identifier: Apache-2.0
//
// What all tests against golden sets begin with: every set there is, its map in each engine.

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
#include "tests/support/engine_test.h"
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

class GoldenTest : public EngineTest {
 protected:
  // Calls `check` with every set there is, as `change` returns it; skips, saying so, where there is
  // none.
  void ForEachGoldenSet(
      const std::function<void(const LoadedSet&)>& check,
      const std::function<GoldenSet(GoldenSet)>& change = [](const GoldenSet& set) { return set; });
};

}  // namespace voxloc::golden

#endif  // VOXLOC_TESTS_GOLDEN_GOLDEN_FIXTURE_H_
