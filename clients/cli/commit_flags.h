// SPDX-License-Identifier: Apache-2.0
//
// The flags of every command that commits a revision: --comment, --stage, --canary, --request-id
// and --base-revision.

#ifndef VOXLOC_CLIENTS_CLI_COMMIT_FLAGS_H_
#define VOXLOC_CLIENTS_CLI_COMMIT_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "voxloc/v1/map_service.pb.h"

namespace CLI {
class App;
}

namespace voxloc::cli {

struct CommitFlags {
  std::string comment;
  bool stage = false;
  std::string canary;  // names, comma-separated; they stage the revision
  std::string request_id;
  uint64_t base_revision = 0;

  // Whether the revision is not put in use.
  [[nodiscard]] bool stages() const { return stage || !canary.empty(); }
  void AddTo(v1::BeginUpdate* begin, v1::CommitUpdate* commit) const;
};

// `comment` in `flags` is the default that --help shows.
void AddCommitFlags(CLI::App* command, CommitFlags* flags);

// "a,b" as its parts, without empty ones.
[[nodiscard]] std::vector<std::string> NamesOf(const std::string& comma_separated);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_COMMIT_FLAGS_H_
