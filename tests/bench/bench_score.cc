// SPDX-License-Identifier: Apache-2.0
//
// `voxloc_bench score`: how many poses of a scan are scored in a second.

#include <cstdio>
#include <memory>

#include "clients/dataset/perturbation.h"
#include "core/engine/profile.h"
#include "tests/bench/bench_data.h"
#include "tests/bench/bench_options.h"

namespace voxloc::bench {
namespace {

struct ScoreFlags {
  EngineOptions engine;
  MapOptions map;
  ScanOptions scans;
  size_t poses = 1000;
  size_t repeat = 5;
  std::string json;
};

absl::Status RunScore(const ScoreFlags& options) {
  const auto bench = MakeBench(options.engine, "autoware", options.map);
  if (!bench.ok()) return bench.status();
  Engine& engine = *bench->engine;
  const auto scans = LoadScans(options.scans);
  if (!scans.ok()) return scans.status();

  // Poses spread over a metre and a few degrees around the truth, of the first scan.
  ScoreRequest request;
  request.map = bench->map.resident;
  request.scan = scans->front().cloud;
  request.stage = bench->profile.stages[0];
  request.work_class = WorkClass::kScoring;
  for (size_t i = 0; i < options.poses; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(options.poses);
    Perturbation spread;
    spread.translation_m = Eigen::Vector3d(share, 1.0 - share, 0.2 * share);
    spread.rotation_rpy_deg = Eigen::Vector3d(0.5 * share, 0.5 * share, 5.0 * share);
    request.map_T_base.push_back(Perturb(scans->front().map_T_base, spread, options.scans.seed, i));
  }
  std::vector<double> poses_per_s;
  double best = 0.0;
  for (size_t i = 0; i <= options.repeat; ++i) {
    absl::StatusOr<ScoreResult> result;
    const double ms = TimeMs([&] { result = engine.Score(request); });
    if (!result.ok()) return result.status();
    for (const PoseScore& pose : result->poses) {
      best = std::max(best, pose.nearest_voxel_likelihood);
    }
    if (i > 0) poses_per_s.push_back(static_cast<double>(options.poses) / ms * 1e3);
  }
  const Summary rate = Summarize(poses_per_s);
  std::printf("engine  %s\n", engine.Info().device.c_str());
  std::printf("score   %zu poses of %zu points: %.0f poses/s; best NVTL %.3f\n", options.poses,
              request.scan->size(), rate.p50, best);
  return WriteJson(options.json, {{"engine", engine.Info().name},
                                  {"device", engine.Info().device},
                                  {"poses", options.poses},
                                  {"points", request.scan->size()},
                                  {"poses_per_s", ToJson(rate)}});
}

}  // namespace

Command AddScoreCommand(CLI::App& program) {
  auto options = std::make_shared<ScoreFlags>();
  CLI::App* app = program.add_subcommand("score", "Measure the scoring of many poses of one scan");
  AddEngineFlags(*app, options->engine);
  AddMapFlags(*app, options->map);
  AddScanFlags(*app, options->scans);
  RequireMapAndScans(*app);
  app->add_option("--count", options->poses, "Score this many poses")
      ->check(CLI::Range(1, 100'000'000))
      ->capture_default_str();
  AddRepeatFlag(*app, options->repeat, "Time this many rounds, after one to warm up");
  AddJsonFlag(*app, options->json);
  return {app, [options] { return RunScore(*options); }};
}

}  // namespace voxloc::bench
