// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/map/map_source.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/map/map_manifest.h"
#include "clients/cli/output/terminal.h"
#include "clients/dataset/cloud_sources.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<MapSource> CloudsSource(const std::string& path) {
  MapSource source;
  source.text = path;
  std::error_code error;
  if (fs::exists(ManifestPath(path), error)) {
    VOXLOC_ASSIGN_OR_RETURN(const MapManifest manifest, ReadManifest(path));
    for (const ManifestTile& tile : manifest.tiles) {
      source.clouds.push_back({tile.id, [path, tile] { return ReadManifestTile(path, tile); }});
    }
    return source;
  }
  VOXLOC_ASSIGN_OR_RETURN(const std::vector<TileSource> tiles, ResolveMapSources({path}));
  for (const TileSource& tile : tiles) {
    source.clouds.push_back({tile.id, [tile] { return LoadTile(tile); }});
  }
  return source;
}

absl::StatusOr<MapSource> RevisionSource(const std::string& text, const client::MapClient& maps,
                                         double timeout_s) {
  MapSource source;
  v1::ListTilesRequest request;
  const size_t at = text.rfind('@');
  source.map = text.substr(0, at);
  if (at != std::string::npos && text.substr(at + 1) != "active") {
    uint64_t revision = 0;
    if (!absl::SimpleAtoi(text.substr(at + 1), &revision) || revision == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", text,
                       "' must be a file, a directory, a map, or MAP@REVISION with a "
                       "revision of 1 or more, or MAP@active"));
    }
    request.set_revision(revision);
  }
  request.set_map(source.map);
  VOXLOC_ASSIGN_OR_RETURN(const v1::ListTilesResponse list, maps.ListTiles(request, timeout_s));
  source.revision = list.map_revision();
  source.text = absl::StrCat(source.map, "@", source.revision);
  for (const v1::TileInfo& tile : list.tiles()) source.tiles[tile.tile_id()] = tile;
  return source;
}

}  // namespace

absl::StatusOr<MapSource> MapSources::Resolve(const std::string& text) {
  std::error_code error;
  if (fs::exists(text, error)) return CloudsSource(text);
  if (!channel_.has_value()) {
    VOXLOC_ASSIGN_OR_RETURN(client::Channel channel, Connect(server_));
    channel_.emplace(std::move(channel));
  }
  return RevisionSource(text, client::MapClient(*channel_), server_.timeout_s);
}

absl::Status MapSources::ReadTiles(const MapSource& source, const std::vector<std::string>& ids,
                                   const SourceReceiver& receive) const {
  const client::MapClient maps(*channel_);
  ProgressBar bar(absl::StrCat("reading ", source.text), "tiles", ids.size());
  size_t done = 0;
  while (done < ids.size()) {
    v1::GetTilesRequest request;
    request.set_map(source.map);
    request.set_revision(source.revision);
    const size_t end = std::min(ids.size(), done + client::kTilesACall);
    for (size_t i = done; i < end; ++i) request.add_tile_ids(ids[i]);
    const auto take = [&](const v1::TileInfo& tile, PointCloud cloud_map) {
      bar.Update(++done);
      return receive(tile.tile_id(), std::move(cloud_map));
    };
    VOXLOC_TRY(maps.GetTiles(request, take, server_.timeout_s).status());
    if (done < end) {
      return absl::DataLossError(
          absl::StrCat("the server sent ", done, " of ", end, " tiles of ", source.text));
    }
  }
  return absl::OkStatus();
}

absl::Status MapSources::ReadClouds(const MapSource& source, const SourceReceiver& receive) {
  ProgressBar bar(absl::StrCat("reading ", source.text), "clouds", source.clouds.size());
  for (size_t i = 0; i < source.clouds.size(); ++i) {
    VOXLOC_ASSIGN_OR_RETURN(PointCloud cloud_map, source.clouds[i].load());
    VOXLOC_TRY(receive(source.clouds[i].id, std::move(cloud_map)));
    bar.Update(i + 1);
  }
  return absl::OkStatus();
}

}  // namespace voxloc::cli
