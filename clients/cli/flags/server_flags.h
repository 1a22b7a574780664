// SPDX-License-Identifier: Apache-2.0
//
// The flags of every command that talks to a server: --server, --timeout, --json, and those of TLS
// and tokens. A token itself is never a flag, since every user of a machine can list the arguments
// of its processes: it comes from a file, or from the environment variable VOXLOC_TOKEN.

#ifndef VOXLOC_CLIENTS_CLI_FLAGS_SERVER_FLAGS_H_
#define VOXLOC_CLIENTS_CLI_FLAGS_SERVER_FLAGS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/cpp/channel.h"

namespace CLI {
class App;
}

namespace voxloc::cli {

struct ServerFlags {
  std::string server = "localhost:50051";  // or several, separated by commas
  bool server_of_environment = false;      // by VOXLOC_SERVER, which counts where no flag is given
  bool tls = false;                        // also where a file or a name of TLS is given
  std::string tls_ca_file;
  std::string tls_certificate_file;
  std::string tls_key_file;
  std::string tls_server_name;
  std::string token_file;
  bool allow_insecure_token = false;
  double timeout_s = 10.0;
  std::string json;  // empty: for people; "-": standard output

  // Whether the text for people is wanted: always, unless the JSON takes standard output.
  [[nodiscard]] bool prints_text() const { return json != "-"; }
};

// `timeout_s` in `flags` is the default that --help shows.
void AddServerFlags(CLI::App* command, ServerFlags* flags);

// With the token of the environment, unless a file is named, and its trace context.
[[nodiscard]] client::ChannelOptions ChannelOptionsOf(const ServerFlags& flags);

// As client::Channel::CheckServer. The message names the variable that a bad address comes from.
[[nodiscard]] absl::Status CheckServer(const ServerFlags& flags);

// After CheckServer.
[[nodiscard]] absl::StatusOr<client::Channel> Connect(const ServerFlags& flags);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_FLAGS_SERVER_FLAGS_H_
