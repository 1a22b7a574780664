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
  // Whether the start is to be given up.
  using StopRequested = std::function<bool()>;

  // Serving when it returns, with the ready file written. AlreadyExists: an address is taken;
  // InvalidArgument, FailedPrecondition: the configuration cannot be served; Cancelled: `stopping`,
  // which is asked between the steps of the start, said so.
  // `end` is called, on a thread of the server's, when the server is to be drained and ended by its
  // owner: its engine has failed and on_engine_failure is `restart`.
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
  ~Server();

  // With what the sources of the configuration say now (ParseCommandLine with the arguments of the
  // start). Values that can be reloaded take effect, the log names those that differ and cannot,
  // and the parts of OnReload are asked. A configuration with errors changes nothing and asks
  // nobody: the errors are logged. While the server drains, nothing happens but a line in the log.
  void Reload(const absl::StatusOr<CommandLine>& command_line);

  // `reload` is asked by each Reload, in the order of the calls of OnReload: to read files of its
  // own, which it keeps as they were where it returns an error. `part` names it in the log. Before
  // the first Reload.
  void OnReload(std::string part, std::function<absl::Status()> reload);

  // Drains (server/lifecycle/drain.h), in what is left of a drain that has begun, then closes the
  // port. Returns when all is over.
  void Drain();

  // Reads the files of TLS and the access file now, as the server does by itself soon after they
  // change. What is wrong stays as it was. From any thread.
  absl::Status ReloadSecurity();

  // Address and port as served: "127.0.0.1:50051".
  [[nodiscard]] const std::string& address() const;
  [[nodiscard]] const std::string& metrics_address() const;  // empty: off

 private:
  class Impl;
  using ChooseEngineFor = std::function<absl::StatusOr<EngineChoice>(const Config& config)>;
  static absl::StatusOr<std::unique_ptr<Server>> StartWith(const CommandLine& command_line,
                                                           const ChooseEngineFor& choose,
                                                           std::function<void()> end,
                                                           const StopRequested& stopping);
  explicit Server(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SERVER_H_
