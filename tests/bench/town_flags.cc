// SPDX-License-Identifier: Apache-2.0

#include "tests/bench/town_flags.h"

namespace voxloc::bench {

void AddTownFlags(CLI::App& app, TownFlags& flags) {
  app.add_option("--first-seed", flags.first_seed, "Use the towns of seeds from this one on")
      ->capture_default_str();
  app.add_option("--towns", flags.towns, "Number of towns")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
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
