// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/flags/request_flags.h"
#include "clients/cli/flags/server_flags.h"
#include "clients/cli/output/message_text.h"
#include "clients/cli/output/output.h"
#include "clients/cli/output/terminal.h"
#include "clients/cpp/admin_client.h"
#include "clients/cpp/messages.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

// The flags of all commands of `admin`; each command takes some of them.
struct AdminFlags {
  ServerFlags server;
  std::string map;
  size_t width = 0;       // columns; 0: those of the terminal
  std::string level;      // of the log
  double grace_s = 30.0;  // Kubernetes's default, terminationGracePeriodSeconds
  std::string reason;
  size_t most = 100;        // captures
  bool map_update = false;  // captures for map updates
  std::string id;           // of a capture
  std::string output;
};

std::string SessionsText(const std::vector<v1::SessionInfo>& sessions) {
  TextTable table(
      "session|vehicle|peer|map|>revision|profile|active|>answered|>accepted|>unanswered|status|"
      "last answer");
  for (const v1::SessionInfo& session : sessions) {
    const bool answered = session.answered_at_ns() != 0;
    table.AddRow({session.session(), session.vehicle(), session.peer(), session.map(),
                  absl::StrCat(session.map_revision()), session.profile(),
                  session.active() ? "yes" : "no", GroupDigits(session.answered()),
                  GroupDigits(session.accepted()), GroupDigits(session.unanswered()),
                  answered ? client::StatusName(session.status()) : "-",
                  answered ? TimeText(session.answered_at_ns()) : "-"});
  }
  return sessions.empty() ? "no sessions\n" : table.Text();
}

absl::StatusOr<ExitCode> ShowSessions(const AdminFlags& options) {
  VOXLOC_ASSIGN_OR_RETURN(const client::Channel channel, Connect(options.server));
  VOXLOC_ASSIGN_OR_RETURN(const std::vector<v1::SessionInfo> sessions,
                          client::ListSessions(channel, options.map, options.server.timeout_s));
  return Report(options.server.json, SessionsText(sessions),
                {{"sessions", MessagesJson(sessions)}});
}

void AddSessionsCommand(CLI::App* parent, Work* chosen) {
  const auto [command, options] =
      AddCommand(parent, chosen, &ShowSessions, "sessions", "List the open sessions of a server",
                 R"(Oldest first. Times are those of the server's clock.

Example:
  voxloc admin sessions --server localhost:50051 --map town)");
  AddMapFlag(command, &options->map, "List only the sessions on this map");
  AddServerFlags(command, &options->server);
}

absl::StatusOr<ExitCode> ShowConfig(const AdminFlags& options) {
  VOXLOC_ASSIGN_OR_RETURN(const client::Channel channel, Connect(options.server));
  VOXLOC_ASSIGN_OR_RETURN(const v1::GetConfigResponse config,
                          client::GetConfig(channel, options.server.timeout_s));
  TextTable table("key|value|source|place|change");
  for (const v1::ConfigEntry& entry : config.entries()) {
    table.AddRow({entry.key(), entry.value(), EnumWordOr(entry.source(), "unknown"), entry.place(),
                  entry.reloadable() ? "SIGHUP" : "restart"});
  }
  const size_t width = options.width > 0 ? options.width : GetTerminalSize().columns;
  return Report(options.server.json, table.Text(width), MessageJson(config));
}

