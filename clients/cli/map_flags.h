// SPDX-License-Identifier: Apache-2.0
//
// The flags that name a map, a revision of it, and the profile that scans are matched with.

#ifndef VOXLOC_CLIENTS_CLI_MAP_FLAGS_H_
#define VOXLOC_CLIENTS_CLI_MAP_FLAGS_H_

#include <cstdint>
#include <string>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace voxloc::cli {

struct MapFlags {
  std::string map;
  std::string profile;  // empty: the server's default
};

// --map NAME and --revision N, where the command says what for.
CLI::Option* AddMapFlag(CLI::App* command, std::string* map, const std::string& description);
CLI::Option* AddRevisionFlag(CLI::App* command, uint64_t* revision, const std::string& description);

void AddMapFlags(CLI::App* command, MapFlags* flags);

// --profile alone, for commands that name maps in another way.
void AddProfileFlag(CLI::App* command, std::string* profile);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_MAP_FLAGS_H_
