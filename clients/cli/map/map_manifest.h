// SPDX-License-Identifier: Apache-2.0
//
// A map as files, which `voxloc map export` writes and `voxloc map import` reads:
//
//   DIR/manifest.json       which map and revision, how it is built, and every tile
//   DIR/tiles/<tile>.pcd    the points of a tile, PCD binary
//   DIR/map_projector_info.yaml   the map's projector, as Autoware reads it; where it has one
//
// A tile's PCD has its points as the server keeps them: x, y, z as float32 offsets, bit for bit,
// around an origin that is the translation of VIEWPOINT. Coordinates in double would be twice as
// long and would not always give the offsets, and with them the tile's digest, back. The manifest
// has the origin too; it is written last, so that a directory with a manifest is whole.

#ifndef VOXLOC_CLIENTS_CLI_MAP_MAP_MANIFEST_H_
#define VOXLOC_CLIENTS_CLI_MAP_MAP_MANIFEST_H_

#include <Eigen/Core>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/checksum/sha256.h"
#include "core/cloud/point_cloud.h"
#include "voxloc/v1/geometry.pb.h"
#include "voxloc/v1/map.pb.h"

namespace voxloc::cli {

struct ManifestTile {
  std::string id;
  std::string file;  // its name in DIR/tiles
  Sha256Digest sha256{};
  uint64_t points = 0;
  Eigen::Vector3d origin = Eigen::Vector3d::Zero();  // map frame, metres
  v1::Box bounds;  // of the points, map frame, metres; for other tools, not read back
};

struct MapManifest {
  std::string map;
  uint64_t revision = 0;
  v1::MapOptions options;
  v1::MapFrame frame;  // empty: not known. The origin is in the manifest, the projector beside it.
  std::vector<ManifestTile> tiles;
};

// The name of a tile's file: its id, of which bytes other than A-Z a-z 0-9 . _ - become % and two
// hexadecimal digits, and a first dot too; one that would be longer than 200 bytes is cut and ends
// with a part of its digest. Never the name of another directory.
[[nodiscard]] std::string TileFileName(const std::string& tile_id);

[[nodiscard]] std::string ManifestPath(const std::string& directory);
[[nodiscard]] std::string TilesDirectory(const std::string& directory);

// Makes the directories where they are missing. A manifest marks a complete map, so one that is
// there is removed until WriteManifest. InvalidArgument: they cannot be written.
[[nodiscard]] absl::Status BeginManifest(const std::string& directory);

// With the projector's file. Each appears whole or not at all, the manifest last.
[[nodiscard]] absl::Status WriteManifest(const std::string& directory, const MapManifest& manifest);

// InvalidArgument: not a manifest, or a projector, of this form; the message names the file and
// what is wrong.
[[nodiscard]] absl::StatusOr<MapManifest> ReadManifest(const std::string& directory);

// The points of a tile. DataLoss, with the tile's name and file: they are not those of its digest.
[[nodiscard]] absl::StatusOr<PointCloud> ReadManifestTile(const std::string& directory,
                                                          const ManifestTile& tile);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_MAP_MAP_MANIFEST_H_
