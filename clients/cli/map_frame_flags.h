// SPDX-License-Identifier: Apache-2.0
//
// Flags that say where a map lies on the earth.

#ifndef VOXLOC_CLIENTS_CLI_MAP_FRAME_FLAGS_H_
#define VOXLOC_CLIENTS_CLI_MAP_FRAME_FLAGS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "voxloc/v1/map.pb.h"

namespace CLI {
class App;
}

namespace voxloc::cli {

struct MapFrameFlags {
  std::string projector;     // a map_projector_info.yaml
  std::string wgs84_origin;  // LAT,LON[,ALT[,YAW]]

  // The frame of a map that is loaded from these paths; nullopt: nothing says it. Without
  // --projector it is that of a map_projector_info.yaml in one of them, and stderr says so.
  // InvalidArgument: a malformed file, or two that differ.
  [[nodiscard]] absl::StatusOr<std::optional<v1::MapFrame>> FrameOf(
      const std::vector<std::string>& paths) const;
};

void AddMapFrameFlags(CLI::App* command, MapFrameFlags* flags);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_MAP_FRAME_FLAGS_H_
