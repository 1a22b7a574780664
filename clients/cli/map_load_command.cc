// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "clients/cli/commands.h"
#include "clients/cli/map_text.h"
#include "clients/cli/progress.h"
#include "clients/cli/server_flags.h"
#include "clients/cli/text_table.h"
#include "clients/cpp/map_transaction.h"
#include "clients/dataset/map_source.h"
#include "clients/dataset/map_tiling.h"

namespace voxloc::cli {
namespace {

struct MapLoadFlags {
  ServerFlags server;
  std::string map;
  std::vector<std::string> paths;
  std::string poses;
  double tile_size_m = 0.0;
  bool add = false;
  std::string profiles;  // comma-separated
  double cell_size_m = 0.0;
};

struct Counts {
  size_t files = 0;
  size_t tiles = 0;
  uint64_t points = 0;
};

client::TransactionOptions TransactionFor(const MapLoadFlags& options) {
  client::TransactionOptions transaction;
  transaction.timeout_s = options.server.timeout_s;
  v1::BeginUpdate& begin = transaction.begin;
  begin.set_map(options.map);
  begin.set_create(true);
  begin.set_clear(!options.add);
  for (const absl::string_view profile : absl::StrSplit(options.profiles, ',', absl::SkipEmpty())) {
    begin.mutable_options()->add_profiles(std::string(profile));
  }
  if (options.cell_size_m > 0.0) {
    begin.mutable_options()->mutable_cell_size_m()->set_value(options.cell_size_m);
  }
  return transaction;
}

absl::Status SendTiles(const MapLoadFlags& options, const std::vector<TileSource>& sources,
                       client::MapTransaction* transaction, Counts* counts) {
  ProgressBar bar(absl::StrCat("loading ", options.map), sources.size() == 1 ? "cloud" : "clouds",
                  sources.size());
  // One grid over everything: points of several clouds meet in the same tile.
  PointCloud whole;
  for (const TileSource& source : sources) {
    absl::StatusOr<PointCloud> cloud = LoadTile(source);
    if (!cloud.ok()) return cloud.status();
    counts->points += cloud->size();
    if (options.tile_size_m > 0.0) {
      if (counts->files == 0) {
        whole = *std::move(cloud);
      } else {
        Append(*cloud, whole);
      }
    } else {
      if (absl::Status status = transaction->AddTile(source.id, *cloud); !status.ok()) {
        return status;
      }
      ++counts->tiles;
    }
    bar.Update(++counts->files);
  }
  if (options.tile_size_m <= 0.0) return absl::OkStatus();
  absl::StatusOr<std::vector<MapTile>> tiles = SplitIntoTiles(whole, options.tile_size_m);
  if (!tiles.ok()) return tiles.status();
  ProgressBar tile_bar(absl::StrCat("loading ", options.map), "tiles", tiles->size());
  for (const MapTile& tile : *tiles) {
    if (absl::Status status = transaction->AddTile(tile.id, tile.cloud); !status.ok()) {
      return status;
    }
    tile_bar.Update(++counts->tiles);
  }
  return absl::OkStatus();
}

absl::StatusOr<ExitCode> LoadMap(const MapLoadFlags& options) {
  const auto start = std::chrono::steady_clock::now();
  absl::StatusOr<std::vector<TileSource>> sources = ResolveMapSources(options.paths, options.poses);
  if (!sources.ok()) return sources.status();
  absl::StatusOr<client::Channel> channel = Connect(options.server);
  if (!channel.ok()) return channel.status();
  absl::StatusOr<std::unique_ptr<client::MapTransaction>> transaction =
      client::MapTransaction::Begin(*channel, TransactionFor(options));
  if (!transaction.ok()) return transaction.status();
  Counts counts;
  if (absl::Status status = SendTiles(options, *sources, transaction->get(), &counts);
      !status.ok()) {
    return status;
  }
  absl::StatusOr<v1::UpdateCommitted> committed = (*transaction)->Commit("voxloc map load");
  if (!committed.ok()) return committed.status();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (options.server.prints_text()) {
    absl::PrintF("map %s, revision %d: %s points, clouds %d, tiles %d, %.1f s\n", options.map,
                 committed->map().revision(), Grouped(counts.points), counts.files, counts.tiles,
                 seconds);
    if ((*transaction)->points_not_finite() > 0) {
      absl::PrintF("%s points were dropped: not finite\n",
                   Grouped((*transaction)->points_not_finite()));
    }
  }
  const Json result = {{"map", MapJson(committed->map())},
                       {"clouds", counts.files},
                       {"tiles_sent", counts.tiles},
                       {"points_sent", counts.points},
                       {"points_not_finite", (*transaction)->points_not_finite()},
                       {"commit_s", committed->commit_s()},
                       {"elapsed_s", seconds}};
  if (absl::Status status = WriteJson(options.server.json, result); !status.ok()) return status;
  return ExitCode::kOk;
}

}  // namespace

void AddMapLoadCommand(CLI::App* parent, Work* chosen) {
  auto options = std::make_shared<MapLoadFlags>();
  options->server.timeout_s = 120.0;
  CLI::App* command = parent->add_subcommand("load", "Load a map from clouds in one transaction");
  command->footer(
      "A PATH is a cloud (PCD, PLY, KITTI .bin), a directory of clouds, or an Autoware map\n"
      "directory with pointcloud_map_metadata.yaml. Each cloud becomes a tile of the map, named\n"
      "after its file; with --tile-size, all points are cut into square tiles instead. The map is\n"
      "created or replaced in one step: vehicles use either the old map or the new one.\n\n"
      "Examples:\n"
      "  voxloc map load --server localhost:50051 --map town map.pcd\n"
      "  voxloc map load --map town --tile-size 50 map.ply\n"
      "  voxloc map load --map yard --poses poses.txt scans/");
  command->add_option("--map", options->map, "Load this map")->type_name("NAME")->required();
  command
      ->add_option(
          "--tile-size", options->tile_size_m,
          "Cut the points into square tiles of S metres (1 to 1000000); 0: one tile per cloud")
      ->type_name("S")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  command
      ->add_option("--poses", options->poses,
                   "Place each cloud by its pose map_T_cloud: 12 numbers of a 3x4 row-major "
                   "matrix per line, in the order of the clouds")
      ->type_name("FILE");
  command->add_flag("--add", options->add,
                    "Keep the other tiles of the map; tiles with the same name are replaced");
  command
      ->add_option("--profiles", options->profiles,
                   "Build the map for these profiles, separated by commas; default: all")
      ->type_name("P,...");
  command
      ->add_option("--cell-size", options->cell_size_m,
                   "Set the cell size of each profile's score stage, metres (0.1 to 100); 0: the "
                   "profiles' own")
      ->type_name("S")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  AddServerFlags(command, &options->server);
  command->add_option("PATH", options->paths, "Load these clouds and directories")->required();
  command->callback([options, chosen] { *chosen = [options] { return LoadMap(*options); }; });
}

}  // namespace voxloc::cli
