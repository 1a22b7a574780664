// SPDX-License-Identifier: Apache-2.0
//
// voxlocd: reads the configuration, serves until a signal comes, drains; or backs maps up and
// restores them.

#include <signal.h>  // NOLINT(modernize-deprecated-headers): POSIX, which <csignal> is not
#include <sys/syscall.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "core/host/process_limits.h"
#include "core/parallel/deadlock_detection.h"
#include "core/status/try.h"
#include "server/config/command_line.h"
#include "server/config/config_input.h"
#include "server/lifecycle/lifecycle_requests.h"
#include "server/maps/store/sqlite_map_store.h"
#include "server/observe/logging.h"
#include "server/server.h"
#include "server/start_check.h"

namespace voxloc::server {
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

int Fail(const absl::Status& status) {
  std::cerr << "voxlocd: " << status.message() << std::endl;
  if (absl::IsAlreadyExists(status)) return kExitAddressTaken;
  return absl::IsInvalidArgument(status) || absl::IsNotFound(status) ? kExitUsage : kExitFailed;
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

[[noreturn]] void ReceiveSignals(LifecycleRequests& requests) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  while (true) {
    int signal = 0;
    if (sigwait(&signals, &signal) != 0) continue;
    if (signal != SIGHUP) {
      // A second one waits neither for the start nor for the drain.
      if (!requests.RequestShutdown()) std::_Exit(128 + signal);
    } else if (requests.ending()) {
      Log(LogLevel::kWarn, "reload_ignored", {{"detail", "the server drains"}});
    } else {
      requests.Reload();
    }
  }
}

constexpr char kBackupHelp[] =
    "Copy all maps of a data directory to a new file, also while a server uses the directory";
constexpr char kBackupFooter[] =
    "The copy is one moment of the directory: all revisions that were committed before it. Ctrl-C "
    "and SIGTERM end it and leave no file.\n\n"
    "Example:\n"
    "  voxlocd backup --data-dir /var/lib/voxloc --to /backup/maps-monday.db";
constexpr char kRestoreHelp[] = "Put a backup in the place of a data directory's maps";
constexpr char kRestoreFooter[] =
    "No server may use the directory. What was there is kept beside it under another name. Ctrl-C "
    "and SIGTERM end it, as long as the backup is copied and checked, and leave the directory as "
    "it "
    "was.\n\n"
    "Example:\n"
    "  voxlocd restore --data-dir /var/lib/voxloc --from /backup/maps-monday.db";

// Shows each tenth of the way once, and ends it when a signal asks for the end.
std::function<bool(double part)> Progress(const char* done) {
  return [done, shown = 0](double part) mutable {
    const int percent = static_cast<int>(100.0 * part);
    if (percent >= shown + 10) {
      shown = percent / 10 * 10;
      std::cerr << done << " " << shown << " %" << std::endl;
    }
    return PendingStop() == 0;
  };
}

// Runs `voxlocd backup ...` or `voxlocd restore ...` and returns what to print; nullopt: the
// arguments ask for a server. Shows its progress on standard error. InvalidArgument: wrong flags;
// Cancelled: a signal has ended it, and left everything as it was; else the errors of
// BackupMapStore and RestoreMapStore.
absl::StatusOr<std::optional<std::string>> RunMaintenance(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (command != "backup" && command != "restore") return std::nullopt;
  const bool backup = command == "backup";
  CLI::App app(backup ? kBackupHelp : kRestoreHelp, absl::StrCat("voxlocd ", command));
  app.footer(backup ? kBackupFooter : kRestoreFooter);
  std::string directory;
  std::string file;
  app.add_option("--data-dir", directory, "The data directory of a server")
      ->type_name("DIR")
      ->required();
  app.add_option(backup ? "--to" : "--from", file,
                 backup ? "Write this file, which must not exist" : "Read this file")
      ->type_name("FILE")
      ->required();
  try {
    app.parse(argc - 1, argv + 1);
  } catch (const CLI::CallForHelp&) {
    return app.help();
  } catch (const CLI::ParseError& error) {  // CLI11 reports by exception
    return absl::InvalidArgumentError(
        absl::StrCat(error.what(), ". See voxlocd ", command, " --help"));
  }
  if (backup) {
    VOXLOC_TRY(BackupMapStore(directory, file, Progress("backed up")));
    return absl::StrCat("the maps of ", directory, " are backed up in ", file, "\n");
  }
  VOXLOC_ASSIGN_OR_RETURN(const auto kept, RestoreMapStore(file, directory, Progress("copied")));
  return absl::StrCat("the maps of ", file, " are restored in ", directory,
                      kept.empty() ? "" : absl::StrCat("; what was there is kept as ", kept), "\n");
}

int Main(int argc, char** argv) {
  DisableDeadlockDetection();
  // The other signals are blocked before any thread is there (BlockSignals), so that all inherit
  // it: only sigwait sees them.
  signal(SIGPIPE, SIG_IGN);
  RaiseOpenFilesLimit();
  const auto maintenance = RunMaintenance(argc, argv);
  if (absl::IsCancelled(maintenance.status())) {
    Fail(maintenance.status());
    return 128 + PendingStop();
  }
  if (!maintenance.ok()) return Fail(maintenance.status());
  if (maintenance->has_value()) {
    std::cout << **maintenance;
    return EXIT_SUCCESS;
  }
  const auto check = [](const Config& config, ConfigErrors& errors) {
    CheckConfig(config, errors);
    CheckStart(config, errors);
  };
  const auto command_line = ParseCommandLine(argc, argv, environ, Settings(), check);
  if (!command_line.ok()) {
    Fail(command_line.status());
    return kExitUsage;
  }
  if (!command_line->text.empty()) {
    std::cout << command_line->text;
    return EXIT_SUCCESS;
  }
  RedirectGrpcLog();
  static auto& requests = *new LifecycleRequests;  // signals may come after main's end
  std::thread([] { ReceiveSignals(requests); }).detach();
  auto server = Server::Start(
      *command_line, [] { requests.RequestRestart(); }, [] { return requests.ending(); });
  const auto exit_code = [] { return requests.for_restart() ? kExitRestart : EXIT_SUCCESS; };
  if (absl::IsCancelled(server.status())) return exit_code();
  if (!server.ok()) return Fail(server.status());

  while (requests.AwaitReload()) (*server)->Reload(ParseCommandLine(argc, argv, environ));
  (*server)->Drain();
  server->reset();
  return exit_code();
}

}  // namespace
}  // namespace voxloc::server

int main(int argc, char** argv) { return voxloc::server::Main(argc, argv); }
