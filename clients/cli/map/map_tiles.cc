// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/map/map_tiles.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cli/map/map_source.h"
#include "clients/cpp/map_client.h"
#include "clients/cpp/messages.h"
#include "core/cloud/cloud_digest.h"
#include "core/cloud/io/cloud_file.h"
#include "core/status/try.h"

namespace voxloc::cli {

absl::StatusOr<MapTiles> ReadMapTiles(const std::string& text, const ServerFlags& server) {
  MapSources sources(server);
  VOXLOC_ASSIGN_OR_RETURN(const MapSource source, sources.Resolve(text));
  MapTiles map;
  map.text = source.text;
  map.on_server = !source.map.empty();
  const auto receive = [&](const std::string& id, PointCloud cloud_map) {
    map.tiles.push_back({id, std::make_shared<const PointCloud>(std::move(cloud_map))});
    return absl::OkStatus();
  };
  if (map.on_server) {
    VOXLOC_ASSIGN_OR_RETURN(const v1::MapInfo info,
                            client::MapClient(sources.channel()).Get(source.map, server.timeout_s));
    map.manifest.map = source.map;
    map.manifest.revision = source.revision;
    map.manifest.options = info.options();
    map.manifest.frame = info.frame();
    std::vector<std::string> ids;
    for (const auto& [id, tile] : source.tiles) ids.push_back(id);
    VOXLOC_TRY(sources.ReadTiles(source, ids, receive));
    return map;
  }
  std::error_code error;
  if (std::filesystem::exists(ManifestPath(text), error)) {
    VOXLOC_ASSIGN_OR_RETURN(map.manifest, ReadManifest(text));
    map.manifest.tiles.clear();
  } else {
    map.manifest.map = std::filesystem::canonical(text, error).stem().string();
  }
  VOXLOC_TRY(MapSources::ReadClouds(source, receive));
  return map;
}

absl::Status WriteMapTiles(const std::string& directory, const MapTiles& map) {
  VOXLOC_TRY(BeginManifest(directory));
  MapManifest manifest = map.manifest;
  for (const MapTile& tile : map.tiles) {
    const PointCloud& cloud = *tile.cloud_map;
    ManifestTile& entry = manifest.tiles.emplace_back();
    entry.id = tile.id;
    entry.file = TileFileName(tile.id);
    entry.sha256 = DigestOf(cloud);
    entry.points = cloud.size();
    entry.origin = cloud.origin;
    const Bounds bounds = ComputeBounds(cloud);
    client::EncodeVector(bounds.min, entry.bounds.mutable_min());
    client::EncodeVector(bounds.max, entry.bounds.mutable_max());
    VOXLOC_TRY(WritePcdOffsets(absl::StrCat(TilesDirectory(directory), "/", entry.file), cloud));
  }
  return WriteManifest(directory, manifest);
}

}  // namespace voxloc::cli
