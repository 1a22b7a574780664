// SPDX-License-Identifier: Apache-2.0
//
// voxlocd: reads the configuration, serves until a signal comes, drains; or backs maps up and
// restores them.

#include <signal.h>  // NOLINT(modernize-deprecated-headers): POSIX, which <csignal> is not
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "server/config/command_line.h"
#include "server/maintenance.h"
#include "server/observe/grpc_log.h"
#include "server/observe/logging.h"
#include "server/server.h"

namespace {

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
constexpr int kExitAddressTaken = 3;
constexpr int kExitRestart = 4;

int ExitCodeOf(const absl::Status& status) {
  if (absl::IsAlreadyExists(status)) return kExitAddressTaken;
  return absl::IsInvalidArgument(status) || absl::IsNotFound(status) ? kExitUsage : kExitFailed;
}

int Fail(const absl::Status& status) {
  std::cerr << "voxlocd: " << status.message() << std::endl;
  return ExitCodeOf(status);
}

int WaitFor(const sigset_t& signals) {
  int signal = 0;
  while (sigwait(&signals, &signal) != 0) {
  }
  return signal;
}

}  // namespace

int main(int argc, char** argv) {
  // Blocked before any thread is there, so that all inherit it: only sigwait sees them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);

  auto maintenance = voxloc::server::RunMaintenance(argc, argv);
  if (!maintenance.ok()) return Fail(maintenance.status());
  if (maintenance->has_value()) {
    std::cout << **maintenance;
    return EXIT_SUCCESS;
  }
  auto command_line = voxloc::server::ParseCommandLine(argc, argv, environ);
  if (!command_line.ok()) {
    Fail(command_line.status());
    return kExitUsage;
  }
  if (!command_line->text.empty()) {
    std::cout << command_line->text;
    return EXIT_SUCCESS;
  }
  voxloc::server::SendGrpcLogToOurs();
  static std::atomic<bool> restart{false};
  auto server = voxloc::server::Server::Start(*command_line, [] {
    restart = true;
    kill(getpid(), SIGTERM);
  });
  if (!server.ok()) return Fail(server.status());

  while (WaitFor(signals) == SIGHUP) {
    (*server)->Reload(voxloc::server::ParseCommandLine(argc, argv, environ));
  }
  // A second signal does not wait for the drain, during which nothing is reloaded.
  std::thread([signals] {
    int signal = WaitFor(signals);
    for (; signal == SIGHUP; signal = WaitFor(signals)) {
      voxloc::server::Log(voxloc::server::LogLevel::kWarn, "reload_ignored",
                          {{"detail", "the server drains"}});
    }
    std::_Exit(128 + signal);
  }).detach();
  (*server)->Drain();
  server->reset();
  return restart ? kExitRestart : EXIT_SUCCESS;
}
