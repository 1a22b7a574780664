// SPDX-License-Identifier: Apache-2.0
//
// Flags of commands that talk to a server: which one, how it is reached, and where results go.

#ifndef VOXLOC_CLIENTS_CLI_FLAGS_SERVER_FLAGS_H_
#define VOXLOC_CLIENTS_CLI_FLAGS_SERVER_FLAGS_H_

#include <CLI/CLI.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/cpp/channel.h"

namespace voxloc::cli {

// The flags of every command that talks to a server: --server, --timeout, --json, and those of TLS
// and tokens. A token itself is never a flag, since every user of a machine can list the arguments
// of its processes: it comes from a file, or from the environment variable VOXLOC_TOKEN.
struct ServerFlags : client::ChannelOptions {
  ServerFlags() { server = "localhost:50051"; }

  bool server_from_environment = false;  // by VOXLOC_SERVER, which counts where no flag is given
  std::string context;                   // whose fields are filled in where they are not given
  double timeout_s = 10.0;
  std::string json;  // empty: for people; "-": standard output

  // Whether the text for people is wanted: always, unless the JSON takes standard output.
  [[nodiscard]] bool prints_text() const { return json != "-"; }
};

// `timeout_s` in `flags` is the default that --help shows. A context (contexts.h) is filled in when
// the command line has been read.
void AddServerFlags(CLI::App* command, ServerFlags* flags);

// The same for a command that asks several servers, none of which stands in for another.
void AddFleetServerFlags(CLI::App* command, ServerFlags* flags);

// --server and those of TLS and tokens, alone.
void AddConnectionFlags(CLI::App* command, ServerFlags* flags);

// --context, on the program or on a command, which goes before it.
void AddContextFlag(CLI::App* command, std::string* context);

// With the token of the environment, unless a file is named, and its trace context; with TLS also
// where a file or a name of TLS is given.
[[nodiscard]] client::ChannelOptions ChannelOptionsOf(const ServerFlags& flags);

// As client::Channel::CheckServer. The message names the variable that a bad address comes from.
[[nodiscard]] absl::Status CheckServer(const ServerFlags& flags);

// After CheckServer.
[[nodiscard]] absl::StatusOr<client::Channel> Connect(const ServerFlags& flags);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_FLAGS_SERVER_FLAGS_H_
