// SPDX-License-Identifier: Apache-2.0
//
// `voxloc_bench accuracy`: how far from the truth each profile ends, on several data sets; or a
// peer that is not voxloc.

#include <cstdio>
#include <memory>
#include <utility>

#include "core/engine/profile.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/data_set.h"
#include "tests/bench/gicp_peer.h"
#include "tests/bench/pose_errors.h"

namespace voxloc::bench {
namespace {

struct AccuracyFlags {
  EngineOptions engine;
  std::vector<std::string> sets;
  ErrorLimits limits = kLost;
  std::vector<std::string> profiles = {"autoware", "precise"};
  std::string peer;  // empty: the engine
  GicpOptions gicp;
  std::string json;
};

// What one method did on one data set.
struct MethodRow {
  std::string set;
  std::string method;  // a profile, or a peer
  PoseErrors errors;
  double ms_per_scan = 0.0;  // mean; without what is done once for a map
};

void PrintLimits(const ErrorLimits& limits) {
  std::printf("lost: over %g m or %g deg; x, y, z: along the true base's axes\n", limits.distance_m,
              limits.angle_deg);
  std::printf("%-16s %-17s %5s %5s  %-31s  %-23s  %-31s %10s %9s\n", "set", "profile", "scans",
              "lost", "error mean/p50/p95/max, mm", "p95 of |x|/|y|/|z|, mm",
              "rotation mean/p50/p95/max, deg", "iterations", "ms a scan");
}

void PrintRow(const MethodRow& row) {
  const PoseErrors& errors = row.errors;
  const Summary t = Summarize(errors.translation_m);
  const Summary r = Summarize(errors.rotation_deg);
  std::printf("%-16s %-17s %5zu %5zu ", row.set.c_str(), row.method.c_str(), errors.count(),
              errors.beyond);
  for (const double value : {t.mean, t.p50, t.p95, t.max}) std::printf(" %7.2f", 1e3 * value);
  std::printf(" ");
  for (const auto& axis : errors.body_m) std::printf(" %7.2f", 1e3 * Summarize(axis).p95);
  std::printf(" ");
  for (const double value : {r.mean, r.p50, r.p95, r.max}) std::printf(" %7.4f", value);
  std::printf(" %10.1f %9.2f\n", Summarize(errors.iterations).mean, row.ms_per_scan);
  std::fflush(stdout);
}

nlohmann::json RowJson(const MethodRow& row) {
  nlohmann::json json = {
      {"set", row.set}, {"profile", row.method}, {"ms_per_scan", row.ms_per_scan}};
  json.update(ToJson(row.errors));
  return json;
}

// A row for each profile.
absl::StatusOr<std::vector<MethodRow>> MeasureProfiles(Engine& engine, const DataSet& set,
                                                       const std::vector<Profile>& profiles,
                                                       const ErrorLimits& limits) {
  const auto loaded = LoadSet(engine, set, profiles, /*stride=*/1);
  if (!loaded.ok()) return loaded.status();
  std::vector<MethodRow> rows;
  for (const Profile& profile : profiles) {
    const std::vector<AlignJob> jobs = AlignJobs(loaded->map, loaded->scans, profile);
    std::vector<AlignResult> results;
    const double batch_ms = TimeMs([&] { results = engine.Align(jobs); });
    MethodRow& row = rows.emplace_back();
    row.set = set.name;
    row.method = profile.name;
    row.ms_per_scan = batch_ms / static_cast<double>(results.size());
    for (size_t i = 0; i < results.size(); ++i) {
      if (!results[i].status.ok()) return results[i].status;
      row.errors.Add(results[i], profile, loaded->scans[i].map_T_base, limits);
    }
  }
  return rows;
}

// One row: the same scans from the same starts.
absl::StatusOr<std::vector<MethodRow>> MeasureGicp([[maybe_unused]] const DataSet& set,
                                                   [[maybe_unused]] const GicpOptions& options,
                                                   [[maybe_unused]] const ErrorLimits& limits) {
#if defined(VOXLOC_HAVE_PCL)
  const auto clouds = LoadMapClouds(set.map);
  if (!clouds.ok()) return clouds.status();
  const auto scans = LoadScans(set.scans);
  if (!scans.ok()) return scans.status();
  const auto gicp = MakeGicpPeer(*clouds, options);
  if (!gicp.ok()) return gicp.status();
  MethodRow row = {set.name, "gicp", {}, 0.0};
  for (const BenchScan& scan : *scans) {
    const auto result = (*gicp)->Align(*scan.cloud, scan.map_T_base_guess);
    if (!result.ok()) return result.status();
    row.errors.AddPose(result->map_T_base, result->iterations, scan.map_T_base, limits);
    row.ms_per_scan += result->align_ms / static_cast<double>(scans->size());
  }
  return std::vector<MethodRow>{std::move(row)};
#else
  return absl::UnimplementedError(
      "--peer=gicp is not in this build; configure with -DVOXLOC_BENCH_PCL=ON, which needs PCL "
      "(libpcl-dev of the distribution)");
#endif
}

absl::Status RunAccuracy(const AccuracyFlags& options) {
  const auto sets = ParseSets(options.sets);
  if (!sets.ok()) return sets.status();
  const auto profiles = ProfilesOf(options.profiles);
  if (!profiles.ok()) return profiles.status();
  std::unique_ptr<Engine> engine;
  if (options.peer.empty()) {
    auto made = MakeEngine(options.engine);
    if (!made.ok()) return made.status();
    engine = *std::move(made);
  }
  PrintLimits(options.limits);
  nlohmann::json json_rows = nlohmann::json::array();
  for (const DataSet& set : *sets) {
    const auto rows = engine ? MeasureProfiles(*engine, set, *profiles, options.limits)
                             : MeasureGicp(set, options.gicp, options.limits);
    if (!rows.ok()) return rows.status();
    for (const MethodRow& row : *rows) {
      PrintRow(row);
      json_rows.push_back(RowJson(row));
    }
  }
  return WriteJson(options.json, {{"engine", engine ? engine->Info().name : options.peer},
                                  {"limit_distance_m", options.limits.distance_m},
                                  {"limit_angle_deg", options.limits.angle_deg},
                                  {"results", json_rows}});
}

void AddPeerFlags(CLI::App& app, AccuracyFlags& options) {
  auto* peer =
      app.add_option("--peer", options.peer,
                     "Measure this instead of an engine: gicp, PCL's, in builds that have it")
          ->check(CLI::IsMember({"gicp"}));
  for (const char* of_engine : {"--engine", "--threads", "--device", "--profiles"}) {
    peer->excludes(of_engine);
  }
  app.add_option("--gicp-map-leaf", options.gicp.map_leaf_m,
                 "Thin the map of --peer gicp by a grid of this edge, m")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->needs(peer);
  app.add_option("--gicp-distance", options.gicp.max_correspondence_m,
                 "Let --peer gicp pair points up to this distance, m")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->needs(peer);
  app.add_option("--gicp-iterations", options.gicp.max_iterations,
                 "Let --peer gicp pair points at most this often")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->needs(peer);
}

}  // namespace

Command AddAccuracyCommand(CLI::App& program) {
  auto options = std::make_shared<AccuracyFlags>();
  CLI::App* app = program.add_subcommand(
      "accuracy", "Compare profiles with the truth, on one or several data sets");
  AddEngineFlags(*app, options->engine);
  AddSetFlag(*app, options->sets);
  AddProfilesFlag(*app, options->profiles);
  AddPeerFlags(*app, *options);
  AddLimitFlags(*app, options->limits, "lost");
  AddJsonFlag(*app, options->json);
  return {app, [options] { return RunAccuracy(*options); }};
}

}  // namespace voxloc::bench
