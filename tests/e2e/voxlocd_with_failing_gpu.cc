// SPDX-License-Identifier: Apache-2.0
//
// With server/main.cc: voxlocd on a fake GPU that fails permanently on SIGUSR1, instead of the
// configured engine. The CPU engine is the standby.

#include <csignal>
#include <memory>
#include <utility>

#include "core/engine/cpu/cpu_engine.h"
#include "server/engines/engine_choice.h"
#include "tests/server/engines/fake_gpu.h"

namespace voxloc::server {
namespace {

GpuFaults* faults_of_the_gpu = nullptr;

void EndGpu(int /*signal*/) { faults_of_the_gpu->dead = true; }

}  // namespace

// The linker takes it for MakeEngine: --wrap in CMakeLists.txt.
absl::StatusOr<EngineChoice> MakeFailingGpu(const Config& config) __asm__(
    "__wrap__ZN6voxloc6server10MakeEngineERKNS0_6ConfigE");

absl::StatusOr<EngineChoice> MakeFailingGpu(const Config& /*config*/) {
  static const std::shared_ptr<GpuFaults> faults = std::make_shared<GpuFaults>();
  faults_of_the_gpu = faults.get();
  std::signal(SIGUSR1, &EndGpu);
  EngineChoice choice;
  choice.engine = std::make_unique<FakeGpu>(faults);
  choice.devices = {0};
  choice.standby = MakeCpuEngine({1});
  return choice;
}

}  // namespace voxloc::server
