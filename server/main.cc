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
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/host/open_files.h"
#include "core/parallel/lock_checks.h"
#include "server/config/command_line.h"
#include "server/config_check.h"
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

// What has been asked for by signals. Thread-safe.
class SignalsReceived {
 public:
  void Reload() {
    const absl::MutexLock lock(&mutex_);
    reload_ = true;
  }
  // False: it was asked for before.
  bool Stop() {
    const absl::MutexLock lock(&mutex_);
    return !std::exchange(stop_, true);
  }
  [[nodiscard]] bool stopping() const {
    const absl::MutexLock lock(&mutex_);
    return stop_;
  }
  // Waits for the next signal. False: it asks for the end, and for nothing before.
  [[nodiscard]] bool AwaitReload() {
    const absl::MutexLock lock(&mutex_);
    const auto any = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stop_ || reload_; };
    mutex_.Await(absl::Condition(&any));
    return std::exchange(reload_, false);
  }

 private:
  mutable absl::Mutex mutex_;
  bool reload_ ABSL_GUARDED_BY(mutex_) = false;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
};

[[noreturn]] void ReceiveSignals(const sigset_t& signals, SignalsReceived& received) {
  while (true) {
    const int signal = WaitFor(signals);
    if (signal != SIGHUP) {
      // A second one waits neither for the start nor for the drain.
      if (!received.Stop()) std::_Exit(128 + signal);
    } else if (received.stopping()) {
      voxloc::server::Log(voxloc::server::LogLevel::kWarn, "reload_ignored",
                          {{"detail", "the server drains"}});
    } else {
      received.Reload();
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  voxloc::SkipLockChecks();
  // Blocked before any thread is there, so that all inherit it: only sigwait sees them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
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
  auto command_line = voxloc::server::ParseCommandLine(argc, argv, environ);
  if (!command_line.ok()) {
    Fail(command_line.status());
    return kExitUsage;
  }
  if (command_line->checks) {
    const absl::Status status = voxloc::server::CheckConfig(command_line->config);
    if (!status.ok()) {
      Fail(status);
      return kExitUsage;
    }
  }
  if (!command_line->text.empty()) {
    std::cout << command_line->text;
    return EXIT_SUCCESS;
  }
  voxloc::server::SendGrpcLogToOurs();
  static auto& received = *new SignalsReceived;  // a signal may come when main has returned
  std::thread([signals] { ReceiveSignals(signals, received); }).detach();
  static std::atomic<bool> restart{false};
  auto server = voxloc::server::Server::Start(
      *command_line,
      [] {
        restart = true;
        kill(getpid(), SIGTERM);
      },
      [] { return received.stopping(); });
  if (absl::IsCancelled(server.status())) return EXIT_SUCCESS;
  if (!server.ok()) return Fail(server.status());

  while (received.AwaitReload()) {
    (*server)->Reload(voxloc::server::ParseCommandLine(argc, argv, environ));
  }
  (*server)->Drain();
  server->reset();
  return restart ? kExitRestart : EXIT_SUCCESS;
}
