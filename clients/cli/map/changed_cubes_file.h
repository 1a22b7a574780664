// SPDX-License-Identifier: Apache-2.0
//
// The cubes that changed between two maps as a file, for people and for viewers of clouds:
//
//   .csv  x,y,z,points,kind: the mean of the cube's points, metres, their number, came or went
//   .ply  binary, little-endian: a vertex at the mean, green where the cube came, red where it
//   went,
//         and the number of its points

#ifndef VOXLOC_CLIENTS_CLI_MAP_CHANGED_CUBES_FILE_H_
#define VOXLOC_CLIENTS_CLI_MAP_CHANGED_CUBES_FILE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "clients/dataset/map_diff.h"

namespace voxloc::cli {

// Empty: the file's name has the extension of a format.
[[nodiscard]] std::string ChangedCubesExtensionError(const std::string& path);

// The error names the file and the system's reason.
[[nodiscard]] absl::Status WriteChangedCubes(const std::string& path,
                                             const std::vector<ChangedCube>& cubes);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_MAP_CHANGED_CUBES_FILE_H_
