// SPDX-License-Identifier: Apache-2.0
//
// `voxloc_bench basin`: the basin of convergence. Start poses are off by a known distance in a
// random horizontal direction and by a known angle about the vertical. Reports the share that ends
// at the truth, per distance, angle and profile. `autoware` is the reference's algorithm.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

#include "core/engine/profile.h"
#include "core/geometry/euler.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/data_set.h"
#include "tests/bench/pose_errors.h"
#include "tests/support/random_numbers.h"

namespace voxloc::bench {
namespace {

struct BasinFlags {
  EngineOptions engine;
  std::vector<std::string> sets;
  ErrorLimits limits = {0.2, 0.5};
  std::vector<double> offsets_m = {0.5, 1.0, 2.0, 3.0, 4.0, 5.0};
  std::vector<double> angles_deg = {1.0, 5.0, 10.0, 15.0, 20.0};
  size_t trials = 1;
  size_t stride = 1;
  uint64_t seed = 0;
  std::vector<std::string> profiles = {"autoware", "precise"};
  std::string json;
};

Pose Displace(const Pose& map_T_base, double offset_m, double angle_deg, RandomNumbers& random) {
  const double heading = random.Uniform(-M_PI, M_PI);
  const double turn =
      (random.Uniform(-1.0, 1.0) < 0.0 ? -1.0 : 1.0) * angle_deg * kRadiansPerDegree;
  Pose moved = map_T_base;
  moved.translation += offset_m * Eigen::Vector3d(std::cos(heading), std::sin(heading), 0.0);
  moved.rotation =
      Eigen::Quaterniond(Eigen::AngleAxisd(turn, Eigen::Vector3d::UnitZ())) * moved.rotation;
  return moved;
}

// Every scan of the set `trials` times, each from a start of its own. The same for all profiles.
std::vector<BenchScan> MakeStarts(const LoadedSet& set, double offset_m, double angle_deg,
                                  const BasinFlags& options) {
  RandomNumbers random(options.seed);
  std::vector<BenchScan> starts;
  for (size_t trial = 0; trial < options.trials; ++trial) {
    for (BenchScan scan : set.scans) {
      scan.map_T_base_guess = Displace(scan.map_T_base, offset_m, angle_deg, random);
      starts.push_back(std::move(scan));
    }
  }
  return starts;
}

void PrintSettings(const LoadedSet& set, const Profile& profile, const BasinFlags& options) {
  std::printf("%s, %s: %% of %zu starts that end within %g m and %g deg of the truth\n",
              set.name.c_str(), profile.name.c_str(), set.scans.size() * options.trials,
              options.limits.distance_m, options.limits.angle_deg);
  std::printf("%10s", "");
  for (const double offset_m : options.offsets_m) std::printf(" %5g m", offset_m);
  std::printf("\n");
}

absl::Status RunSet(Engine& engine, const LoadedSet& set, const Profile& profile,
                    const BasinFlags& options, nlohmann::json& rows) {
  PrintSettings(set, profile, options);
  for (const double angle_deg : options.angles_deg) {
    std::printf("%6g deg", angle_deg);
    for (const double offset_m : options.offsets_m) {
      const std::vector<BenchScan> starts = MakeStarts(set, offset_m, angle_deg, options);
      const std::vector<AlignResult> results = engine.Align(AlignJobs(set.map, starts, profile));
      PoseErrors errors;
      for (size_t i = 0; i < results.size(); ++i) {
        if (!results[i].status.ok()) return results[i].status;
        errors.Add(results[i], profile, starts[i].map_T_base, options.limits);
      }
      const double share =
          1.0 - static_cast<double>(errors.beyond) / static_cast<double>(errors.count());
      std::printf(" %7.1f", 100.0 * share);
      std::fflush(stdout);
      rows.push_back({{"set", set.name},
                      {"profile", profile.name},
                      {"offset_m", offset_m},
                      {"angle_deg", angle_deg},
                      {"starts", errors.count()},
                      {"success", share},
                      {"accepted", errors.accepted},
                      {"iterations", ToJson(Summarize(errors.iterations))}});
    }
    std::printf("\n");
  }
  return absl::OkStatus();
}

absl::Status RunBasin(const BasinFlags& options) {
  auto engine = MakeEngine(options.engine);
  if (!engine.ok()) return engine.status();
  const auto sets = ParseSets(options.sets);
  if (!sets.ok()) return sets.status();
  const auto profiles = ProfilesOf(options.profiles);
  if (!profiles.ok()) return profiles.status();
  nlohmann::json rows = nlohmann::json::array();
  for (const DataSet& set : *sets) {
    const auto loaded = LoadSet(**engine, set, *profiles, options.stride);
    if (!loaded.ok()) return loaded.status();
    for (const Profile& profile : *profiles) {
      const absl::Status status = RunSet(**engine, *loaded, profile, options, rows);
      if (!status.ok()) return status;
    }
  }
  return WriteJson(options.json, {{"engine", (*engine)->Info().name},
                                  {"seed", options.seed},
                                  {"limit_distance_m", options.limits.distance_m},
                                  {"limit_angle_deg", options.limits.angle_deg},
                                  {"results", rows}});
}

}  // namespace

Command AddBasinCommand(CLI::App& program) {
  auto options = std::make_shared<BasinFlags>();
  CLI::App* app = program.add_subcommand(
      "basin",
      "Find from how far away profiles converge, on one or several data sets; their start "
      "poses are not used");
  AddEngineFlags(*app, options->engine);
  AddSetFlag(*app, options->sets);
  AddProfilesFlag(*app, options->profiles);
  AddLimitFlags(*app, options->limits, "a failure");
  app->add_option("--offsets", options->offsets_m,
                  "Offset the starts horizontally by these distances, m")
      ->delimiter(',')
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app->add_option("--angles", options->angles_deg,
                  "Rotate the starts about the vertical by these angles, deg")
      ->delimiter(',')
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app->add_option("--trials", options->trials,
                  "Use this many starts of each scan at each distance and angle")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  app->add_option("--stride", options->stride, "Use every Nth scan")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app->add_option("--seed", options->seed, "Set the seed of the directions")->capture_default_str();
  AddJsonFlag(*app, options->json);
  return {app, [options] { return RunBasin(*options); }};
}

}  // namespace voxloc::bench
