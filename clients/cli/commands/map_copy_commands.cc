// SPDX-License-Identifier: Apache-2.0

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/flags/request_flags.h"
#include "clients/cli/flags/server_flags.h"
#include "clients/cli/map/map_load.h"
#include "clients/cli/map/map_manifest.h"
#include "clients/cli/output/output.h"
#include "clients/cli/output/terminal.h"
#include "clients/cpp/backoff.h"
#include "clients/cpp/map_client.h"
#include "core/cloud/io/cloud_file.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

// About 70 s: a server that is restarted is back by then.
constexpr int kMaxAttempts = 20;

struct MapExportFlags {
  ServerFlags server;
  std::string map;
  uint64_t revision = 0;
  std::string directory;
};

class Export {
 public:
  Export(const MapExportFlags& options, const client::Channel& channel)
      : options_(options), client_(channel) {}

  absl::StatusOr<ExitCode> Run() {
    VOXLOC_TRY(Describe());
    VOXLOC_TRY(BeginManifest(options_.directory));
    bar_.emplace(absl::StrCat("exporting ", options_.map), "tiles", manifest_.tiles.size());
    for (ManifestTile& tile : manifest_.tiles) {
      const absl::StatusOr<PointCloud> cloud = ReadManifestTile(options_.directory, tile);
      if (!cloud.ok()) continue;
      tile.origin = cloud->origin;
      missing_.erase(tile.id);
      bar_->Update(++kept_);
    }
    VOXLOC_TRY(FetchMissing());
    VOXLOC_TRY(WriteManifest(options_.directory, manifest_));
    uint64_t points = 0;
    for (const ManifestTile& tile : manifest_.tiles) points += tile.points;
    return Report(
        options_.server.json,
        absl::StrFormat("map %s, revision %d: %d tiles, %s points in %s; %d were there already\n",
                        options_.map, manifest_.revision, manifest_.tiles.size(),
                        GroupDigits(points), options_.directory, kept_),
        {{"name", options_.map},
         {"revision", manifest_.revision},
         {"directory", options_.directory},
         {"tiles", manifest_.tiles.size()},
         {"tiles_kept", kept_},
         {"points", points},
         {"bytes_received", bytes_}});
  }

 private:
  absl::Status Describe() {
    const double timeout_s = options_.server.timeout_s;
    VOXLOC_ASSIGN_OR_RETURN(const v1::MapInfo map, client_.Get(options_.map, timeout_s));
    v1::ListTilesRequest request;
    request.set_map(options_.map);
    request.set_revision(options_.revision);
    VOXLOC_ASSIGN_OR_RETURN(const v1::ListTilesResponse tiles,
                            client_.ListTiles(request, timeout_s));
    manifest_.map = options_.map;
    manifest_.revision = tiles.map_revision();
    manifest_.options = map.options();
    manifest_.frame = map.frame();
    for (const v1::TileInfo& info : tiles.tiles()) {
      VOXLOC_ASSIGN_OR_RETURN(const Sha256Digest digest, Sha256FromBytes(info.sha256()));
      missing_.emplace(info.tile_id(), manifest_.tiles.size());
      manifest_.tiles.push_back({info.tile_id(), TileFileName(info.tile_id()), digest,
                                 info.points(), Eigen::Vector3d::Zero(), info.bounds()});
    }
    return absl::OkStatus();
  }

  absl::Status FetchMissing() {
    client::ReconnectOptions reconnect;
    reconnect.max_attempts = kMaxAttempts;
    client::Backoff backoff(reconnect);
    while (!missing_.empty()) {
      const size_t before = missing_.size();
      const absl::Status status = FetchBatch();
      if (missing_.size() < before) backoff.Reset();
      if (status.ok() && missing_.size() == before) {
        return absl::DataLossError(
            absl::StrCat(options_.server.server, " did not send tile ", missing_.begin()->first));
      }
      if (status.ok()) continue;
      if (status.code() != absl::StatusCode::kUnavailable || !backoff.CanRetry()) return status;
      std::this_thread::sleep_for(std::chrono::duration<double>(backoff.NextWait()));
    }
    return absl::OkStatus();
  }

  absl::Status FetchBatch() {
    v1::GetTilesRequest request;
    request.set_map(options_.map);
    request.set_revision(manifest_.revision);
    for (const auto& [id, number] : missing_) {
      request.add_tile_ids(id);
      if (request.tile_ids_size() == client::kTilesACall) break;
    }
    const auto receive = [this](const v1::TileInfo& info, const PointCloud& cloud) {
      const auto found = missing_.find(info.tile_id());
      if (found == missing_.end()) return absl::OkStatus();
      ManifestTile& tile = manifest_.tiles[found->second];
      if (info.sha256() != ToBytes(tile.sha256)) {
        return absl::DataLossError(
            absl::StrCat("tile ", tile.id, " does not have the digest that the server listed"));
      }
      const std::string path = absl::StrCat(TilesDirectory(options_.directory), "/", tile.file);
      VOXLOC_TRY(WritePcdOffsets(path, cloud));
      tile.origin = cloud.origin;
      bytes_ += cloud.size() * 3 * sizeof(float);
      missing_.erase(found);
      bar_->Update(manifest_.tiles.size() - missing_.size());
      return absl::OkStatus();
    };
    return client_.GetTiles(request, receive, options_.server.timeout_s).status();
  }

