// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/str_format.h"
#include "clients/cli/commands.h"
#include "clients/cli/message_json.h"
#include "clients/cli/server_flags.h"
#include "clients/cpp/admin_client.h"

namespace voxloc::cli {
namespace {

// What Kubernetes gives a pod by default (terminationGracePeriodSeconds).
constexpr double kDefaultGraceS = 30.0;

struct AdminDrainFlags {
  ServerFlags server;
  double grace_s = kDefaultGraceS;
  std::string reason;
};

absl::StatusOr<ExitCode> DrainServer(const AdminDrainFlags& options) {
  absl::StatusOr<client::Channel> channel = Connect(options.server);
  if (!channel.ok()) return channel.status();
  const absl::StatusOr<v1::DrainResponse> drain =
      client::Drain(*channel, options.grace_s, options.reason, options.server.timeout_s);
  if (!drain.ok()) return drain.status();
  if (options.server.prints_text()) {
    const bool one = drain->open_sessions() == 1;
    absl::PrintF("draining: %d session%s open, and %s ended in %.1f s\n", drain->open_sessions(),
                 one ? " is" : "s are", one ? "is" : "are", drain->remaining_s());
  }
  if (absl::Status status = WriteJson(options.server.json, MessageJson(*drain)); !status.ok()) {
    return status;
  }
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> UndrainServer(const ServerFlags& flags) {
  absl::StatusOr<client::Channel> channel = Connect(flags);
  if (!channel.ok()) return channel.status();
  const absl::StatusOr<v1::UndrainResponse> undrained = client::Undrain(*channel, flags.timeout_s);
  if (!undrained.ok()) return undrained.status();
  if (flags.prints_text()) {
    absl::PrintF("the server takes new sessions again; %d session%s open\n",
                 undrained->open_sessions(), undrained->open_sessions() == 1 ? " is" : "s are");
  }
  if (absl::Status status = WriteJson(flags.json, MessageJson(*undrained)); !status.ok()) {
    return status;
  }
  return ExitCode::kOk;
}

}  // namespace

void AddAdminDrainCommand(CLI::App* parent, Work* chosen) {
  auto options = std::make_shared<AdminDrainFlags>();
  CLI::App* command = parent->add_subcommand("drain", "Make a server ready to be stopped");
  command->footer(
      "The server reports that it is not ready, refuses new sessions, asks the open ones to go\n"
      "elsewhere, and ends them when the grace time has passed. It does not end itself. Asking\n"
      "again can only shorten the time; voxloc admin undrain takes it back.\n\n"
      "Example:\n  voxloc admin drain --server localhost:50051 --grace 60 --reason maintenance");
  command
      ->add_option("--grace", options->grace_s,
                   "End the remaining streams after this many seconds; >= 0")
      ->type_name("SECONDS")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--reason", options->reason, "Pass this reason on to the sessions")
      ->type_name("TEXT");
  AddServerFlags(command, &options->server);
  command->callback([options, chosen] { *chosen = [options] { return DrainServer(*options); }; });
}

void AddAdminUndrainCommand(CLI::App* parent, Work* chosen) {
  auto flags = std::make_shared<ServerFlags>();
  CLI::App* command = parent->add_subcommand("undrain", "Take a drain of a server back");
  command->footer(
      "The server is ready again and takes new sessions. Those that were asked to go elsewhere "
      "may\n"
      "have gone. A server that is being stopped (SIGTERM) goes on draining.\n\n"
      "Example:\n  voxloc admin undrain --server localhost:50051");
  AddServerFlags(command, flags.get());
  command->callback([flags, chosen] { *chosen = [flags] { return UndrainServer(*flags); }; });
}

}  // namespace voxloc::cli
