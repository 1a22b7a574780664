// SPDX-License-Identifier: Apache-2.0

#include "tests/support/test_engines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <mutex>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_split.h"
#include "core/engine/cpu/cpu_engine.h"
#include "tests/support/engine_scene.h"

#if defined(VOXLOC_HAVE_CUDA)
#include "cuda/cuda_engine.h"
#include "tests/support/cuda_device.h"
#endif

namespace voxloc {
namespace {

constexpr const char* kVariable = "VOXLOC_TEST_ENGINES";

// Why this machine cannot run the engine; empty where it can.
std::string MissingEngineReason(const std::string& name) {
  if (name == "cpu") return "";
#if defined(VOXLOC_HAVE_CUDA)
  if (name == "cuda") {
    return CudaDeviceError().empty() ? "" : "there is no CUDA device: " + CudaDeviceError();
  }
#else
  if (name == "cuda") return "this build has no CUDA engine";
#endif
  return "allowed are cpu and cuda";
}

[[noreturn]] void ExitWithError(const std::string& message) {
  std::cerr << message << std::endl;
  std::exit(EXIT_FAILURE);
}

std::string ChosenNames() {
  const char* chosen = std::getenv(kVariable);
  return chosen == nullptr ? "" : chosen;
}

absl::StatusOr<std::unique_ptr<Engine>> Make([[maybe_unused]] const std::string& name) {
#if defined(VOXLOC_HAVE_CUDA)
  if (name == "cuda") return MakeCudaEngine();
#endif
  return MakeCpuEngine({2});
}

struct SharedEngine {
  std::unique_ptr<Engine> engine;
  std::shared_ptr<const ResidentMap> scene;
};

// Of the process: never destroyed, as devices may be gone before static objects are.
SharedEngine& Shared(const std::string& name) {
  static std::mutex& mutex = *new std::mutex;
  static auto& engines = *new std::map<std::string, SharedEngine>;
  const std::lock_guard<std::mutex> lock(mutex);
  SharedEngine& shared = engines[name];
  if (shared.engine == nullptr) shared.engine = NewTestEngine(name);
  return shared;
}

}  // namespace

std::vector<std::string> TestEngineNames() {
  std::vector<std::string> names;
  const std::string chosen = ChosenNames();
  if (chosen.empty()) {
    for (const char* name : {"cpu", "cuda"}) {
      if (HasEngine(name)) names.emplace_back(name);
    }
    return names;
  }
  for (const std::string& name : std::vector<std::string>(absl::StrSplit(chosen, ','))) {
    const std::string why = MissingEngineReason(name);
    if (!why.empty()) {
      ExitWithError(std::string(kVariable) + " names the engine '" + name + "': " + why);
    }
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

bool HasEngine(const std::string& name) { return MissingEngineReason(name).empty(); }

Engine& TestEngine(const std::string& name) { return *Shared(name).engine; }

const std::shared_ptr<const ResidentMap>& TestEngineScene(const std::string& name) {
  SharedEngine& shared = Shared(name);
  if (shared.scene == nullptr)
    shared.scene = LoadMap(*shared.engine, {SceneMap()}, AllStatistics());
  return shared.scene;
}

std::unique_ptr<Engine> NewTestEngine(const std::string& name) {
  const std::string why = MissingEngineReason(name);
  if (!why.empty()) ExitWithError("the engine '" + name + "' cannot run here: " + why);
  auto engine = Make(name);
  if (!engine.ok())
    ExitWithError("the engine '" + name + "' cannot be made: " + engine.status().ToString());
  const EngineInfo info = (*engine)->Info();
  std::cout << name << " engine: " << info.device << std::endl;
  return *std::move(engine);
}

#if defined(VOXLOC_HAVE_CUDA)
// One skip a program stands for all instances that are left out.
TEST(TestEngines, RunOnTheDeviceUnlessOthersAreChosen) {
  const std::string chosen = ChosenNames();
  const std::string why = MissingEngineReason("cuda");
  if (chosen.empty() && !why.empty()) {
    GTEST_SKIP() << "the suites' instances for cuda are left out: " << why;
  }
  const std::vector<std::string> names = TestEngineNames();
  EXPECT_EQ(std::count(names.begin(), names.end(), "cuda"),
            chosen.empty() || chosen.find("cuda") != std::string::npos ? 1 : 0);
}
#endif

}  // namespace voxloc
