// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/flags/server_flags.h"

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/output/output_file.h"
#include "clients/cpp/traceparent.h"
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

}  // namespace

void AddServerFlags(CLI::App* command, ServerFlags* flags) {
  AddDefaulted(command, "--server", flags->server, "ADDR",
               "Connect to this server, HOST:PORT or unix:PATH, or to the first of several, "
               "separated by commas, that can be reached")
      ->envname(kServerVariable)
      ->each([flags](const std::string& address) {
        const char* variable = std::getenv(kServerVariable);
        flags->server_of_environment = variable != nullptr && address == variable;
      });
  AddDefaulted(command, "--timeout", flags->timeout_s, "S",
               "Wait at most S seconds for each answer of the server; 0: no limit")
      ->check(CLI::Range(0.0, 86400.0));
  AddOutputFile(command, "--json", &flags->json,
                "Write the result as JSON to FILE; -: standard output");
  AddSecurityFlags(command, flags);
}

client::ChannelOptions ChannelOptionsOf(const ServerFlags& flags) {
  client::ChannelOptions options;
  options.server = flags.server;
  options.tls_ca_file = flags.tls_ca_file;
  options.tls_certificate_file = flags.tls_certificate_file;
  options.tls_key_file = flags.tls_key_file;
  options.tls_server_name = flags.tls_server_name;
  options.tls = flags.tls || !flags.tls_ca_file.empty() || !flags.tls_certificate_file.empty() ||
                !flags.tls_key_file.empty() || !flags.tls_server_name.empty();
  options.token_file = flags.token_file;
  options.allow_insecure_token = flags.allow_insecure_token;
  options.traceparent = client::TraceparentOfEnvironment();
  const char* token = std::getenv(kTokenVariable);
  if (flags.token_file.empty() && token != nullptr) options.token = token;
  return options;
}

absl::Status CheckServer(const ServerFlags& flags) {
  const absl::Status status = client::Channel::CheckServer(flags.server);
  if (status.ok() || !flags.server_of_environment) return status;
  return absl::Status(status.code(), absl::StrCat(kServerVariable, ": ", status.message()));
}

absl::StatusOr<client::Channel> Connect(const ServerFlags& flags) {
  VOXLOC_TRY(CheckServer(flags));
  return client::Channel::Create(ChannelOptionsOf(flags));
}

}  // namespace voxloc::cli
