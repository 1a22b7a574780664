// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "clients/cli/commands.h"
#include "clients/cli/message_json.h"
#include "clients/cli/server_flags.h"
#include "clients/cli/text_table.h"
#include "clients/cpp/admin_client.h"

namespace voxloc::cli {
namespace {

std::string ConfigText(const v1::GetConfigResponse& config) {
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
  TextTable table({{"key"}, {"value"}, {"source"}, {"place"}, {"change"}});
  for (const v1::ConfigEntry& entry : config.entries()) {
    table.AddRow({entry.key(), entry.value(), source(entry.source()), entry.place(),
                  entry.reloadable() ? "SIGHUP" : "restart"});
  }
  return table.Text();
}

absl::StatusOr<ExitCode> ShowConfig(const ServerFlags& flags) {
  absl::StatusOr<client::Channel> channel = Connect(flags);
  if (!channel.ok()) return channel.status();
  const absl::StatusOr<v1::GetConfigResponse> config = client::GetConfig(*channel, flags.timeout_s);
  if (!config.ok()) return config.status();
  if (flags.prints_text()) std::fputs(ConfigText(*config).c_str(), stdout);
  if (absl::Status status = WriteJson(flags.json, MessageJson(*config)); !status.ok()) {
    return status;
  }
  return ExitCode::kOk;
}

}  // namespace

void AddAdminConfigCommand(CLI::App* parent, Work* chosen) {
  auto flags = std::make_shared<ServerFlags>();
  CLI::App* command = parent->add_subcommand("config", "Report a server's configuration in effect");
  command->footer(
      "For each key of the configuration, its value, where it comes from (default, detected at "
      "start,\n"
      "file, environment or flag, with the place), and whether a change takes a SIGHUP or a "
      "restart.\n\n"
      "Example:\n  voxloc admin config --server localhost:50051");
  AddServerFlags(command, flags.get());
  command->callback([flags, chosen] { *chosen = [flags] { return ShowConfig(*flags); }; });
}

}  // namespace voxloc::cli
