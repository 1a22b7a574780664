// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "clients/cli/commands.h"
#include "clients/cli/contract_names.h"
#include "clients/cli/json_output.h"
#include "clients/cli/server_flags.h"
#include "clients/cpp/admin_client.h"

namespace voxloc::cli {
namespace {

struct AdminLogLevelFlags {
  ServerFlags server;
  std::string level;
};

std::map<std::string, v1::LogLevel> LogLevels() {
  std::map<std::string, v1::LogLevel> levels;
  const google::protobuf::EnumDescriptor& all = *v1::LogLevel_descriptor();
  for (int v = 0; v < all.value_count(); ++v) {
    const auto level = static_cast<v1::LogLevel>(all.value(v)->number());
    if (level != v1::LOG_LEVEL_UNSPECIFIED) levels[EnumWord(*all.value(v))] = level;
  }
  return levels;
}

std::string WordOf(v1::LogLevel level) {
  const auto* value = v1::LogLevel_descriptor()->FindValueByNumber(level);
  return value == nullptr ? absl::StrCat(static_cast<int>(level)) : EnumWord(*value);
}

absl::StatusOr<ExitCode> SetLevel(const AdminLogLevelFlags& options) {
  absl::StatusOr<client::Channel> channel = Connect(options.server);
  if (!channel.ok()) return channel.status();
  const absl::StatusOr<v1::LogLevel> previous =
      client::SetLogLevel(*channel, LogLevels().at(options.level), options.server.timeout_s);
  if (!previous.ok()) return previous.status();
  const std::string before = WordOf(*previous);
  if (options.server.prints_text()) {
    std::fputs(absl::StrCat("the log level is ", options.level, "; it was ", before, "\n").c_str(),
               stdout);
  }
  const Json result = {{"level", options.level}, {"previous_level", before}};
  if (absl::Status status = WriteJson(options.server.json, result); !status.ok()) return status;
  return ExitCode::kOk;
}

}  // namespace

void AddAdminLogLevelCommand(CLI::App* parent, Work* chosen) {
  auto options = std::make_shared<AdminLogLevelFlags>();
  CLI::App* command =
      parent->add_subcommand("log-level", "Set how much a server logs, until it ends");
  command->footer("Example:\n  voxloc admin log-level --server localhost:50051 debug");
  command->add_option("LEVEL", options->level, "Log this much: trace, debug, info, warn or error")
      ->check(CLI::IsMember(LogLevels()))
      ->required();
  AddServerFlags(command, &options->server);
  command->callback([options, chosen] { *chosen = [options] { return SetLevel(*options); }; });
}

}  // namespace voxloc::cli
