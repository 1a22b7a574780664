// SPDX-License-Identifier: Apache-2.0
//
// The flags of every command that matches scans with a map: --map and --profile.

#ifndef VOXLOC_CLIENTS_CLI_MAP_FLAGS_H_
#define VOXLOC_CLIENTS_CLI_MAP_FLAGS_H_

#include <string>

namespace CLI {
class App;
}

namespace voxloc::cli {

struct MapFlags {
  std::string map;
  std::string profile;  // empty: the server's default
};

void AddMapFlags(CLI::App* command, MapFlags* flags);

// --profile alone, for commands that name maps in another way.
void AddProfileFlag(CLI::App* command, std::string* profile);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_MAP_FLAGS_H_
