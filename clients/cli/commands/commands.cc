// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/commands/commands.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "clients/cli/flags/completion.h"
#include "clients/cli/flags/server_flags.h"
#include "core/status/try.h"
#include "core/text/names.h"

namespace voxloc::cli {
namespace {

constexpr char kCommandsManual[] =
    "Start here:\n"
    "  voxlocd                                       the server, in another terminal\n"
    "  voxloc simulate --size 300 --scans 200 town   a town, a drive, the true poses\n"
    "  voxloc map load --map town town/map\n"
    "  voxloc replay --map town --scans town/scans --poses town/poses.txt --report report.html\n\n"
    "Exit codes: 0 success; 1 failure; 2 wrong usage; 3 the server cannot be reached or does not\n"
    "answer in time; 4 success, but the result is not accepted, or misses an objective.";

void BuildCommands(CLI::App* app, const std::vector<std::string>& arguments, std::string* context,
                   Work* chosen) {
  app->set_version_flag("--version", std::string("voxloc ") + VOXLOC_VERSION);
  app->footer(kCommandsManual);
  app->require_subcommand(1);
  AddContextFlag(app, context);
  CLI::App* map = app->add_subcommand("map", "Load, list, describe, change, save and delete maps");
  map->require_subcommand(1);
  map->footer(
      "Examples:\n"
      "  voxloc map load --map town town/map\n"
      "  voxloc map list\n"
      "  voxloc map history --map town");
  AddMapLoadCommand(map, chosen);
  AddMapCommands(map, chosen);
  AddMapCopyCommands(map, chosen);
  AddMapCellsCommand(map, chosen);
  AddMapDiffCommand(map, chosen);
  AddMapProposeCommand(map, chosen);
  AddMapViewCommand(map, chosen);
  AddAlignCommand(app, chosen);
  AddLocateCommand(app, chosen);
  AddReplayCommand(app, CommandLineText(arguments), chosen);
  AddCompareCommand(app, CommandLineText(arguments), chosen);
  AddLoadTestCommand(app, chosen);
  AddCalibrateCommand(app, chosen);
  AddScoreCommand(app, chosen);
  AddSimulateCommand(app, chosen);
  AddInfoCommand(app, chosen);
  AddFleetCommand(app, chosen);
  CLI::App* bag = app->add_subcommand("bag", "Look into recordings of ROS");
  bag->require_subcommand(1);
  bag->footer(
      "Examples:\n"
      "  voxloc bag info drive.mcap");
  AddBagInfoCommand(bag, chosen);
  CLI::App* admin = app->add_subcommand("admin", "See and change how a server is run");
  admin->require_subcommand(1);
  admin->footer(
      "Examples:\n"
      "  voxloc admin sessions\n"
      "  voxloc admin config\n"
      "  voxloc admin log-level debug\n"
      "  voxloc admin captures");
  AddAdminCommands(admin, chosen);
  AddDoctorCommand(app, chosen);
  AddContextCommands(app, chosen);
  AddCompletionCommand(app, chosen);
}

// The command that the arguments came to, "voxloc map load".
const CLI::App* DeepestCommand(const CLI::App& app, std::string* path) {
  const CLI::App* command = &app;
  *path = app.get_name();
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    absl::StrAppend(path, " ", command->get_name());
  }
  return command;
}

// Unexpected arguments, as a message; empty when every argument is known.
std::string UnknownArgument(const CLI::App& app, const CLI::App& command, const std::string& path) {
  const std::vector<std::string> unknown = app.remaining(true);
  if (unknown.empty()) return "";
  const std::string& argument = unknown.front();
  std::vector<std::string> flags;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  std::vector<std::string> commands;
  for (const CLI::App* sub : command.get_subcommands([](const CLI::App*) { return true; })) {
    commands.push_back(sub->get_name());
  }
  const bool flag = absl::StartsWith(argument, "-") && argument.size() > 1;
  if (!flag && commands.empty()) return absl::StrCat(path, " does not take '", argument, "'");
  const std::string typed = argument.substr(0, argument.find('='));
  const std::string nearest = NearestName(typed, flag ? flags : commands);
  const std::string meant = nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?");
  return absl::StrCat(path, " has no ", flag ? "flag " : "command ", typed, meant);
}

// As one word of a shell.
std::string ShellWord(const std::string& argument) {
  const auto is_plain = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           absl::string_view("_@%+=:,./-").find(c) != absl::string_view::npos;
  };
  if (!argument.empty() && std::all_of(argument.begin(), argument.end(), is_plain)) return argument;
  return absl::StrCat("'", absl::StrReplaceAll(argument, {{"'", "'\\''"}}), "'");
}

}  // namespace

ExitCode ExitCodeFor(const absl::Status& status) {
  if (status.ok()) return ExitCode::kOk;
  const bool unreachable = absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
  return unreachable ? ExitCode::kUnreachable : ExitCode::kFailed;
}

CLI::App* AddWork(CLI::App* parent, Work* chosen, Work work, const std::string& name,
                  const std::string& description, const std::string& footer) {
  CLI::App* command = parent->add_subcommand(name, description);
  if (!footer.empty()) command->footer(footer);
  // CLI11 runs the callbacks of a command after those of its subcommands.
  command->callback([command, chosen, work = std::move(work)] {
    if (command->get_subcommands().empty()) *chosen = work;
  });
  return command;
}

absl::StatusOr<ExitCode> Report(const std::string& json_destination, const std::string& text,
                                const Json& json, ExitCode code) {
  if (json_destination != "-") std::fputs(text.c_str(), stdout);
  VOXLOC_TRY(WriteJson(json_destination, json));
  return code;
}

std::string CommandLineText(const std::vector<std::string>& arguments) {
  std::string text = "voxloc";
  for (const std::string& argument : arguments) absl::StrAppend(&text, " ", ShellWord(argument));
  return text;
}

ParsedCommandLine ParseCommandLine(const std::vector<std::string>& arguments) {
  ParsedCommandLine parsed;
  CLI::App app("voxloc: localize LiDAR scans with a voxloc server", "voxloc");
  std::string context;  // commands ask the flag for it
  Work chosen;
  try {
    BuildCommands(&app, arguments, &context, &chosen);
    if (!arguments.empty() && arguments[0] == kCompleteCommand) {
      parsed.out = CompletionText(app, {arguments.begin() + 1, arguments.end()});
      return parsed;
    }
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(reversed);
    parsed.work = std::move(chosen);
  } catch (const CLI::Success& success) {  // help or version
    std::ostringstream out;
    std::ostringstream none;
    app.exit(success, out, none);
    parsed.out = out.str();
  } catch (const std::exception& problem) {
    std::string path;
    const CLI::App* command = DeepestCommand(app, &path);
    const std::string unknown = UnknownArgument(app, *command, path);
    parsed.error = absl::StrCat("voxloc: ", unknown.empty() ? problem.what() : unknown, "\nTry '",
                                path, " --help'.\n");
    parsed.exit_code = ExitCode::kUsage;
  }
  return parsed;
}

}  // namespace voxloc::cli
