// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/cli/commands.h"
#include "clients/cli/message_json.h"
#include "clients/cli/server_flags.h"
#include "clients/cli/text_table.h"
#include "clients/cpp/admin_client.h"
#include "clients/cpp/messages.h"

namespace voxloc::cli {
namespace {

struct AdminSessionsFlags {
  ServerFlags server;
  std::string map;
};

std::string SessionsText(const std::vector<v1::SessionInfo>& sessions) {
  TextTable table(
      "session|vehicle|peer|map|>revision|profile|active|>answered|>accepted|>unanswered|status|"
      "last answer");
  for (const v1::SessionInfo& session : sessions) {
    const bool answered = session.answered_at_ns() != 0;
    table.AddRow({session.session(), session.vehicle(), session.peer(), session.map(),
                  absl::StrCat(session.map_revision()), session.profile(),
                  session.active() ? "yes" : "no", Grouped(session.answered()),
                  Grouped(session.accepted()), Grouped(session.unanswered()),
                  answered ? client::StatusName(session.status()) : "-",
                  answered ? TimeText(session.answered_at_ns()) : "-"});
  }
  return sessions.empty() ? "no sessions\n" : table.Text();
}

absl::StatusOr<ExitCode> ShowSessions(const AdminSessionsFlags& options) {
  absl::StatusOr<client::Channel> channel = Connect(options.server);
  if (!channel.ok()) return channel.status();
  const absl::StatusOr<std::vector<v1::SessionInfo>> sessions =
      client::ListSessions(*channel, options.map, options.server.timeout_s);
  if (!sessions.ok()) return sessions.status();
  if (options.server.prints_text()) std::fputs(SessionsText(*sessions).c_str(), stdout);
  Json list = Json::array();
  for (const v1::SessionInfo& session : *sessions) list.push_back(MessageJson(session));
  if (absl::Status status = WriteJson(options.server.json, {{"sessions", list}}); !status.ok()) {
    return status;
  }
  return ExitCode::kOk;
}

}  // namespace

void AddAdminSessionsCommand(CLI::App* parent, Work* chosen) {
  auto options = std::make_shared<AdminSessionsFlags>();
  CLI::App* command = parent->add_subcommand("sessions", "List the open sessions of a server");
  command->footer(
      "Oldest first. Times are those of the server's clock.\n\n"
      "Example:\n  voxloc admin sessions --server localhost:50051 --map town");
  command->add_option("--map", options->map, "List only the sessions on this map")
      ->type_name("NAME");
  AddServerFlags(command, &options->server);
  command->callback([options, chosen] { *chosen = [options] { return ShowSessions(*options); }; });
}

}  // namespace voxloc::cli
