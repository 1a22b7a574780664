// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/flags/server_flags.h"
#include "clients/cli/output/message_json.h"
#include "clients/cli/output/text_table.h"
#include "clients/cpp/admin_client.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

std::string StateName(v1::ServerState state) { return EnumWordOr(state, "unknown"); }

double UptimeSeconds(const v1::GetServerInfoResponse& info) {
  return static_cast<double>(info.now_ns() - info.started_at_ns()) * 1e-9;
}

std::string CellSizes(const v1::Profile& profile) {
  std::vector<std::string> sizes;
  for (const v1::ProfileStage& stage : profile.stages()) {
    sizes.push_back(absl::StrFormat("%g m", stage.cells().cell_size_m()));
  }
  return absl::StrJoin(sizes, ", ");
}

std::string ScoreName(const v1::Profile& profile) {
  return profile.score_type() == v1::SCORE_TYPE_TRANSFORM_PROBABILITY ? "TP" : "NVTL";
}

std::vector<std::string> RoleNames(const v1::GetServerInfoResponse& info) {
  std::vector<std::string> names;
  for (const int role : info.caller_roles()) {
    names.push_back(EnumWordOf(static_cast<v1::Role>(role)));
  }
  return names;
}

std::string CallerText(const v1::GetServerInfoResponse& info) {
  if (info.caller().empty()) return "anyone, the server asks for no credentials";
  return absl::StrCat(info.caller(), ", roles: ", absl::StrJoin(RoleNames(info), ", "));
}

std::string InfoText(const std::string& server, const v1::GetServerInfoResponse& info) {
  std::string text;
  const auto line = [&text](absl::string_view key, absl::string_view value) {
    absl::StrAppend(&text, absl::StrFormat("%-9s %s\n", key, value));
  };
  line("server", server);
  line("version", absl::StrCat(info.version(), " ", info.git_revision(), " ", info.build_type()));
  line("state", absl::StrFormat("%s for %.0f s", StateName(info.state()), UptimeSeconds(info)));
  line("caller", CallerText(info));
  line("engine", info.engine_note().empty()
                     ? info.engine()
                     : absl::StrCat(info.engine(), " (", info.engine_note(), ")"));
  line("sessions",
       absl::StrCat(info.open_sessions(), " of at most ", info.limits().max_sessions()));
  line("maps", absl::StrCat(info.maps(), " of at most ", info.limits().max_maps()));
  line("messages", absl::StrCat("at most ", ByteText(info.limits().max_message_bytes()), ", ",
                                Grouped(info.limits().max_points_per_scan()), " points a scan"));
  line("sensors", absl::StrJoin(info.sensors(), ", "));
  TextTable devices("device|model|healthy|>threads|>memory|>free|capability");
  for (const v1::Device& device : info.devices()) {
    devices.AddRow({device.name(), device.model(), device.healthy() ? "yes" : "NO",
                    absl::StrCat(device.threads()), ByteText(device.memory_total_bytes()),
                    ByteText(device.memory_free_bytes()), device.capability()});
  }
  TextTable profiles("profile|>stages|cell sizes|score|>over");
  for (const v1::Profile& profile : info.profiles()) {
    const bool is_default = profile.name() == info.default_profile();
    profiles.AddRow({is_default ? absl::StrCat(profile.name(), " (default)") : profile.name(),
                     absl::StrCat(profile.stages_size()), CellSizes(profile), ScoreName(profile),
                     absl::StrFormat("%g", profile.score_threshold())});
  }
  TextTable limits("limit|>value");
  const Json values = MessageJson(info.limits());
  for (const auto& [name, value] : values.items()) {
    limits.AddRow({name, value.dump()});
  }
  return absl::StrCat(text, "\n", devices.Text(), "\n", profiles.Text(), "\n", limits.Text());
}

Json InfoJson(const std::string& server, const v1::GetServerInfoResponse& info) {
  Json devices = Json::array();
  for (const v1::Device& device : info.devices()) {
    devices.push_back({{"name", device.name()},
                       {"model", device.model()},
                       {"healthy", device.healthy()},
                       {"threads", device.threads()},
                       {"memory_total_bytes", device.memory_total_bytes()},
                       {"memory_free_bytes", device.memory_free_bytes()},
                       {"capability", device.capability()}});
  }
  Json profiles = Json::array();
  for (const v1::Profile& profile : info.profiles()) {
    profiles.push_back({{"name", profile.name()},
                        {"stages", profile.stages_size()},
                        {"score", ScoreName(profile)},
                        {"score_threshold", profile.score_threshold()}});
  }
  return {{"server", server},
          {"version", info.version()},
          {"git_revision", info.git_revision()},
          {"build_type", info.build_type()},
          {"state", StateName(info.state())},
          {"caller", info.caller()},
          {"caller_roles", RoleNames(info)},
          {"engine", info.engine()},
          {"engine_note", info.engine_note()},
          {"uptime_s", UptimeSeconds(info)},
          {"open_sessions", info.open_sessions()},
          {"maps", info.maps()},
          {"max_message_bytes", info.limits().max_message_bytes()},
          {"max_points_per_scan", info.limits().max_points_per_scan()},
          {"max_sessions", info.limits().max_sessions()},
          {"max_maps", info.limits().max_maps()},
          {"limits", MessageJson(info.limits())},
          {"default_profile", info.default_profile()},
          {"sensors", info.sensors()},
          {"devices", devices},
          {"profiles", profiles}};
}

absl::StatusOr<ExitCode> ShowInfo(const ServerFlags& flags) {
  VOXLOC_ASSIGN_OR_RETURN(const client::Channel channel, Connect(flags));
  VOXLOC_ASSIGN_OR_RETURN(const v1::GetServerInfoResponse info,
                          client::GetServerInfo(channel, flags.timeout_s));
  // Of several servers, the one that answered.
  const std::string& server = channel.server();
  return Report(flags.json, InfoText(server, info), InfoJson(server, info));
}

}  // namespace

void AddInfoCommand(CLI::App* parent, Work* chosen) {
  auto flags = std::make_shared<ServerFlags>();
  CLI::App* command =
      parent->add_subcommand("info", "Report a server's version, engine, limits and profiles");
  command->footer(R"(Examples:
  voxloc info --server localhost:50051
  voxloc info --server a.example:50051,b.example:50051 --tls-ca ca.pem --token-file token)");
  AddServerFlags(command, flags.get());
  command->callback([flags, chosen] { *chosen = [flags] { return ShowInfo(*flags); }; });
}

}  // namespace voxloc::cli