  const MapExportFlags& options_;
  const client::MapClient client_;
  MapManifest manifest_;
  std::map<std::string, size_t> missing_;  // indices into the manifest's tiles, by id
  size_t kept_ = 0;
  uint64_t bytes_ = 0;  // of points, received
  std::optional<ProgressBar> bar_;
};

absl::StatusOr<ExitCode> ExportMap(const MapExportFlags& options) {
  VOXLOC_ASSIGN_OR_RETURN(const client::Channel channel, Connect(options.server));
  return Export(options, channel).Run();
}

void AddExportCommand(CLI::App* parent, Work* chosen) {
  const auto [command, options] = AddCommand(
      parent, chosen, &ExportMap, "export", "Save a map as a directory of PCD files",
      R"(Writes DIR/tiles with a PCD for each tile, and at last DIR/manifest.json with the map's
options and the digest and origin of each tile. The coordinates in a PCD are offsets from the
tile's origin, bit for bit as the server keeps them; the origin is the translation of
VIEWPOINT. The server goes on serving, and may change the map meanwhile. Tiles that are in DIR
already are kept: a command that broke off is repeated, and a later revision costs what has
changed. Files of tiles that the map no longer has stay, and are not in the manifest. The
map's projector, if it is known, goes to DIR/map_projector_info.yaml, as Autoware has it, and
its WGS84 origin to the manifest.

Examples:
  voxloc map export --map town backup/town
  voxloc map export --map town --revision 12 town-12)");
  options->server.timeout_s = 60.0;
  AddMapFlag(command, &options->map, "Save this map")->required();
  AddDefaulted(command, "--revision", options->revision, "N",
               "Save this revision, one that voxloc map history lists; 0: the one in use");
  AddServerFlags(command, &options->server);
  command->add_option("DIR", options->directory, "Write to this directory, made if missing")
      ->required();
}

struct MapImportFlags {
  ServerFlags server;
  CommitFlags commit;
  std::string map;
  std::string directory;
};

absl::StatusOr<ExitCode> ImportMap(const MapImportFlags& options) {
  const Stopwatch watch;
  VOXLOC_ASSIGN_OR_RETURN(const MapManifest manifest, ReadManifest(options.directory));
  v1::BeginUpdate begin;
  begin.set_map(options.map.empty() ? manifest.map : options.map);
  begin.set_create(true);
  begin.set_clear(true);
  *begin.mutable_options() = manifest.options;
  if (manifest.frame.has_projector() || manifest.frame.has_origin()) {
    *begin.mutable_frame() = manifest.frame;
  }
  std::vector<client::UploadTile> tiles;
  for (const ManifestTile& tile : manifest.tiles) {
    const auto load = [&options, &tile] { return ReadManifestTile(options.directory, tile); };
    tiles.push_back({tile.id, load, tile.sha256});
  }
  VOXLOC_ASSIGN_OR_RETURN(
      const client::UploadResult result,
      UploadWithProgress(options.server, options.commit, begin, std::move(tiles)));
  const double seconds = watch.seconds();
  const std::string text = absl::StrFormat(
      "map %s, revision %d: %s points, tiles %d, %.1f s\n%s", begin.map(),
      result.committed.map().revision(), GroupDigits(result.counts.points_kept),
      manifest.tiles.size(), seconds, UploadNotes(result, options.commit.stages(), 0));
  Json json = UploadJson(result);
  json["tiles"] = manifest.tiles.size();
  json["points"] = result.counts.points_kept;
  json["elapsed_s"] = seconds;
  return Report(options.server.json, text, json);
}

void AddImportCommand(CLI::App* parent, Work* chosen) {
  const auto [command, options] = AddCommand(
      parent, chosen, &ImportMap, "import", "Load a map that voxloc map export has saved",
      R"(The map is created, or replaced in one step, with the options and the frame of the one that
was saved. Only
tiles whose points the server does not have are read and sent. A tile whose points do not
have the digest of the manifest is refused by its name, and the map stays as it was.

Examples:
  voxloc map import backup/town
  voxloc map import --map town-copy --stage backup/town)");
  options->server.timeout_s = 120.0;
  options->commit.comment = "voxloc map import";
  AddMapFlag(command, &options->map, "Give the map this name; default: the one that it had");
  AddCommitFlags(command, &options->commit);
  AddServerFlags(command, &options->server);
  command->add_option("DIR", options->directory, "Load the map of this directory")->required();
}

}  // namespace

void AddMapCopyCommands(CLI::App* parent, Work* chosen) {
  AddExportCommand(parent, chosen);
  AddImportCommand(parent, chosen);
}

}  // namespace voxloc::cli
