// SPDX-License-Identifier: Apache-2.0
//
// How a map is shown, to people and as JSON.

#ifndef VOXLOC_CLIENTS_CLI_MAP_TEXT_H_
#define VOXLOC_CLIENTS_CLI_MAP_TEXT_H_

#include <string>
#include <vector>

#include "clients/cli/json_output.h"
#include "voxloc/v1/map.pb.h"

namespace voxloc::cli {

// One line a map.
[[nodiscard]] std::string MapTableText(const std::vector<v1::MapInfo>& maps);

// Everything about one map.
[[nodiscard]] std::string MapDetailText(const v1::MapInfo& map);

[[nodiscard]] Json MapJson(const v1::MapInfo& map);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_MAP_TEXT_H_
