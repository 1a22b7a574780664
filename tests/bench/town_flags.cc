// SPDX-License-Identifier: Apache-2.0

#include "tests/bench/town_flags.h"

#include "core/map_update/cube_votes.h"

namespace voxloc::bench {

void AddTownFlags(CLI::App& app, TownFlags& flags) {
  AddEngineFlags(app, flags.engine);
  AddProfileFlag(app, flags.profile);
  app.add_option("--first-seed", flags.first_seed, "Use the towns of seeds from this one on")
      ->capture_default_str();
  app.add_option("--towns", flags.towns, "Number of towns")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--passes", flags.passes, "Drives through each town that are judged")
      ->check(CLI::Range(size_t{1}, kMaxVotingPasses))
      ->capture_default_str();
  AddJsonFlag(app, flags.json);
}

absl::Status RunTowns(
    const TownFlags& flags,
    absl::FunctionRef<absl::Status(Engine&, const Profile&, uint64_t, nlohmann::json&)> run) {
  const auto engine = MakeEngine(flags.engine);
  if (!engine.ok()) return engine.status();
  const auto profile = ProfileOf(flags.profile);
  if (!profile.ok()) return profile.status();
  nlohmann::json rows = nlohmann::json::array();
  for (size_t i = 0; i < flags.towns; ++i) {
    if (absl::Status status = run(**engine, *profile, flags.first_seed + i, rows); !status.ok()) {
      return status;
    }
  }
  return WriteJson(flags.json, {{"rows", rows}});
}

void AddAgedTownFlags(CLI::App& app, AgedTownOptions& options) {
  app.add_option("--sensor", options.sensor, "Preset of the sensor; default: 32 rings");
  app.add_option("--drift", options.drift_sigma_m, "Drift of the old map, metres")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--drive", options.drive_s, "Seconds of each drive")
      ->check(CLI::Range(4.0, 3600.0))
      ->capture_default_str();
  app.add_option("--sample-every", options.sample_every_s, "Seconds from scan to scan")
      ->check(CLI::Range(0.1, 10.0))
      ->capture_default_str();
  app.add_option("--size", options.size_m, "Edge of a town, metres")
      ->check(CLI::Range(100.0, 1000.0))
      ->capture_default_str();
}

}  // namespace voxloc::bench
