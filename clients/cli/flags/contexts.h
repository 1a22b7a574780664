// SPDX-License-Identifier: Apache-2.0
//
// Contexts: servers that people name, with how they are reached, in a file of theirs:
//
//   current: depot
//   contexts:
//     depot:
//       server: a.example:50051,b.example:50051
//       tls_ca: ca.pem            # relative to this file's folder
//       token_file: depot.token
//
// The keys of a context are the flags of a server, with _ for -. Tokens are in files of their own.

#ifndef VOXLOC_CLIENTS_CLI_FLAGS_CONTEXTS_H_
#define VOXLOC_CLIENTS_CLI_FLAGS_CONTEXTS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/cpp/channel.h"

namespace voxloc::cli {

// The type of flags and arguments that take the name of a context.
inline constexpr char kContextType[] = "CONTEXT";
// The variable that names the context where no flag does.
inline constexpr char kContextVariable[] = "VOXLOC_CONTEXT";

struct Contexts {
  std::string current;                                    // empty: none
  std::map<std::string, client::ChannelOptions> by_name;  // paths as in the file

  // NotFound lists those that there are.
  [[nodiscard]] absl::StatusOr<client::ChannelOptions> Find(const std::string& name) const;
};

// voxloc/contexts.yaml in XDG_CONFIG_HOME, else in .config of HOME; empty: neither is set.
[[nodiscard]] std::string ContextsPath();

// No file: no contexts. InvalidArgument names the file, the line and the key.
[[nodiscard]] absl::StatusOr<Contexts> ReadContexts(const std::string& path);

// With its folder; only its user may read it.
[[nodiscard]] absl::Status WriteContexts(const std::string& path, const Contexts& contexts);

// Of the file, or none where it cannot be read.
[[nodiscard]] std::vector<std::string> ContextNames();

// A context whose paths are relative to the working directory, as a file of contexts may have it.
[[nodiscard]] client::ChannelOptions WithAbsolutePaths(client::ChannelOptions context);

// What of the context a command line leaves open, in `options`, whose server it leaves open too.
void FillFromContext(const client::ChannelOptions& context, client::ChannelOptions* options);

// A key and its value, for each field that is set.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> ContextFields(
    const client::ChannelOptions& context);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_FLAGS_CONTEXTS_H_
