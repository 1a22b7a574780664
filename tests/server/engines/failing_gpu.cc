// SPDX-License-Identifier: Apache-2.0

#include "tests/server/engines/failing_gpu.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/engine/cpu/cpu_engine.h"
#include "core/engine/replica/replicated_engine.h"
#include "core/parallel/processors.h"
#include "tests/server/engines/fake_gpu.h"
#if defined(VOXLOC_HAVE_CUDA)
#include "tests/cuda/engine/fault_kernel.h"
#endif

namespace voxloc::server {
namespace {

constexpr size_t kGpus = 2;

absl::StatusOr<EngineChoice> MadeUpGpus(const std::shared_ptr<GpuFaults>& faults, size_t threads) {
  std::vector<std::unique_ptr<Engine>> gpus;
  EngineChoice choice;
  for (uint32_t i = 0; i < kGpus; ++i) {
    const size_t share = std::max<size_t>(1, threads / kGpus);
    gpus.push_back(std::make_unique<FakeGpu>(faults, MakeCpuEngine({share})));
    choice.devices.push_back(i);
  }
  auto united = MakeReplicatedEngine(std::move(gpus));
  if (!united.ok()) return united.status();
  choice.engine = *std::move(united);
  choice.standby = MakeCpuEngine({threads});
  return choice;
}

}  // namespace

FailingGpu::FailingGpu(Kind kind) : kind_(kind), faults_(std::make_shared<GpuFaults>()) {}

absl::StatusOr<std::unique_ptr<Server>> FailingGpu::StartServer(
    CommandLine command_line, std::function<void()> end, const Server::StopRequested& stopping) {
  Config& config = command_line.config;
  if (kind_ == Kind::kCuda) {
    config.engine = "cuda";
    return Server::Start(command_line, std::move(end), stopping);
  }
  config.engine = "cpu";
  if (config.limits.max_map_memory_bytes == 0) {
    config.limits.max_map_memory_bytes = uint64_t{16} << 30;
  }
  auto choice = MadeUpGpus(faults_, config.threads != 0 ? config.threads : UsableProcessors());
  if (!choice.ok()) return choice.status();
  return Server::Start(command_line, *std::move(choice), std::move(end), stopping);
}

bool FailingGpu::Fail() {
  if (kind_ == Kind::kMadeUp) {
    faults_->dead = true;
    return true;
  }
#if defined(VOXLOC_HAVE_CUDA)
  return EndCudaContext();
#else
  return false;
#endif
}

}  // namespace voxloc::server
