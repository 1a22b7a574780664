// SPDX-License-Identifier: Apache-2.0
//
// `voxloc_bench map-fit`: whether a house that changed since the map was made stands out among the
// tiles, and parked cars do not. Simulates towns, drives through each several times, and reports
// the places of the changed tiles after each pass.

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/town_flags.h"
#include "tests/support/changed_town.h"

namespace voxloc::bench {
namespace {

struct MapFitFlags {
  TownFlags towns;
  size_t passes_before = 6;
  int rings = 32;
  double moved_by_m = 0.5;
  double changed_parking = 0.5;
  double tile_size_m = 20.0;
  double size_m = 140.0;
  double drive_s = 40.0;
  bool list_tiles = false;
};

const std::vector<std::pair<const char*, TownChange>>& Changes() {
  static const auto& changes =
      *new std::vector<std::pair<const char*, TownChange>>{{"removed", TownChange::kRemoved},
                                                           {"built", TownChange::kBuilt},
                                                           {"back", TownChange::kBack},
                                                           {"forward", TownChange::kForward}};
  return changes;
}

void PrintTiles(const std::vector<const ChangedTown::Tile*>& ranked) {
  for (const ChangedTown::Tile* tile : ranked) {
    const TileFit& fit = tile->fit;
    std::printf(
        "    %-8s%s%s change %.3f scans %4.1f residual %.3f m; points %6.0f unexplained %.3f, "
        "raised %6.0f %.3f; solid %6.0f seen through %.3f, raised %6.0f %.3f\n",
        tile->id.c_str(), tile->changed ? " CHANGED" : "        ",
        tile->parking ? " parking" : "        ", fit.change(), fit.scans, fit.residual_m(),
        fit.points.all, fit.points.ratio(), fit.raised_points.all, fit.raised_points.ratio(),
        fit.solid.all, fit.solid.ratio(), fit.raised_solid.all, fit.raised_solid.ratio());
  }
}

// Rank of the first changed tile, from 1; 0: none was seen.
size_t RankOfChanged(const std::vector<const ChangedTown::Tile*>& ranked) {
  for (size_t i = 0; i < ranked.size(); ++i) {
    if (ranked[i]->changed) return i + 1;
  }
  return 0;
}

// The maximum `change` of the unchanged tiles.
double MaxOfUnchanged(const std::vector<const ChangedTown::Tile*>& ranked) {
  for (const ChangedTown::Tile* tile : ranked) {
    if (!tile->changed) return tile->fit.change();
  }
  return 0.0;
}

absl::Status JudgeFits(const MapFitFlags& flags, Engine& engine, const Profile& profile,
                       uint64_t seed, nlohmann::json& rows) {
  for (const auto& [name, change] : Changes()) {
    ChangedTownOptions options;
    options.seed = seed;
    options.change = change;
    options.moved_by_m = flags.moved_by_m;
    options.changed_parking = flags.changed_parking;
    options.rings = flags.rings;
    options.tile_size_m = flags.tile_size_m;
    options.size_m = flags.size_m;
    options.drive_s = flags.drive_s;
    auto town = ChangedTown::Make(engine, profile, options);
    if (!town.ok()) return town.status();
    for (size_t pass = 0; pass < flags.passes_before; ++pass) {
      if (auto report = (*town)->Drive(ChangedTown::When::kBefore); !report.ok()) {
        return report.status();
      }
    }
    for (size_t pass = 1; pass <= flags.towns.passes; ++pass) {
      const auto report = (*town)->Drive(ChangedTown::When::kAfter);
      if (!report.ok()) return report.status();
      const auto ranked = (*town)->Ranked();
      const size_t place = RankOfChanged(ranked);
      const double changed = place == 0 ? 0.0 : ranked[place - 1]->fit.change();
      const double unchanged = MaxOfUnchanged(ranked);
      const double sample_ms =
          1e3 * report->observe_s / std::max<double>(1.0, static_cast<double>(report->accepted));
      std::printf(
          "town %3llu %-8s pass %2zu: accepted %2zu of %2zu (error up to %.3f m), %.2f ms a "
          "scan; "
          "changed tile is number %zu of %zu with %.3f, the worst other %.3f\n",
          static_cast<unsigned long long>(options.seed), name, pass, report->accepted,
          report->scans, report->worst_error_m, sample_ms, place, ranked.size(), changed,
          unchanged);
      rows.push_back({{"town", options.seed},
                      {"change", name},
                      {"pass", pass},
                      {"scans", report->scans},
                      {"accepted", report->accepted},
                      {"worst_error_m", report->worst_error_m},
                      {"sample_ms", sample_ms},
                      {"tiles", ranked.size()},
                      {"place", place},
                      {"changed", changed},
                      {"unchanged", unchanged}});
    }
    if (flags.list_tiles) PrintTiles((*town)->Ranked());
  }
  return absl::OkStatus();
}

absl::Status RunMapFit(const MapFitFlags& flags) {
  return RunTowns(flags.towns,
                  [&](Engine& engine, const Profile& profile, uint64_t seed, nlohmann::json& rows) {
                    return JudgeFits(flags, engine, profile, seed, rows);
                  });
}

}  // namespace

Command AddMapFitCommand(CLI::App& program) {
  auto flags = std::make_shared<MapFitFlags>();
  CLI::App* app = program.add_subcommand(
      "map-fit", "Judge which tiles of simulated towns seem to have changed");
  flags->towns.towns = 4;
  flags->towns.passes = 5;
  AddTownFlags(*app, flags->towns);
  app->add_option("--passes-before", flags->passes_before,
                  "Drives through each town before the house changes")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  app->add_option("--rings", flags->rings, "Rings of the sensor")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app->add_option("--moved-by", flags->moved_by_m, "Metres by which houses move")
      ->check(CLI::Range(0.05, 5.0))
      ->capture_default_str();
  app->add_option("--changed-parking", flags->changed_parking,
                  "Share of the parking places that differ in every pass")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app->add_option("--tile-size", flags->tile_size_m, "Edge of a tile, metres")
      ->check(CLI::Range(5.0, 200.0))
      ->capture_default_str();
  app->add_option("--size", flags->size_m, "Edge of a town, metres")
      ->check(CLI::Range(100.0, 1000.0))
      ->capture_default_str();
  app->add_option("--drive", flags->drive_s,
                  "Seconds of each drive, of which a scan is compared every two")
      ->check(CLI::Range(4.0, 600.0))
      ->capture_default_str();
  app->add_flag("--list-tiles", flags->list_tiles, "Print every tile after the last pass");
  return {app, [flags] { return RunMapFit(*flags); }};
}

}  // namespace voxloc::bench
