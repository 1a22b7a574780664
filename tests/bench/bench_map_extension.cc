// SPDX-License-Identifier: Apache-2.0
//
// `voxloc_bench map-extension`: how good new tiles are beyond the edge of the maps of simulated
// towns, in which drives leave the map and return.

#include <cstdio>
#include <limits>
#include <string>

#include "tests/bench/bench_options.h"
#include "tests/bench/town_flags.h"
#include "tests/support/aged_town.h"
#include "tests/support/scene_distance.h"

namespace voxloc::bench {
namespace {

// Of the ways that errors are reported by.
constexpr double kWayStepM = 20.0;

struct MapExtensionFlags {
  TownFlags towns;
  AgedTownOptions town;
  ExtensionOptions extension;
};

void PrintWays(const std::vector<AgedTown::WayError>& placed) {
  for (double from_m = 0.0;; from_m += kWayStepM) {
    std::vector<double> errors;
    size_t farther = 0;
    for (const AgedTown::WayError& scan : placed) {
      if (scan.way_m > from_m + kWayStepM) ++farther;
      if (scan.way_m > from_m && scan.way_m <= from_m + kWayStepM) errors.push_back(scan.error_m);
    }
    std::printf("    way %3.0f to %3.0f m: %zu scans, error median %.3f m, 95 %% %.3f m\n", from_m,
                from_m + kWayStepM, errors.size(), Quantile(errors, 0.5), Quantile(errors, 0.95));
    if (farther == 0) return;
  }
}

absl::Status JudgeExtensionOf(const MapExtensionFlags& flags, Engine& engine,
                              const Profile& profile, uint64_t seed, nlohmann::json& rows) {
  AgedTownOptions options = flags.town;
  options.seed = seed;
  auto town = AgedTown::Make(engine, profile, options);
  if (absl::IsNotFound(town.status())) {
    std::printf("town %llu: %s\n", static_cast<unsigned long long>(options.seed),
                std::string(town.status().message()).c_str());
    return absl::OkStatus();
  }
  if (!town.ok()) return town.status();
  for (size_t pass = 0; pass < flags.towns.passes; ++pass) {
    if (absl::Status status = (*town)->Drive(); !status.ok()) return status;
  }
  const UpdateRequest request = (*town)->Request();
  const auto proposal = ExtendMap(engine, profile, request, flags.extension);
  if (!proposal.ok()) return proposal.status();
  const auto quality = (*town)->JudgeExtension(*proposal);
  if (!quality.ok()) return quality.status();
  std::printf(
      "town %llu: %zu scans, %zu beyond the map, %zu not placed, %zu corrected, %zu passes "
      "dropped; %zu new tiles, %zu unconfirmed; points %zu, median %.3f m, 95 %% %.3f m, "
      "transient %.4f; recalled %.3f of %zu; seams %zu, median %.4f m, 95 %% %.4f m, of the "
      "removed tiles %zu, %.4f m, %.4f m; error new %.4f fresh %.4f m of %zu scans\n",
      static_cast<unsigned long long>(options.seed), request.scans.size(), proposal->placed.size(),
      proposal->counts.not_accepted, proposal->counts.corrected,
      CountPasses(proposal->dropped_passes), proposal->tiles.size(),
      proposal->unconfirmed_tiles.size(), quality->new_points, quality->median_m, quality->p95_m,
      quality->transient, quality->recalled, quality->seen, quality->seams_m.size(),
      Quantile(quality->seams_m, 0.5), Quantile(quality->seams_m, 0.95),
      quality->removed_seams_m.size(), Quantile(quality->removed_seams_m, 0.5),
      Quantile(quality->removed_seams_m, 0.95), quality->error_new_m, quality->error_fresh_m,
      quality->scans);
  PrintWays(quality->placed);
  std::fflush(stdout);
  rows.push_back({{"town", options.seed},
                  {"scans", request.scans.size()},
                  {"placed", proposal->placed.size()},
                  {"tiles", proposal->tiles.size()},
                  {"unconfirmed_tiles", proposal->unconfirmed_tiles.size()},
                  {"new_points", quality->new_points},
                  {"median_m", quality->median_m},
                  {"p95_m", quality->p95_m},
                  {"transient", quality->transient},
                  {"recalled", quality->recalled},
                  {"seam_median_m", Quantile(quality->seams_m, 0.5)},
                  {"seam_p95_m", Quantile(quality->seams_m, 0.95)},
                  {"error_new_m", quality->error_new_m},
                  {"error_fresh_m", quality->error_fresh_m}});
  return absl::OkStatus();
}

absl::Status RunMapExtension(const MapExtensionFlags& flags) {
  return RunTowns(flags.towns,
                  [&](Engine& engine, const Profile& profile, uint64_t seed, nlohmann::json& rows) {
                    return JudgeExtensionOf(flags, engine, profile, seed, rows);
                  });
}

}  // namespace

Command AddMapExtensionCommand(CLI::App& program) {
  auto flags = std::make_shared<MapExtensionFlags>();
  flags->town.missing_structures = flags->town.moved_structures = 0.0;
  flags->town.removed_edge_m = 50.0;
  CLI::App* app = program.add_subcommand(
      "map-extension",
      "Propose new tiles beyond the edge of maps of simulated towns and judge them");
  AddTownFlags(*app, flags->towns);
  AddAgedTownFlags(*app, flags->town);
  app->add_option("--edge", flags->town.removed_edge_m,
                  "Width of the strip of a town that is not in its map, metres")
      ->check(CLI::Range(10.0, 500.0))
      ->capture_default_str();
  app->add_option("--max-way", flags->extension.max_way_m,
                  "Way beyond the map up to which scans are used, metres")
      ->check(CLI::Range(1.0, 500.0))
      ->capture_default_str();
  return {app, [flags] { return RunMapExtension(*flags); }};
}

}  // namespace voxloc::bench
