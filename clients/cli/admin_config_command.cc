// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "clients/cli/commands.h"
#include "clients/cli/message_json.h"
#include "clients/cli/server_flags.h"
#include "clients/cli/terminal_size.h"
#include "clients/cli/text_table.h"
#include "clients/cpp/admin_client.h"

namespace voxloc::cli {
namespace {

std::string ConfigText(const v1::GetConfigResponse& config, size_t max_columns) {
  const auto source = [](v1::ConfigSource from) -> std::string {
    switch (from) {
      case v1::CONFIG_SOURCE_DEFAULT:
        return "default";
      case v1::CONFIG_SOURCE_FILE:
        return "file";
      case v1::CONFIG_SOURCE_ENVIRONMENT:
        return "environment";
      case v1::CONFIG_SOURCE_FLAG:
        return "flag";
      case v1::CONFIG_SOURCE_DETECTED:
        return "detected";
      default:
        return "unknown";
    }
  };
  TextTable table("key|value|source|place|change");
  for (const v1::ConfigEntry& entry : config.entries()) {
    table.AddRow({entry.key(), entry.value(), source(entry.source()), entry.place(),
                  entry.reloadable() ? "SIGHUP" : "restart"});
  }
  return table.Text(max_columns);
}

struct AdminConfigFlags {
  ServerFlags server;
  size_t width = 0;
};

absl::StatusOr<ExitCode> ShowConfig(const AdminConfigFlags& options) {
  const ServerFlags& flags = options.server;
  absl::StatusOr<client::Channel> channel = Connect(flags);
  if (!channel.ok()) return channel.status();
  const absl::StatusOr<v1::GetConfigResponse> config = client::GetConfig(*channel, flags.timeout_s);
  if (!config.ok()) return config.status();
  if (flags.prints_text()) {
    const size_t width = options.width > 0 ? options.width : SizeOfTerminal().columns;
    std::fputs(ConfigText(*config, width).c_str(), stdout);
  }
  if (absl::Status status = WriteJson(flags.json, MessageJson(*config)); !status.ok()) {
    return status;
  }
  return ExitCode::kOk;
}

}  // namespace

void AddAdminConfigCommand(CLI::App* parent, Work* chosen) {
  auto flags = std::make_shared<AdminConfigFlags>();
  CLI::App* command = parent->add_subcommand("config", "Report a server's configuration in effect");
  command->footer(
      "For each key of the configuration, its value, where it comes from (default, detected at "
      "start,\n"
      "file, environment or flag, with the place), and whether a change takes a SIGHUP or a "
      "restart.\n\n"
      "Example:\n  voxloc admin config --server localhost:50051");
  command
      ->add_option("--width", flags->width,
                   "Cut lines to N columns; 0: those of the terminal, and no limit without one")
      ->type_name("N")
      ->check(CLI::Range(0, 10'000))
      ->capture_default_str();
  AddServerFlags(command, &flags->server);
  command->callback([flags, chosen] { *chosen = [flags] { return ShowConfig(*flags); }; });
}

}  // namespace voxloc::cli
