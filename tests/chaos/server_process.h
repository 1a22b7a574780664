// SPDX-License-Identifier: Apache-2.0
//
// ServerProcess: `voxloc_chaos serve` as a process of its own, which can be drained, killed,
// stopped and started again at the same addresses with the same maps. For one thread.

#ifndef VOXLOC_TESTS_CHAOS_SERVER_PROCESS_H_
#define VOXLOC_TESTS_CHAOS_SERVER_PROCESS_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/e2e/child_process.h"

namespace voxloc::chaos {

struct ServerOptions {
  std::string program;                // voxloc_chaos; empty: this program
  std::string gpu = "none";           // none, made-up, cuda
  uint32_t threads = 0;               // of the engine; 0: one per usable processor
  std::vector<std::string> settings;  // KEY=VALUE, as the flags of voxlocd
  uint64_t max_open_files = 0;        // 0: as many as it may
};

class ServerProcess {
 public:
  // Ready when it returns, at a free port, with its files in `folder`, which must be there.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<ServerProcess>> Start(
      const ServerOptions& options, const std::string& folder);

  // Ends it by this signal and waits; its exit code, -1 where a signal ended it.
  int End(int signal);
  // Starts it again at the same address, once it has ended. No other process takes the port
  // meanwhile, since the address is OwnLoopback.
  [[nodiscard]] absl::Status Relaunch();

  void Signal(int signal) const;
  [[nodiscard]] pid_t pid() const { return process_->pid(); }
  [[nodiscard]] bool running() { return process_->running(); }
  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] const std::string& metrics_address() const { return metrics_address_; }

  // The values of GET /metrics by name and labels; empty where it cannot be had.
  [[nodiscard]] std::map<std::string, double> Metrics() const;

 private:
  ServerProcess(ServerOptions options, std::string folder);
  absl::Status Launch(const std::string& listen);

  const ServerOptions options_;
  const std::string folder_;
  int starts_ = 0;
  std::string address_;
  std::string metrics_address_;
  std::unique_ptr<ChildProcess> process_;
};

}  // namespace voxloc::chaos

#endif  // VOXLOC_TESTS_CHAOS_SERVER_PROCESS_H_
