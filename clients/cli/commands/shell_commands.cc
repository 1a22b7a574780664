// SPDX-License-Identifier: Apache-2.0

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/flags/completion.h"
#include "clients/cli/flags/contexts.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/flags/server_flags.h"
#include "clients/cli/output/output.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

absl::StatusOr<ExitCode> PrintScript(const std::string& shell) {
  return Report("", CompletionScript(shell), {});
}

struct ContextFlags {
  std::string name;
  std::string json;
  ServerFlags server;
};

Json ContextJson(const client::ChannelOptions& context) {
  Json json = Json::object();
  for (const auto& [key, value] : ContextFields(context)) json[key] = value;
  return json;
}

absl::StatusOr<ExitCode> ListContexts(const ContextFlags& flags) {
  VOXLOC_ASSIGN_OR_RETURN(const Contexts contexts, ReadContexts(ContextsPath()));
  TextTable table("current|context|server|TLS|token");
  Json list = Json::array();
  for (const auto& [name, context] : contexts.by_name) {
    ServerFlags server;
    static_cast<client::ChannelOptions&>(server) = context;
    table.AddRow({name == contexts.current ? "*" : "", name, context.server,
                  ChannelOptionsOf(server).tls ? "yes" : "no",
                  context.token_file.empty() ? "-" : context.token_file});
    Json entry = ContextJson(context);
    entry["name"] = name;
    list.push_back(std::move(entry));
  }
  return Report(flags.json,
                list.empty() ? absl::StrCat("no contexts in ", ContextsPath(), "\n") : table.Text(),
                {{"current", contexts.current}, {"contexts", list}});
}

absl::StatusOr<ExitCode> ShowContext(const ContextFlags& flags) {
  VOXLOC_ASSIGN_OR_RETURN(const Contexts contexts, ReadContexts(ContextsPath()));
  const std::string& name = flags.name.empty() ? contexts.current : flags.name;
  VOXLOC_ASSIGN_OR_RETURN(const client::ChannelOptions context, contexts.Find(name));
  TextTable table("key|value");
  for (const auto& [key, value] : ContextFields(context)) table.AddRow({key, value});
  Json json = ContextJson(context);
  json["name"] = name;
  return Report(flags.json,
                absl::StrCat("context ", name, " of ", ContextsPath(), "\n", table.Text()), json);
}

absl::StatusOr<ExitCode> UseContext(const ContextFlags& flags) {
  VOXLOC_ASSIGN_OR_RETURN(Contexts contexts, ReadContexts(ContextsPath()));
  VOXLOC_ASSIGN_OR_RETURN(const client::ChannelOptions context, contexts.Find(flags.name));
  contexts.current = flags.name;
  VOXLOC_TRY(WriteContexts(ContextsPath(), contexts));
  return Report("", absl::StrCat("commands use context ", flags.name, ", ", context.server, "\n"),
                {});
}

absl::StatusOr<ExitCode> SetContext(const ContextFlags& flags) {
  VOXLOC_TRY(CheckServer(flags.server));
  VOXLOC_ASSIGN_OR_RETURN(Contexts contexts, ReadContexts(ContextsPath()));
  contexts.by_name[flags.name] = WithAbsolutePaths(flags.server);
  VOXLOC_TRY(WriteContexts(ContextsPath(), contexts));
  return Report("", absl::StrCat("context ", flags.name, " is in ", ContextsPath(), "\n"), {});
}

CLI::Option* AddContextName(CLI::App* command, std::string* name, const std::string& help) {
  return command->add_option("NAME", *name, help)->type_name(kContextType);
}

}  // namespace

void AddCompletionCommand(CLI::App* parent, Work* chosen) {
  const auto shell = std::make_shared<std::string>();
  AddWork(
      parent, chosen, [shell] { return PrintScript(*shell); }, "completion",
      "Print the script that completes commands in a shell",
      R"(The script asks voxloc itself for commands, flags and values.

Examples:
  source <(voxloc completion bash)
  voxloc completion bash > ~/.local/share/bash-completion/completions/voxloc
  voxloc completion zsh > ~/.zfunc/_voxloc          (a folder of fpath)
  voxloc completion fish > ~/.config/fish/completions/voxloc.fish)")
      ->add_option("SHELL", *shell, "Complete in this shell")
      ->required()
      ->check(CLI::IsMember(CompletionShells()));
}

void AddContextCommands(CLI::App* parent, Work* chosen) {
  CLI::App* context =
      parent->add_subcommand("context", "Name servers, and choose the one that commands use");
  context->require_subcommand(1);
  context->footer(
      R"(A context is a server with its TLS files and its token file, in contexts.yaml of
$XDG_CONFIG_HOME/voxloc (~/.config/voxloc). Commands use the one of --context, else of the
variable VOXLOC_CONTEXT, else the current one; with --server or the variable VOXLOC_SERVER none.

Examples:
  voxloc context set depot --server depot.example:50051 --tls-ca ca.pem --token-file depot.token
  voxloc context use depot
  voxloc --context depot map list)");
  {
    const auto [command, flags] =
        AddCommand(context, chosen, &ListContexts, "list", "List the contexts", "");
    AddOutputFile(command, "--json", &flags->json,
                  "Write the result as JSON to FILE; -: standard output");
  }
  {
    const auto [command, flags] =
        AddCommand(context, chosen, &ShowContext, "show", "Show a context", "");
    AddContextName(command, &flags->name, "Show this one; default: the current one");
    AddOutputFile(command, "--json", &flags->json,
                  "Write the result as JSON to FILE; -: standard output");
  }
  {
    const auto [command, flags] =
        AddCommand(context, chosen, &UseContext, "use", "Make a context the current one", "");
    AddContextName(command, &flags->name, "Use this one")->required();
  }
  {
    const auto [command, flags] =
        AddCommand(context, chosen, &SetContext, "set", "Add a context, or replace it", "");
    AddContextName(command, &flags->name, "Name it so")->required();
    AddConnectionFlags(command, &flags->server);
    command->get_option("--server")->required();
  }
}

}  // namespace voxloc::cli
