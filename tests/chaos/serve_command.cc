// SPDX-License-Identifier: Apache-2.0
//
// `voxloc_chaos serve`: voxlocd with an engine that fails on command. SIGUSR1 makes it fail,
// SIGTERM drains and ends the server.

#include <signal.h>  // NOLINT(modernize-deprecated-headers): POSIX, which <csignal> is not
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/host/process_limits.h"
#include "server/config/command_line.h"
#include "server/observe/logging.h"
#include "server/server.h"
#include "tests/chaos/chaos_options.h"
#include "tests/server/engines/failing_gpu.h"

namespace voxloc::chaos {
namespace {

struct ServeFlags {
  std::string gpu = "made-up";
  uint64_t max_open_files = 0;
  std::vector<std::string> settings;
};

absl::StatusOr<std::unique_ptr<server::Server>> StartServer(
    const ServeFlags& flags, std::optional<server::FailingGpu>& failing) {
  std::vector<const char*> arguments = {"voxlocd"};
  for (const std::string& setting : flags.settings) arguments.push_back(setting.c_str());
  auto command_line =
      server::ParseCommandLine(static_cast<int>(arguments.size()), arguments.data(), environ);
  if (!command_line.ok()) return command_line.status();
  if (flags.gpu == "none") {
    command_line->config.engine = "cpu";
    return server::Server::Start(*command_line);
  }
  failing.emplace(flags.gpu == "cuda" ? server::FailingGpu::Kind::kCuda
                                      : server::FailingGpu::Kind::kMadeUp);
  return failing->StartServer(*std::move(command_line));
}

absl::StatusOr<Report> Serve(const ServeFlags& flags) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // a scenario that ends leaves no server behind
  // Blocked before any thread is there, so that all inherit it: only sigwait sees them.
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  if (flags.max_open_files > 0) {
    const rlimit limit = {flags.max_open_files, flags.max_open_files};
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
      return absl::InternalError("the limit of open files cannot be set");
    }
  }
  RaiseOpenFilesLimit();
  server::RedirectGrpcLog();
  std::optional<server::FailingGpu> failing;
  const auto server = StartServer(flags, failing);
  if (!server.ok()) return server.status();
  for (int signal = 0; sigwait(&signals, &signal) != 0 || signal == SIGUSR1;) {
    if (!failing.has_value() || !failing->Fail()) {
      return absl::FailedPreconditionError("there is no GPU that can fail");
    }
  }
  (*server)->Drain();
  return Report();
}

}  // namespace

Command AddServeCommand(CLI::App& program) {
  auto flags = std::make_shared<ServeFlags>();
  CLI::App* const app =
      program.add_subcommand("serve",
                             "Serves as voxlocd, with an engine that fails on SIGUSR1. The other "
                             "commands start it; run it "
                             "to try a client against a failing server:\n"
                             "  voxloc_chaos serve --listen=127.0.0.1:50051 & kill -USR1 $!");
  app->add_option("--gpu", flags->gpu, "the engine that can fail, as in the other commands")
      ->check(CLI::IsMember({"none", "made-up", "cuda"}))
      ->capture_default_str();
  app->add_option("--max-open-files", flags->max_open_files,
                  "let the server have at most so many open files; 0: as many as it may")
      ->capture_default_str();
  app->allow_extras();
  app->footer("Further flags are those of voxlocd, as --KEY=VALUE.");
  return {app, [flags, app] {
            flags->settings = app->remaining();
            return Serve(*flags);
          }};
}

}  // namespace voxloc::chaos
