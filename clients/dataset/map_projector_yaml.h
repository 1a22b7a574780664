// SPDX-License-Identifier: Apache-2.0
//
// map_projector_info.yaml, with which Autoware says how a map's x and y follow from latitude and
// longitude:
//
//   projector_type: LocalCartesianUTM
//   vertical_datum: WGS84
//   map_origin:
//     latitude: 35.6762   # degrees
//     longitude: 139.6503

#ifndef VOXLOC_CLIENTS_DATASET_MAP_PROJECTOR_YAML_H_
#define VOXLOC_CLIENTS_DATASET_MAP_PROJECTOR_YAML_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "voxloc/v1/map.pb.h"

namespace voxloc {

inline constexpr char kProjectorYamlName[] = "map_projector_info.yaml";

// As Autoware reads it: what the type does not use is passed over, and `local` of its early
// versions is Local. InvalidArgument names the file, the line and what is missing or malformed;
// which types and values there are, the server knows.
[[nodiscard]] absl::StatusOr<v1::MapProjector> ReadProjectorYaml(const std::string& path);

// What ReadProjectorYaml, and Autoware, read the same projector from.
[[nodiscard]] std::string ProjectorYamlText(const v1::MapProjector& projector);

}  // namespace voxloc

#endif  // VOXLOC_CLIENTS_DATASET_MAP_PROJECTOR_YAML_H_
