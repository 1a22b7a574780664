// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/flags/server_flags.h"
#include "clients/cli/map/map_manifest.h"
#include "clients/cli/map/upload_report.h"
#include "clients/cli/output/text_table.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

struct MapImportFlags {
  ServerFlags server;
  CommitFlags commit;
  std::string map;
  std::string directory;
};

absl::StatusOr<ExitCode> ImportMap(const MapImportFlags& options) {
  const auto start = std::chrono::steady_clock::now();
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
  VOXLOC_ASSIGN_OR_RETURN(const client::UploadResult result,
                          UploadWithBar(options.server, options.commit, begin, std::move(tiles)));
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const std::string text = absl::StrFormat(
      "map %s, revision %d: %s points, tiles %d, %.1f s\n%s", begin.map(),
      result.committed.map().revision(), Grouped(result.counts.points_kept), manifest.tiles.size(),
      seconds, UploadNotes(result, options.commit.stages(), 0));
  Json json = UploadJson(result);
  json["tiles"] = manifest.tiles.size();
  json["points"] = result.counts.points_kept;
  json["elapsed_s"] = seconds;
  return Report(options.server.json, text, json);
}

}  // namespace

void AddMapImportCommand(CLI::App* parent, Work* chosen) {
  auto options = std::make_shared<MapImportFlags>();
  options->server.timeout_s = 120.0;
  options->commit.comment = "voxloc map import";
  CLI::App* command =
      parent->add_subcommand("import", "Load a map that voxloc map export has saved");
  command->footer(
      R"(The map is created, or replaced in one step, with the options and the frame of the one that
was saved. Only
tiles whose points the server does not have are read and sent. A tile whose points do not
have the digest of the manifest is refused by its name, and the map stays as it was.

Examples:
  voxloc map import backup/town
  voxloc map import --map town-copy --stage backup/town)");
  AddMapFlag(command, &options->map, "Give the map this name; default: the one that it had");
  AddCommitFlags(command, &options->commit);
  AddServerFlags(command, &options->server);
  command->add_option("DIR", options->directory, "Load the map of this directory")->required();
  command->callback([options, chosen] { *chosen = [options] { return ImportMap(*options); }; });
}

}  // namespace voxloc::cli
