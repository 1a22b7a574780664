// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/server_flags.h"

#include <CLI/CLI.hpp>

namespace voxloc::cli {

void AddServerFlags(CLI::App* command, ServerFlags* flags) {
  command->add_option("--server", flags->server, "Connect to this server, HOST:PORT or unix:PATH")
      ->type_name("ADDR")
      ->capture_default_str();
  command
      ->add_option("--timeout", flags->timeout_s,
                   "Wait at most S seconds for each answer of the server; 0: no limit")
      ->type_name("S")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();
  command->add_option("--json", flags->json, "Write the result as JSON to FILE; -: standard output")
      ->type_name("FILE");
}

absl::StatusOr<client::Channel> Connect(const ServerFlags& flags) {
  client::ChannelOptions options;
  options.server = flags.server;
  return client::Channel::Create(options);
}

}  // namespace voxloc::cli
