// SPDX-License-Identifier: Apache-2.0
//
// FailingGpu: a server whose GPU fails permanently on command, while the CPU engine stands by. It
// outlives its server. Fail may be called from any thread.

#ifndef VOXLOC_TESTS_SERVER_ENGINES_FAILING_GPU_H_
#define VOXLOC_TESTS_SERVER_ENGINES_FAILING_GPU_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "server/config/command_line.h"
#include "server/server.h"

namespace voxloc::server {

struct GpuFaults;

class FailingGpu {
 public:
  enum class Kind {
    kMadeUp,  // two made-up GPUs, whose maps are not those of the CPU engine behind them
    kCuda,    // the GPUs of config.devices; a kernel that traps ends the context of the first
  };
  explicit FailingGpu(Kind kind);

  // As Server::Start, with this engine in place of config.engine. Made-up GPUs share
  // config.threads, and have little memory: the limit of the maps' memory is 16 GiB where the
  // configuration has none.
  [[nodiscard]] absl::StatusOr<std::unique_ptr<Server>> StartServer(
      CommandLine command_line, std::function<void()> end = [] {},
      const Server::StopRequested& stopping = {});

  // False: this build has no CUDA, or the kernel could not be launched.
  [[nodiscard]] bool Fail();

 private:
  const Kind kind_;
  const std::shared_ptr<GpuFaults> faults_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_TESTS_SERVER_ENGINES_FAILING_GPU_H_
