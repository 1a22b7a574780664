// SPDX-License-Identifier: Apache-2.0
//
// `voxloc_bench accuracy`: how far from the truth each profile ends, on several data sets.

#include <cstdio>
#include <memory>

#include "core/engine/profile.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/data_set.h"
#include "tests/bench/pose_errors.h"

namespace voxloc::bench {
namespace {

struct AccuracyFlags {
  EngineOptions engine;
  std::vector<std::string> sets;
  ErrorLimits limits = kLost;
  std::vector<std::string> profiles = {"autoware", "precise"};
  std::string json;
};

void PrintLimits(const ErrorLimits& limits) {
  std::printf("lost: over %g m or %g deg; x, y, z: along the true base's axes\n", limits.distance_m,
              limits.angle_deg);
  std::printf("%-16s %-17s %5s %5s  %-31s  %-23s  %-31s %s\n", "set", "profile", "scans", "lost",
              "error mean/p50/p95/max, mm", "p95 of |x|/|y|/|z|, mm",
              "rotation mean/p50/p95/max, deg", "iterations");
}

void PrintRow(const std::string& set, const std::string& profile, const PoseErrors& errors) {
  const Summary t = Summarize(errors.translation_m);
  const Summary r = Summarize(errors.rotation_deg);
  std::printf("%-16s %-17s %5zu %5zu ", set.c_str(), profile.c_str(), errors.count(),
              errors.beyond);
  for (const double value : {t.mean, t.p50, t.p95, t.max}) std::printf(" %7.2f", 1e3 * value);
  std::printf(" ");
  for (const auto& axis : errors.body_m) std::printf(" %7.2f", 1e3 * Summarize(axis).p95);
  std::printf(" ");
  for (const double value : {r.mean, r.p50, r.p95, r.max}) std::printf(" %7.4f", value);
  std::printf(" %10.1f\n", Summarize(errors.iterations).mean);
  std::fflush(stdout);
}

absl::Status RunAccuracy(const AccuracyFlags& options) {
  auto engine = MakeEngine(options.engine);
  if (!engine.ok()) return engine.status();
  const auto sets = ParseSets(options.sets);
  if (!sets.ok()) return sets.status();
  const auto profiles = ProfilesOf(options.profiles);
  if (!profiles.ok()) return profiles.status();
  PrintLimits(options.limits);
  nlohmann::json rows = nlohmann::json::array();
  for (const DataSet& set : *sets) {
    const auto loaded = LoadSet(**engine, set, *profiles, /*stride=*/1);
    if (!loaded.ok()) return loaded.status();
    for (const Profile& profile : *profiles) {
      const std::vector<AlignResult> results =
          (*engine)->Align(AlignJobs(loaded->map, loaded->scans, profile));
      PoseErrors errors;
      for (size_t i = 0; i < results.size(); ++i) {
        if (!results[i].status.ok()) return results[i].status;
        errors.Add(results[i], profile, loaded->scans[i].map_T_base, options.limits);
      }
      PrintRow(set.name, profile.name, errors);
      nlohmann::json row = {{"set", set.name}, {"profile", profile.name}};
      row.update(ToJson(errors));
      rows.push_back(std::move(row));
    }
  }
  return WriteJson(options.json, {{"engine", (*engine)->Info().name},
                                  {"limit_distance_m", options.limits.distance_m},
                                  {"limit_angle_deg", options.limits.angle_deg},
                                  {"results", rows}});
}

}  // namespace

Command AddAccuracyCommand(CLI::App& program) {
  auto options = std::make_shared<AccuracyFlags>();
  CLI::App* app = program.add_subcommand(
      "accuracy", "Compare profiles with the truth, on one or several data sets");
  AddEngineFlags(*app, options->engine);
  AddSetFlag(*app, options->sets);
  AddProfilesFlag(*app, options->profiles);
  AddLimitFlags(*app, options->limits, "lost");
  AddJsonFlag(*app, options->json);
  return {app, [options] { return RunAccuracy(*options); }};
}

}  // namespace voxloc::bench
