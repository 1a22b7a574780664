// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/cli/commands.h"
#include "clients/cli/message_json.h"
#include "clients/cli/output_file.h"
#include "clients/cli/server_flags.h"
#include "clients/cli/text_file.h"
#include "clients/cli/text_table.h"
#include "clients/cpp/admin_client.h"
#include "clients/cpp/messages.h"

namespace voxloc::cli {
namespace {

struct AdminCapturesFlags {
  ServerFlags server;
  std::string map;
  size_t most = 100;
};

struct AdminCaptureFlags {
  ServerFlags server;
  std::string id;
  std::string output;
};

std::string CapturesText(const std::vector<v1::CaptureInfo>& captures) {
  TextTable table("id|captured|status|map|>revision|vehicle|session|>bytes");
  for (const v1::CaptureInfo& capture : captures) {
    table.AddRow({capture.id(), TimeText(capture.captured_at_ns()),
                  client::StatusName(capture.status()), capture.map(),
                  absl::StrCat(capture.map_revision()), capture.vehicle(), capture.session(),
                  Grouped(capture.bytes())});
  }
  return captures.empty() ? "no captures\n" : table.Text();
}

absl::StatusOr<ExitCode> ShowCaptures(const AdminCapturesFlags& options) {
  absl::StatusOr<client::Channel> channel = Connect(options.server);
  if (!channel.ok()) return channel.status();
  const absl::StatusOr<std::vector<v1::CaptureInfo>> captures =
      client::ListCaptures(*channel, options.map, options.most, options.server.timeout_s);
  if (!captures.ok()) return captures.status();
  if (options.server.prints_text()) std::fputs(CapturesText(*captures).c_str(), stdout);
  Json list = Json::array();
  for (const v1::CaptureInfo& capture : *captures) list.push_back(MessageJson(capture));
  if (absl::Status status = WriteJson(options.server.json, {{"captures", list}}); !status.ok()) {
    return status;
  }
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> FetchCapture(const AdminCaptureFlags& options) {
  absl::StatusOr<client::Channel> channel = Connect(options.server);
  if (!channel.ok()) return channel.status();
  const absl::StatusOr<v1::Capture> capture =
      client::GetCapture(*channel, options.id, options.server.timeout_s);
  if (!capture.ok()) return capture.status();
  const std::string bytes = capture->SerializeAsString();
  if (absl::Status status = WriteTextFile(options.output, bytes); !status.ok()) return status;
  if (options.server.prints_text()) {
    const std::string text =
        absl::StrCat(CapturesText({capture->info()}), "\nwritten: ", options.output, ", ",
                     Grouped(bytes.size()), " bytes\n");
    std::fputs(text.c_str(), stdout);
  }
  const Json result = {{"info", MessageJson(capture->info())},
                       {"result", MessageJson(capture->result())},
                       {"server_version", capture->server_version()},
                       {"git_revision", capture->git_revision()},
                       {"output", options.output}};
  if (absl::Status status = WriteJson(options.server.json, result); !status.ok()) return status;
  return ExitCode::kOk;
}

void AddListFlags(CLI::App* command, AdminCapturesFlags* options) {
  command->add_option("--map", options->map, "List only the captures on this map")
      ->type_name("NAME");
  command->add_option("--max", options->most, "List at most N captures; 0: all")
      ->type_name("N")
      ->capture_default_str();
  AddServerFlags(command, &options->server);
}

void AddGetCommand(CLI::App* parent, Work* chosen) {
  auto options = std::make_shared<AdminCaptureFlags>();
  CLI::App* command =
      parent->add_subcommand("get", "Fetch a captured scan with its answer into a file");
  command->footer(
      "The file is a voxloc.v1.Capture in protobuf's binary format, which `voxloc replay "
      "--capture`\n"
      "reads. It shows where a vehicle was and what it saw there.\n\n"
      "Example:\n  voxloc admin captures get c18f2a4-17 --output bad.capture");
  command->add_option("id", options->id, "Id of the capture, as the list has it")
      ->type_name("ID")
      ->required();
  AddOutputFile(command, "--output", &options->output, "Write the capture to FILE")->required();
  AddServerFlags(command, &options->server);
  command->callback([options, chosen] { *chosen = [options] { return FetchCapture(*options); }; });
}

}  // namespace

void AddAdminCapturesCommand(CLI::App* parent, Work* chosen) {
  CLI::App* command = parent->add_subcommand(
      "captures", "List and fetch what a server has captured of scans that went badly");
  command->footer(
      "A server captures scans where its setting capture.max_bytes is over 0; capture.statuses "
      "says\n"
      "which. Newest first; times are those of the server's clock.\n\n"
      "Examples:\n"
      "  voxloc admin captures --map town\n"
      "  voxloc admin captures get c18f2a4-17 --output bad.capture\n"
      "  voxloc replay --capture bad.capture --server localhost:50051");
  auto options = std::make_shared<AdminCapturesFlags>();
  AddListFlags(command, options.get());
  command->callback([options, chosen, command] {
    if (!command->get_subcommands().empty()) return;
    *chosen = [options] { return ShowCaptures(*options); };
  });
  auto listed = std::make_shared<AdminCapturesFlags>();
  CLI::App* list = command->add_subcommand("list", "List the captures, as without `list`");
  AddListFlags(list, listed.get());
  list->callback([listed, chosen] { *chosen = [listed] { return ShowCaptures(*listed); }; });
  AddGetCommand(command, chosen);
}

}  // namespace voxloc::cli
