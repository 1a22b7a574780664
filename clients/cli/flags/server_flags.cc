// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/flags/server_flags.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "clients/cli/flags/contexts.h"
#include "clients/cli/flags/option.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

constexpr char kServerVariable[] = "VOXLOC_SERVER";
constexpr char kTokenVariable[] = "VOXLOC_TOKEN";
constexpr char kSecurityGroup[] = "TLS and token";

void AddSecurityFlags(CLI::App* command, ServerFlags* flags) {
  const auto option = [command](const std::string& name, std::string* value,
                                const std::string& type, const std::string& help) {
    return AddOption(command, name, *value, type, help)->group(kSecurityGroup);
  };
  command
      ->add_flag("--tls", flags->tls,
                 "Encrypt the connection, and verify the server by the system's authorities")
      ->group(kSecurityGroup);
  option("--tls-ca", &flags->tls_ca_file, "FILE",
         "Verify the server by the authorities in FILE, PEM; implies --tls");
  CLI::Option* certificate =
      option("--tls-cert", &flags->tls_certificate_file, "FILE",
             "Present the certificate in FILE, PEM, to the server; implies --tls");
  CLI::Option* key = option("--tls-key", &flags->tls_key_file, "FILE",
                            "Read the key of --tls-cert from FILE, PEM without a passphrase");
  certificate->needs(key);
  key->needs(certificate);
  option("--tls-server-name", &flags->tls_server_name, "NAME",
         "Expect this name in the server's certificate in place of the host of --server; implies "
         "--tls");
  option("--token-file", &flags->token_file, "FILE",
         "Send the token in FILE with every call; without it, the environment variable "
         "VOXLOC_TOKEN is the token, if it is set");
  command
      ->add_flag("--allow-insecure-token", flags->allow_insecure_token,
                 "Send the token without TLS also to other machines, where anyone on the way can "
                 "read it")
      ->group(kSecurityGroup);
}

// The context by the command's flag, the program's, or the environment; empty: none of them.
std::string ChosenContext(const CLI::App* command, const ServerFlags& flags) {
  if (!flags.context.empty()) return flags.context;
  while (command->get_parent() != nullptr) command = command->get_parent();
  const CLI::Option* option = command->get_option_no_throw("--context");
  if (option != nullptr && option->count() > 0) return option->as<std::string>();
  const char* variable = std::getenv(kContextVariable);
  return variable == nullptr || flags.server_from_environment ? "" : variable;
}

absl::Status FillContext(const CLI::App* command, ServerFlags* flags) {
  if (command->get_option("--server")->count() > 0 && !flags->server_from_environment) {
    if (flags->context.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError("--context excludes --server");
  }
  std::string name = ChosenContext(command, *flags);
  if (name.empty() && flags->server_from_environment) return absl::OkStatus();
  VOXLOC_ASSIGN_OR_RETURN(const Contexts contexts, ReadContexts(ContextsPath()));
  if (name.empty()) name = contexts.current;
  if (name.empty()) return absl::OkStatus();
  VOXLOC_ASSIGN_OR_RETURN(const client::ChannelOptions context, contexts.Find(name));
  FillFromContext(context, flags);
  flags->context = name;
  flags->server_from_environment = false;
  return absl::OkStatus();
}

}  // namespace

void AddContextFlag(CLI::App* command, std::string* context) {
  AddOption(command, "--context", *context, kContextType,
            "Connect to the server of this context; default: the variable VOXLOC_CONTEXT, else the "
            "current one (`voxloc context --help`)");
}

void AddConnectionFlags(CLI::App* command, ServerFlags* flags) {
  AddDefaulted(command, "--server", flags->server, "ADDR",
               "Connect to this server, HOST:PORT or unix:PATH, or to the first of several, "
               "separated by commas, that can be reached")
      ->envname(kServerVariable)
      ->each([flags](const std::string& address) {
        const char* variable = std::getenv(kServerVariable);
        flags->server_from_environment = variable != nullptr && address == variable;
      });
  AddSecurityFlags(command, flags);
}

void AddServerFlags(CLI::App* command, ServerFlags* flags) {
  AddConnectionFlags(command, flags);
  AddContextFlag(command, &flags->context);
  command->parse_complete_callback([command, flags] {
    const absl::Status filled = FillContext(command, flags);
    if (!filled.ok()) throw CLI::ValidationError(std::string(filled.message()));
  });
  AddDefaulted(command, "--timeout", flags->timeout_s, "S",
               "Wait at most S seconds for each answer of the server; 0: no limit")
      ->check(CLI::Range(0.0, 86400.0));
  AddOutputFile(command, "--json", &flags->json,
                "Write the result as JSON to FILE; -: standard output");
}

void AddFleetServerFlags(CLI::App* command, ServerFlags* flags) {
  flags->timeout_s = 5.0;
  AddServerFlags(command, flags);
  command->get_option("--server")
      ->description(
          "Ask each of these servers, HOST:PORT or unix:PATH, separated by commas; can be repeated")
      ->type_name("ADDR,...")
      ->join(',');
}

client::ChannelOptions ChannelOptionsOf(const ServerFlags& flags) {
  client::ChannelOptions options = flags;
  options.tls = flags.tls || !flags.tls_ca_file.empty() || !flags.tls_certificate_file.empty() ||
                !flags.tls_key_file.empty() || !flags.tls_server_name.empty();
  options.traceparent = client::TraceparentOfEnvironment();
  const char* token = std::getenv(kTokenVariable);
  if (flags.token_file.empty() && token != nullptr) options.token = token;
  return options;
}

absl::Status CheckServer(const ServerFlags& flags) {
  const absl::Status status = client::Channel::CheckServer(flags.server);
  if (status.ok() || !flags.server_from_environment) return status;
  return absl::Status(status.code(), absl::StrCat(kServerVariable, ": ", status.message()));
}

absl::StatusOr<client::Channel> Connect(const ServerFlags& flags) {
  VOXLOC_TRY(CheckServer(flags));
  return client::Channel::Create(ChannelOptionsOf(flags));
}

}  // namespace voxloc::cli
