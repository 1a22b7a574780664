// SPDX-License-Identifier: Apache-2.0
//
// `voxloc_bench map-update`: whether new tiles are proposed where simulated towns have changed
// since their map was made, and nowhere else, and how good they are.

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "tests/bench/bench_options.h"
#include "tests/bench/town_flags.h"
#include "tests/support/aged_town.h"
#include "tests/support/scene_distance.h"

namespace voxloc::bench {
namespace {

struct MapUpdateFlags {
  TownFlags towns;
  size_t every = 0;
  AgedTownOptions town;
  bool unchanged = false;
};

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

absl::Status JudgeUpdates(const MapUpdateFlags& flags, Engine& engine, const Profile& profile,
                          uint64_t seed, nlohmann::json& rows) {
  AgedTownOptions options = flags.town;
  options.seed = seed;
  if (flags.unchanged) options.missing_structures = options.moved_structures = 0.0;
  auto town = AgedTown::Make(engine, profile, options);
  if (!town.ok()) return town.status();
  for (size_t pass = 1; pass <= flags.towns.passes; ++pass) {
    if (absl::Status status = (*town)->Drive(); !status.ok()) return status;
    if (pass != flags.towns.passes && (flags.every == 0 || pass % flags.every != 0)) continue;
    const double start_s = CpuSeconds();
    const UpdateRequest request = (*town)->Request();
    const auto proposal = ProposeTiles(engine, profile, request);
    if (!proposal.ok()) return proposal.status();
    const double scan_ms =
        1e3 * (CpuSeconds() - start_s) / static_cast<double>(request.scans.size());
    const auto quality = (*town)->Judge(*proposal);
    if (!quality.ok()) return quality.status();
    std::printf(
        "town %llu pass %zu: %zu missing, %zu moved; %zu scans, %zu not accepted, %zu corrected, "
        "%zu passes dropped, %zu of %zu tiles, %zu unconfirmed; new points %zu, median %.3f m, "
        "95 %% "
        "%.3f m, transient %.4f; recalled %.3f of %zu, ghosts left %.3f of %zu; error old %.4f "
        "new %.4f fresh %.4f m of %zu scans; seams %zu, median %.4f m, 95 %% %.4f m, before %zu, "
        "%.4f m, %.4f m; %.1f ms a scan, %.0f MB\n",
        static_cast<unsigned long long>(options.seed), pass, (*town)->age().missing_structures,
        (*town)->age().moved_structures, proposal->counts.scans, proposal->counts.not_accepted,
        proposal->counts.corrected, CountPasses(proposal->dropped_passes), proposal->tiles.size(),
        request.tiles.size(), proposal->unconfirmed_tiles.size(), quality->new_points,
        quality->median_m, quality->p95_m, quality->transient, quality->recalled,
        quality->changed_seen, quality->ghosts_left, quality->ghosts, quality->error_old_m,
        quality->error_new_m, quality->error_fresh_m, quality->scans, quality->seams_m.size(),
        Quantile(quality->seams_m, 0.5), Quantile(quality->seams_m, 0.95),
        quality->old_seams_m.size(), Quantile(quality->old_seams_m, 0.5),
        Quantile(quality->old_seams_m, 0.95), scan_ms,
        1e-6 * static_cast<double>(proposal->votes_memory_bytes));
    std::fflush(stdout);
    rows.push_back({{"town", options.seed},
                    {"pass", pass},
                    {"scans", proposal->counts.scans},
                    {"tiles", proposal->tiles.size()},
                    {"unconfirmed_tiles", proposal->unconfirmed_tiles.size()},
                    {"dropped_passes", CountPasses(proposal->dropped_passes)},
                    {"new_points", quality->new_points},
                    {"median_m", quality->median_m},
                    {"p95_m", quality->p95_m},
                    {"transient", quality->transient},
                    {"recalled", quality->recalled},
                    {"ghosts_left", quality->ghosts_left},
                    {"seam_median_m", Quantile(quality->seams_m, 0.5)},
                    {"seam_p95_m", Quantile(quality->seams_m, 0.95)},
                    {"error_old_m", quality->error_old_m},
                    {"error_new_m", quality->error_new_m},
                    {"error_fresh_m", quality->error_fresh_m},
                    {"scan_ms", scan_ms},
                    {"votes_memory_bytes", proposal->votes_memory_bytes}});
  }
  return absl::OkStatus();
}

absl::Status RunMapUpdate(const MapUpdateFlags& flags) {
  return RunTowns(flags.towns,
                  [&](Engine& engine, const Profile& profile, uint64_t seed, nlohmann::json& rows) {
                    return JudgeUpdates(flags, engine, profile, seed, rows);
                  });
}

}  // namespace

Command AddMapUpdateCommand(CLI::App& program) {
  auto flags = std::make_shared<MapUpdateFlags>();
  CLI::App* app = program.add_subcommand(
      "map-update", "Propose new tiles for old maps of simulated towns and judge them");
  AddTownFlags(*app, flags->towns);
  app->add_option("--every", flags->every,
                  "Propose after every so many passes; 0: after the last one only")
      ->capture_default_str();
  app->add_option("--missing", flags->town.missing_structures,
                  "Share of the structures that the old map does not have")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app->add_option("--moved", flags->town.moved_structures,
                  "Share of the structures that have moved since")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app->add_flag("--unchanged", flags->unchanged, "Change nothing but parked cars");
  AddAgedTownFlags(*app, flags->town);
  app->add_option("--wrong-poses", flags->town.wrong_poses,
                  "Share of the recorded poses that are 0.3 m off")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app->add_flag("--wrong-mount", flags->town.wrong_mount,
                "Record every fifth pass with a mount that is wrong by 0.2 m and 1 degree");
  return {app, [flags] { return RunMapUpdate(*flags); }};
}

}  // namespace voxloc::bench
