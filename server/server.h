// SPDX-License-Identifier: Apache-2.0
//
// Server: everything that serves, from the engine to the ports, and its life: Start, Reload,
// Drain, end. One process may have several. Start, Reload and Drain from one thread at a time.

#ifndef VOXLOC_SERVER_SERVER_H_
#define VOXLOC_SERVER_SERVER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/config/command_line.h"
#include "server/engines/engine_choice.h"

namespace voxloc::server {

class Server {
 public:
  // Whether to cancel the start.
  using StopRequested = std::function<bool()>;

  // Returns a serving server, with the ready file written. AlreadyExists: an address is taken;
  // InvalidArgument, FailedPrecondition: the configuration cannot be served; Cancelled: `stopping`,
  // which is polled between the steps of the start, returned true.
  // `end` is called on a thread of the server when its owner should drain and destroy it: its
  // engine has failed and on_engine_failure is `restart`.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Server>> Start(
      const CommandLine& command_line, std::function<void()> end = [] {},
      const StopRequested& stopping = {});
  // The same with an engine of the caller's, which is not warmed up.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Server>> Start(
      const CommandLine& command_line, EngineChoice choice, std::function<void()> end = [] {},
      const StopRequested& stopping = {});

  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  // Ends what Drain has not, at once.
  virtual ~Server() = default;

  // Reloads with the current configuration (ParseCommandLine with the arguments of the start).
  // Reloadable values take effect, other changed ones are logged, and the functions of OnReload are
  // called. A configuration with errors is logged and changes nothing. Ignored, with a line in the
  // log, while the server drains.
  virtual void Reload(const absl::StatusOr<CommandLine>& command_line) = 0;

  // Adds a function that Reload calls, in the order of registration. On an error it must keep its
  // previous state. `part` names it in the log. Call before the first Reload.
  virtual void OnReload(std::string part, std::function<absl::Status()> reload) = 0;

  // Drains (server/lifecycle/drain.h), continuing a drain that has begun, then closes the port.
  // Returns when all is over.
  virtual void Drain() = 0;

  // Reloads the TLS files and the access file now; the server also does so soon after they change.
  // Invalid files keep the previous state. From any thread.
  virtual absl::Status ReloadSecurity() = 0;

  // Address and port as served: "127.0.0.1:50051".
  [[nodiscard]] virtual const std::string& address() const = 0;
  [[nodiscard]] virtual const std::string& metrics_address() const = 0;  // empty: off

 protected:
  Server() = default;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SERVER_H_
