// SPDX-License-Identifier: Apache-2.0
//
// voxlocd: reads the configuration, serves until a signal comes, drains; or backs maps up and
// restores them.

#include <signal.h>  // NOLINT(modernize-deprecated-headers): POSIX, which <csignal> is not
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "core/host/process_limits.h"
#include "core/parallel/deadlock_detection.h"
#include "server/config/command_line.h"
#include "server/config/config_input.h"
#include "server/lifecycle/lifecycle_requests.h"
#include "server/maintenance.h"
#include "server/observe/logging.h"
#include "server/server.h"
#include "server/start_check.h"

namespace {

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
constexpr int kExitAddressTaken = 3;
constexpr int kExitRestart = 4;

// The signals that main waits for are blocked before any library of the program begins, which takes
// milliseconds: one that comes meanwhile waits. Sanitizers do not work yet at this time.
#ifdef __clang__
__attribute__((disable_sanitizer_instrumentation))
#endif
void BlockSignals() {
  const uint64_t set = (uint64_t{1} << (SIGHUP - 1)) | (uint64_t{1} << (SIGINT - 1)) |
                       (uint64_t{1} << (SIGTERM - 1));
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, nullptr, sizeof(set));
}
__attribute__((section(".preinit_array"), used)) void (*const block_signals)() = BlockSignals;

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

// The signal that asks for the end and that nobody has received yet; 0: none.
int PendingStop() {
  sigset_t pending;
  sigemptyset(&pending);
  sigpending(&pending);
  for (const int signal : {SIGINT, SIGTERM}) {
    if (sigismember(&pending, signal) == 1) return signal;
  }
  return 0;
}

[[noreturn]] void ReceiveSignals(const sigset_t& signals,
                                 voxloc::server::LifecycleRequests& requests) {
  while (true) {
    const int signal = WaitFor(signals);
    if (signal != SIGHUP) {
      // A second one waits neither for the start nor for the drain.
      if (!requests.RequestShutdown()) std::_Exit(128 + signal);
    } else if (requests.ending()) {
      voxloc::server::Log(voxloc::server::LogLevel::kWarn, "reload_ignored",
                          {{"detail", "the server drains"}});
    } else {
      requests.Reload();
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  voxloc::DisableDeadlockDetection();
  // Blocked before any thread is there (BlockSignals), so that all inherit it: only sigwait sees
  // them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  signal(SIGPIPE, SIG_IGN);

  voxloc::RaiseOpenFilesLimit();
  const auto maintenance =
      voxloc::server::RunMaintenance(argc, argv, [] { return PendingStop() != 0; });
  if (absl::IsCancelled(maintenance.status())) {
    Fail(maintenance.status());
    return 128 + PendingStop();
  }
  if (!maintenance.ok()) return Fail(maintenance.status());
  if (maintenance->has_value()) {
    std::cout << **maintenance;
    return EXIT_SUCCESS;
  }
  const auto check = [](const voxloc::server::Config& config,
                        voxloc::server::ConfigErrors& errors) {
    voxloc::server::CheckConfig(config, errors);
    voxloc::server::CheckStart(config, errors);
  };
  auto command_line =
      voxloc::server::ParseCommandLine(argc, argv, environ, voxloc::server::Settings(), check);
  if (!command_line.ok()) {
    Fail(command_line.status());
    return kExitUsage;
  }
  if (!command_line->text.empty()) {
    std::cout << command_line->text;
    return EXIT_SUCCESS;
  }
  voxloc::server::RedirectGrpcLog();
  static auto& requests =
      *new voxloc::server::LifecycleRequests;  // signals may come after main's end
  std::thread([signals] { ReceiveSignals(signals, requests); }).detach();
  auto server = voxloc::server::Server::Start(
      *command_line, [] { requests.RequestRestart(); }, [] { return requests.ending(); });
  const auto exit_code = [] { return requests.for_restart() ? kExitRestart : EXIT_SUCCESS; };
  if (absl::IsCancelled(server.status())) return exit_code();
  if (!server.ok()) return Fail(server.status());

  while (requests.AwaitReload()) {
    (*server)->Reload(voxloc::server::ParseCommandLine(argc, argv, environ));
  }
  (*server)->Drain();
  server->reset();
  return exit_code();
}
