// SPDX-License-Identifier: Apache-2.0
//
// pointcloud_map_metadata.yaml.

#include "clients/dataset/map_yaml.h"

#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/memory_file.h"

namespace voxloc {

absl::Status FuzzMapYaml(absl::string_view bytes) {
  const auto map = ReadMapYaml(MemoryFile(bytes).path());
  if (!map.ok()) return map.status();
  FuzzRequire(map->resolution_m.allFinite(), "a resolution is finite");
  for (const auto& [name, corner] : map->lowest_corner_of) {
    FuzzRequire(!name.empty(), "a tile has a name");
    FuzzRequire(corner.allFinite(), "a corner is finite");
  }
  return absl::OkStatus();
}

}  // namespace voxloc