void AddConfigCommand(CLI::App* parent, Work* chosen) {
  const auto [command, flags] = AddCommand(
      parent, chosen, &ShowConfig, "config", "Report a server's configuration in effect",
      R"(For each key of the configuration, its value, where it comes from (default, detected at start,
file, environment or flag, with the place), and whether a change takes a SIGHUP or a restart.

Example:
  voxloc admin config --server localhost:50051)");
  AddDefaulted(command, "--width", flags->width, "N",
               "Cut lines to N columns; 0: those of the terminal, and no limit without one")
      ->check(CLI::Range(0, 10'000));
  AddServerFlags(command, &flags->server);
}

absl::StatusOr<ExitCode> SetLevel(const AdminFlags& options) {
  VOXLOC_ASSIGN_OR_RETURN(const client::Channel channel, Connect(options.server));
  VOXLOC_ASSIGN_OR_RETURN(const v1::LogLevel previous,
                          client::SetLogLevel(channel, EnumWords<v1::LogLevel>().at(options.level),
                                              options.server.timeout_s));
  const std::string before = EnumWordOf(previous);
  return Report(options.server.json,
                absl::StrCat("the log level is ", options.level, "; it was ", before, "\n"),
                {{"level", options.level}, {"previous_level", before}});
}

void AddLogLevelCommand(CLI::App* parent, Work* chosen) {
  const auto [command, options] = AddCommand(
      parent, chosen, &SetLevel, "log-level", "Set how much a server logs, until it ends",
      "Example:\n  voxloc admin log-level --server localhost:50051 debug");
  command->add_option("LEVEL", options->level, "Log this much: trace, debug, info, warn or error")
      ->check(CLI::IsMember(EnumWords<v1::LogLevel>()))
      ->required();
  AddServerFlags(command, &options->server);
}

absl::StatusOr<ExitCode> DrainServer(const AdminFlags& options) {
  VOXLOC_ASSIGN_OR_RETURN(const client::Channel channel, Connect(options.server));
  VOXLOC_ASSIGN_OR_RETURN(
      const v1::DrainResponse drain,
      client::Drain(channel, options.grace_s, options.reason, options.server.timeout_s));
  const bool one = drain.open_sessions() == 1;
  return Report(options.server.json,
                absl::StrFormat("draining: %d session%s open, and %s ended in %.1f s\n",
                                drain.open_sessions(), one ? " is" : "s are", one ? "is" : "are",
                                drain.remaining_s()),
                MessageJson(drain));
}

void AddDrainCommand(CLI::App* parent, Work* chosen) {
  const auto [command, options] = AddCommand(
      parent, chosen, &DrainServer, "drain", "Make a server ready to be stopped",
      R"(The server reports that it is not ready, refuses new sessions, asks the open ones to go
elsewhere, and ends them when the grace time has passed. It does not end itself. Asking
again can only shorten the time; voxloc admin undrain takes it back.

Example:
  voxloc admin drain --server localhost:50051 --grace 60 --reason maintenance)");
  AddDefaulted(command, "--grace", options->grace_s, "SECONDS",
               "End the remaining streams after this many seconds; >= 0")
      ->check(CLI::NonNegativeNumber);
  AddOption(command, "--reason", options->reason, "TEXT", "Pass this reason on to the sessions");
  AddServerFlags(command, &options->server);
}

absl::StatusOr<ExitCode> UndrainServer(const ServerFlags& flags) {
  VOXLOC_ASSIGN_OR_RETURN(const client::Channel channel, Connect(flags));
  VOXLOC_ASSIGN_OR_RETURN(const v1::UndrainResponse undrained,
                          client::Undrain(channel, flags.timeout_s));
  return Report(
      flags.json,
      absl::StrFormat("the server takes new sessions again; %d session%s open\n",
                      undrained.open_sessions(), undrained.open_sessions() == 1 ? " is" : "s are"),
      MessageJson(undrained));
}

void AddUndrainCommand(CLI::App* parent, Work* chosen) {
  const auto [command, flags] = AddCommand(
      parent, chosen, &UndrainServer, "undrain", "Take a drain of a server back",
      R"(The server is ready again and takes new sessions. Those that were asked to go elsewhere may
have gone. A server that is being stopped (SIGTERM) goes on draining.

Example:
  voxloc admin undrain --server localhost:50051)");
  AddServerFlags(command, flags);
}

std::string CapturesText(const std::vector<v1::CaptureInfo>& captures) {
  TextTable table("id|captured|status|map|>revision|vehicle|session|>bytes");
  for (const v1::CaptureInfo& capture : captures) {
    table.AddRow({capture.id(), TimeText(capture.captured_at_ns()),
                  client::StatusName(capture.status()), capture.map(),
                  absl::StrCat(capture.map_revision()), capture.vehicle(), capture.session(),
                  GroupDigits(capture.bytes())});
  }
  return captures.empty() ? "no captures\n" : table.Text();
}

absl::StatusOr<ExitCode> ShowCaptures(const AdminFlags& options) {
  VOXLOC_ASSIGN_OR_RETURN(const client::Channel channel, Connect(options.server));
  v1::ListCapturesRequest request;
  request.set_map(options.map);
  if (options.map_update) request.set_purpose(v1::CAPTURE_PURPOSE_MAP_UPDATE);
  VOXLOC_ASSIGN_OR_RETURN(
      const std::vector<v1::CaptureInfo> captures,
      client::ListCaptures(channel, request, options.most, options.server.timeout_s));
  return Report(options.server.json, CapturesText(captures),
                {{"captures", MessagesJson(captures)}});
}

absl::StatusOr<ExitCode> FetchCapture(const AdminFlags& options) {
  VOXLOC_ASSIGN_OR_RETURN(const client::Channel channel, Connect(options.server));
  VOXLOC_ASSIGN_OR_RETURN(const v1::Capture capture,
                          client::GetCapture(channel, options.id, options.server.timeout_s));
  const std::string bytes = capture.SerializeAsString();
  VOXLOC_TRY(WriteTextFile(options.output, bytes));
  return Report(options.server.json,
                absl::StrCat(CapturesText({capture.info()}), "\nwritten: ", options.output, ", ",
                             GroupDigits(bytes.size()), " bytes\n"),
                {{"info", MessageJson(capture.info())},
                 {"result", MessageJson(capture.result())},
                 {"server_version", capture.server_version()},
                 {"git_revision", capture.git_revision()},
                 {"output", options.output}});
}

void AddListFlags(CLI::App* command, AdminFlags* options) {
  AddMapFlag(command, &options->map, "List only the captures on this map");
  AddDefaulted(command, "--max", options->most, "N", "List at most N captures; 0: all");
  command->add_flag("--map-update", options->map_update,
                    "List the scans kept for map updates in place of those that went badly");
  AddServerFlags(command, &options->server);
}

void AddGetCommand(CLI::App* parent, Work* chosen) {
  const auto [command, options] = AddCommand(
      parent, chosen, &FetchCapture, "get", "Fetch a captured scan with its answer into a file",
      R"(The file is a voxloc.v1.Capture in protobuf's binary format, which `voxloc replay --capture`
reads. It shows where a vehicle was and what it saw there.

Example:
  voxloc admin captures get c18f2a4-17 --output bad.capture)");
  AddOption(command, "id", options->id, "ID", "Id of the capture, as the list has it")->required();
  AddOutputFile(command, "--output", &options->output, "Write the capture to FILE")->required();
  AddServerFlags(command, &options->server);
}

void AddCapturesCommand(CLI::App* parent, Work* chosen) {
  const auto [command, options] = AddCommand(
      parent, chosen, &ShowCaptures, "captures",
      "List and fetch what a server has captured of scans that went badly",
      R"(A server captures scans where its setting capture.max_bytes is over 0; capture.statuses says
which. Newest first; times are those of the server's clock.

Examples:
  voxloc admin captures --map town
  voxloc admin captures get c18f2a4-17 --output bad.capture
  voxloc replay --capture bad.capture --server localhost:50051)");
  AddListFlags(command, options);
  const auto [list, listed] = AddCommand(command, chosen, &ShowCaptures, "list",
                                         "List the captures, as without `list`", "");
  AddListFlags(list, listed);
  AddGetCommand(command, chosen);
}

std::string StateName(v1::ServerState state) { return EnumWordOr(state, "unknown"); }

double UptimeSeconds(const v1::GetServerInfoResponse& info) {
  return static_cast<double>(info.now_ns() - info.started_at_ns()) * 1e-9;
}

std::string CellSizes(const v1::Profile& profile) {
  return absl::StrJoin(profile.stages(), ", ", [](std::string* out, const auto& stage) {
    absl::StrAppendFormat(out, "%g m", stage.cells().cell_size_m());
  });
}

std::string ScoreName(const v1::Profile& profile) {
  return profile.score_type() == v1::SCORE_TYPE_TRANSFORM_PROBABILITY ? "TP" : "NVTL";
}

std::vector<std::string> RoleNames(const v1::GetServerInfoResponse& info) {
  std::vector<std::string> names;
  for (const int role : info.caller_roles()) names.push_back(EnumWordOf(v1::Role(role)));
  return names;
}

std::string CallerText(const v1::GetServerInfoResponse& info) {
  if (info.caller().empty()) return "anyone, the server asks for no credentials";
  return absl::StrCat(info.caller(), ", roles: ", absl::StrJoin(RoleNames(info), ", "));
}

std::string InfoText(const std::string& server, const v1::GetServerInfoResponse& info) {
  std::string text;
  const auto line = [&text](absl::string_view key, absl::string_view value) {
    absl::StrAppendFormat(&text, "%-9s %s\n", key, value);
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
  line("messages",
       absl::StrCat("at most ", ByteText(info.limits().max_message_bytes()), ", ",
                    GroupDigits(info.limits().max_points_per_scan()), " points a scan"));
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
  for (const auto& [name, value] : values.items()) limits.AddRow({name, value.dump()});
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

struct InfoFlags {
  ServerFlags server;
  std::string profile;  // of which all is shown; empty: of the server
};

// As a file that the server's --profile-files takes.
absl::StatusOr<ExitCode> ShowProfile(const InfoFlags& flags,
                                     const v1::GetServerInfoResponse& info) {
  VOXLOC_ASSIGN_OR_RETURN(const v1::Profile profile, ProfileNamed(info, flags.profile));
  return Report(flags.server.json, MessageYaml(profile), MessageJson(profile));
}

absl::StatusOr<ExitCode> ShowInfo(const InfoFlags& flags) {
  VOXLOC_ASSIGN_OR_RETURN(const client::Channel channel, Connect(flags.server));
  VOXLOC_ASSIGN_OR_RETURN(const v1::GetServerInfoResponse info,
                          client::GetServerInfo(channel, flags.server.timeout_s));
  if (!flags.profile.empty()) return ShowProfile(flags, info);
  // The one of several servers that answered.
  const std::string& server = channel.server();
  return Report(flags.server.json, InfoText(server, info), InfoJson(server, info));
}

}  // namespace

void AddInfoCommand(CLI::App* parent, Work* chosen) {
  const auto [command, flags] = AddCommand(parent, chosen, &ShowInfo, "info",
                                           "Report a server's version, engine, limits and profiles",
                                           R"(Examples:
  voxloc info --server localhost:50051
  voxloc info --server a.example:50051,b.example:50051 --tls-ca ca.pem --token-file token
  voxloc info --profile precise > own.yaml)");
  AddServerFlags(command, &flags->server);
  AddOption(
      command, "--profile", flags->profile, "P",
      "Print this profile as YAML, as a file for the server's --profile-files, and nothing else");
}

void AddAdminCommands(CLI::App* parent, Work* chosen) {
  AddSessionsCommand(parent, chosen);
  AddConfigCommand(parent, chosen);
  AddLogLevelCommand(parent, chosen);
  AddDrainCommand(parent, chosen);
  AddUndrainCommand(parent, chosen);
  AddCapturesCommand(parent, chosen);
}

}  // namespace voxloc::cli
