// SPDX-License-Identifier: Apache-2.0
//
// Selection of the engine: CPU or GPUs. A GPU is used only if it passes the self-test against the
// CPU engine. Only engine_factory.cc depends on implementations. Thread-safe: no shared state but
// the log.

#ifndef VOXLOC_SERVER_ENGINES_ENGINE_CHOICE_H_
#define VOXLOC_SERVER_ENGINES_ENGINE_CHOICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/engine/engine.h"
#include "server/config/config.h"

namespace voxloc::server {

// Where engines come from.
struct EngineSource {
  std::function<std::unique_ptr<Engine>()> make_cpu;
  // The GPUs that can be used; reports why there are none. Not set: this build has no GPU engine.
  std::function<int(std::string* no_gpu_reason)> count_gpus;
  std::function<absl::StatusOr<std::unique_ptr<Engine>>(uint32_t device)> make_gpu;
  // One engine that spreads its work over these.
  std::function<absl::StatusOr<std::unique_ptr<Engine>>(std::vector<std::unique_ptr<Engine>>)>
      make_replicated;
};

struct EngineChoice {
  std::unique_ptr<Engine> engine;
  std::vector<uint32_t> devices;  // its GPUs, in its order
  std::string note;               // why GPUs were left out; empty: none was
  // Takes over if `engine` fails permanently; may be null.
  std::unique_ptr<Engine> standby = nullptr;
};

// The reason for which the CPU engine must be used; empty: GPUs can be used. Starts no GPU.
// FailedPrecondition, InvalidArgument: `config` requests devices that this build or machine lacks.
[[nodiscard]] absl::StatusOr<std::string> CpuReason(const Config& config,
                                                    const EngineSource& source);

// `cpu` gives the CPU engine. `cuda` and `auto` give that of config.devices: devices that fail the
// self-test are left out with an error in the log, and where none is left the CPU engine serves.
// Where there is no GPU, or one does not start, `auto` gives the CPU engine and `cuda` an error.
// With GPUs, the CPU engine is the standby: an error that destroys the context of one GPU disables
// CUDA for the whole process, including other GPUs (docs/reliability.md).
//
// InvalidArgument: config.devices names one that there is not. FailedPrecondition: `cuda`, and this
// build or machine has no such engine; else what make_gpu and make_replicated return.
[[nodiscard]] absl::StatusOr<EngineChoice> ChooseEngine(const Config& config,
                                                        const EngineSource& source);

// The same with the engines of this build and the devices of this machine; CheckEngine returns the
// error of CpuReason.
[[nodiscard]] absl::Status CheckEngine(const Config& config);
[[nodiscard]] absl::StatusOr<EngineChoice> MakeEngine(const Config& config);

// The first alignment of an engine, which is slower than all others: memory is reserved, and the
// kernels are brought to the device. Aligns small made-up scans, one for each of the engine's
// devices, and logs how long it took. What is built is freed before it returns. An error: the
// engine cannot align; says why.
[[nodiscard]] absl::Status WarmUp(Engine& engine);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_ENGINES_ENGINE_CHOICE_H_
