// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/flags/request_flags.h"
#include "clients/cli/flags/server_flags.h"
#include "clients/cli/map/cells_file.h"
#include "clients/cli/map/map_cells.h"
#include "clients/cli/output/output.h"
#include "clients/cpp/admin_client.h"
#include "clients/cpp/map_client.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

struct MapCellsFlags {
  ServerFlags server;
  std::string map;
  std::string profile;
  int stage = -1;  // all
  std::string region;
  std::string output;
};

// The cells of a stage, which go into `file`.
struct StageCells {
  uint64_t revision = 0;
  double cell_size_m = 0.0;
  uint64_t cells = 0;
};

absl::StatusOr<StageCells> ExportStage(const client::MapClient& maps,
                                       const v1::GetCellsRequest& request, double timeout_s,
                                       CellsFile* file) {
  StageCells stage;
  const auto receive = [&](const v1::GetCellsResponse& part) {
    stage.cell_size_m = part.cell_size_m();
    return ForEachCell(part, [&](const MapCell& cell) {
      ++stage.cells;
      return file->Add(request.stage(), stage.cell_size_m, cell);
    });
  };
  VOXLOC_ASSIGN_OR_RETURN(stage.revision, maps.GetCells(request, receive, timeout_s));
  return stage;
}

absl::StatusOr<ExitCode> ExportCells(const MapCellsFlags& options) {
  const double timeout_s = options.server.timeout_s;
  VOXLOC_ASSIGN_OR_RETURN(const client::Channel channel, Connect(options.server));
  VOXLOC_ASSIGN_OR_RETURN(const v1::GetServerInfoResponse info,
                          client::GetServerInfo(channel, timeout_s));
  VOXLOC_ASSIGN_OR_RETURN(const v1::Profile profile, ProfileNamed(info, options.profile));
  const int stages = profile.stages_size();
  if (options.stage >= stages) {
    return absl::InvalidArgumentError(absl::StrCat("--stage must be from 0 to ", stages - 1,
                                                   " with the profile ", profile.name(), " (got ",
                                                   options.stage, ")"));
  }
  v1::GetCellsRequest request;
  request.set_map(options.map);
  request.set_profile(profile.name());
  if (!options.region.empty()) VOXLOC_TRY(ParseBox(options.region, request.mutable_region()));
  VOXLOC_ASSIGN_OR_RETURN(const std::unique_ptr<CellsFile> file, CellsFile::Create(options.output));
  const client::MapClient maps(channel);
  uint64_t revision = 0;
  uint64_t cells = 0;
  Json rows = Json::array();
  TextTable table(">stage|>cell size, m|>cells");
  for (int i = 0; i < stages; ++i) {
    if (options.stage >= 0 && i != options.stage) continue;
    request.set_stage(static_cast<uint32_t>(i));
    VOXLOC_ASSIGN_OR_RETURN(const StageCells stage,
                            ExportStage(maps, request, timeout_s, file.get()));
    if (revision != 0 && stage.cells > 0 && stage.revision != revision) {
      return absl::AbortedError(absl::StrCat("the map ", options.map, " changed from revision ",
                                             revision, " to ", stage.revision,
                                             " meanwhile; repeat the command"));
    }
    if (stage.cells > 0) revision = stage.revision;
    cells += stage.cells;
    rows.push_back({{"stage", i}, {"cell_size_m", stage.cell_size_m}, {"cells", stage.cells}});
    table.AddRow(
        {absl::StrCat(i), absl::StrFormat("%g", stage.cell_size_m), GroupDigits(stage.cells)});
  }
  if (cells == 0) {
    return absl::NotFoundError(
        absl::StrCat("the map ", options.map, " has no cells",
                     options.region.empty() ? "" : absl::StrCat(" in the box ", options.region)));
  }
  VOXLOC_TRY(file->Close());
  return Report(
      options.server.json,
      absl::StrFormat("map %s, revision %d, profile %s: %s cells in %s\n\n%s", options.map,
                      revision, profile.name(), GroupDigits(cells), options.output, table.Text()),
      {{"name", options.map},
       {"revision", revision},
       {"profile", profile.name()},
       {"file", options.output},
       {"cells", cells},
       {"stages", std::move(rows)}});
}

}  // namespace

void AddMapCellsCommand(CLI::App* parent, Work* chosen) {
  const auto [command, options] = AddCommand(
      parent, chosen, &ExportCells, "cells",
      "Save the cells of a map, the Gaussians that scans are matched with",
      R"(A cell has the mean and the covariance of its points, as a stage of a profile matches scans
with it, and their number.

Examples:
  voxloc map cells --map town --output town.ply
  voxloc map cells --map town --profile autoware --region -50,-50,-5,50,50,20 --output town.csv)");
  AddMapFlag(command, &options->map, "Save the cells of this map")->required();
  AddOption(command, "--profile", options->profile, "P",
            "Save the cells of this profile; default: the server's");
  AddDefaulted(command, "--stage", options->stage, "N",
               "Save the cells of stage N of the profile; -1: of all stages")
      ->check(CLI::Range(-1, 1000));
  AddBoxFlag(command, "--region",
             "Save the cells whose mean is in this box, given by its lower and its upper corner, "
             "metres; default: all",
             &options->region);
  AddOutputFile(command, "--output", &options->output, "Write the cells to FILE: .csv or .ply")
      ->required()
      ->check(&CellsFile::ExtensionError);
  AddServerFlags(command, &options->server);
}

}  // namespace voxloc::cli
