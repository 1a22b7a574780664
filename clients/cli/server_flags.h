// SPDX-License-Identifier: Apache-2.0
//
// The flags of every command that talks to a server: --server, --timeout and --json.

#ifndef VOXLOC_CLIENTS_CLI_SERVER_FLAGS_H_
#define VOXLOC_CLIENTS_CLI_SERVER_FLAGS_H_

#include <string>

#include "absl/status/statusor.h"
#include "clients/cpp/channel.h"

namespace CLI {
class App;
}

namespace voxloc::cli {

struct ServerFlags {
  std::string server = "localhost:50051";
  double timeout_s = 10.0;
  std::string json;  // empty: for people; "-": standard output

  // Whether the text for people is wanted: always, unless the JSON takes standard output.
  [[nodiscard]] bool prints_text() const { return json != "-"; }
};

// `timeout_s` in `flags` is the default that --help shows.
void AddServerFlags(CLI::App* command, ServerFlags* flags);

[[nodiscard]] absl::StatusOr<client::Channel> Connect(const ServerFlags& flags);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_SERVER_FLAGS_H_
