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
    std::fputs(absl::StrFormat("draining: %d sessions are open, and are ended in %.1f s\n",
                               drain->open_sessions(), drain->remaining_s())
                   .c_str(),
               stdout);
  }
  if (absl::Status status = WriteJson(options.server.json, MessageJson(*drain)); !status.ok()) {
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
      "again can only shorten the time.\n\n"
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

}  // namespace voxloc::cli
