// SPDX-License-Identifier: Apache-2.0
//
// With server/main.cc: voxlocd on a fake GPU instead of the configured engine. On SIGUSR1 it fails
// permanently, on SIGUSR2 its calls fail from then on. The CPU engine is the standby, unless the
// environment has VOXLOC_NO_STANDBY.

#include <csignal>
#include <cstdlib>
#include <memory>
#include <utility>

#include "core/engine/cpu/cpu_engine.h"
#include "server/engines/engine_choice.h"
#include "tests/server/engines/fake_gpu.h"

namespace voxloc::server {
namespace {

GpuFaults* faults_of_the_gpu = nullptr;

void EndGpu(int /*signal*/) { faults_of_the_gpu->dead = true; }
void FailCalls(int /*signal*/) { faults_of_the_gpu->failing = true; }

}  // namespace

// The linker takes it for MakeEngine: --wrap in CMakeLists.txt.
absl::StatusOr<EngineChoice> MakeFailingGpu(const Config& config) __asm__(
    "__wrap__ZN6voxloc6server10MakeEngineERKNS0_6ConfigE");

absl::StatusOr<EngineChoice> MakeFailingGpu(const Config& /*config*/) {
  static const std::shared_ptr<GpuFaults> faults = std::make_shared<GpuFaults>();
  faults_of_the_gpu = faults.get();
  std::signal(SIGUSR1, &EndGpu);
  std::signal(SIGUSR2, &FailCalls);
  EngineChoice choice;
  choice.engine = std::make_unique<FakeGpu>(faults);
  choice.devices = {0};
  if (std::getenv("VOXLOC_NO_STANDBY") == nullptr) choice.standby = MakeCpuEngine({1});
  return choice;
}

}  // namespace voxloc::server
