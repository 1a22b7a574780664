// SPDX-License-Identifier: Apache-2.0
//
// `voxloc_bench align`: how long alignments take and how well they end.

#include <algorithm>
#include <cstdio>
#include <memory>

#include "core/engine/profile.h"
#include "tests/bench/bench_data.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/data_set.h"
#include "tests/bench/pose_errors.h"

namespace voxloc::bench {
namespace {

struct AlignFlags {
  EngineOptions engine;
  MapOptions map;
  ScanOptions scans;
  std::string profile = "autoware";
  size_t repeat = 5;
  size_t batch = 1;
  std::string json;
};

struct MeasuredAlignments {
  std::vector<double> align_ms;       // per job
  std::vector<double> evaluation_ms;  // per job and evaluation
  std::vector<double> scan_ms;        // median of each scan's repetitions
  double total_s = 0.0;
  double point_evaluations = 0.0;
  std::vector<AlignResult> results;  // of the last repetition
};

// Runs every scan in batches of `batch` jobs, all scans in rotation, `repeat` times.
MeasuredAlignments Measure(Engine& engine, const std::vector<AlignJob>& jobs,
                           const AlignFlags& options) {
  MeasuredAlignments measured;
  measured.results.resize(jobs.size());
  std::vector<std::vector<double>> by_scan(jobs.size());
  const auto run = [&](bool counted) {
    for (size_t begin = 0; begin < jobs.size(); begin += options.batch) {
      const size_t count = std::min(options.batch, jobs.size() - begin);
      std::vector<AlignResult> results;
      const double ms = TimeMs([&] { results = engine.Align({&jobs[begin], count}); });
      if (!counted) continue;
      measured.total_s += ms * 1e-3;
      for (size_t i = 0; i < count; ++i) {
        AlignResult& result = results[i];
        const double job_ms = ms / static_cast<double>(count);
        measured.align_ms.push_back(job_ms);
        by_scan[begin + i].push_back(job_ms);
        measured.evaluation_ms.push_back(job_ms / std::max(1, result.evaluations));
        measured.point_evaluations +=
            static_cast<double>(result.evaluations) * static_cast<double>(result.after.points);
        measured.results[begin + i] = std::move(result);
      }
    }
  };
  run(/*counted=*/false);
  for (size_t r = 0; r < options.repeat; ++r) run(/*counted=*/true);
  for (const auto& times : by_scan) measured.scan_ms.push_back(Summarize(times).p50);
  return measured;
}

absl::Status RunAlign(const AlignFlags& options) {
  const auto bench = MakeBench(options.engine, options.profile, options.map);
  if (!bench.ok()) return bench.status();
  Engine& engine = *bench->engine;
  const Profile& profile = bench->profile;
  const BuiltMap& map = bench->map;
  const auto scans = LoadScans(options.scans);
  if (!scans.ok()) return scans.status();

  const std::vector<AlignJob> jobs = AlignJobs(map.resident, *scans, profile);
  const MeasuredAlignments measured = Measure(engine, jobs, options);

  PoseErrors errors;
  nlohmann::json rows = nlohmann::json::array();
  for (size_t i = 0; i < jobs.size(); ++i) {
    const AlignResult& result = measured.results[i];
    if (!result.status.ok()) return result.status;
    errors.Add(result, profile, (*scans)[i].map_T_base, kLost);
    const Eigen::Vector3d& t = result.map_T_base.translation;
    rows.push_back({{"translation_error_m", errors.translation_m.back()},
                    {"rotation_error_deg", errors.rotation_deg.back()},
                    {"accepted", Judge(result, profile) == Acceptance::kAccepted},
                    {"position_m", {t.x(), t.y(), t.z()}},
                    {"points", result.after.points},
                    {"pairs", result.after.pairs},
                    {"align_ms", measured.scan_ms[i]},
                    {"iterations", result.iterations},
                    {"evaluations", result.evaluations},
                    {"transform_probability", result.after.transform_probability},
                    {"nearest_voxel_likelihood", result.after.nearest_voxel_likelihood},
                    {"termination", ToString(result.termination)}});
  }
  const Summary align_ms = Summarize(measured.align_ms);
  const Summary evaluation_ms = Summarize(measured.evaluation_ms);
  const Summary translation_m = Summarize(errors.translation_m);
  const Summary rotation_deg = Summarize(errors.rotation_deg);
  const double rate = measured.point_evaluations / measured.total_s;
  std::vector<size_t> cells;
  for (size_t i = 0; i < map.resident->statistics().size(); ++i) {
    cells.push_back(map.resident->cells(i));
  }

  std::printf("engine       %s\n", engine.Info().device.c_str());
  std::printf("map          %zu points, %zu cells, built in %.1f ms\n", map.points, cells.front(),
              map.build_ms);
  std::printf("align        mean %.3f  p50 %.3f  p95 %.3f  p99 %.3f  max %.3f ms\n", align_ms.mean,
              align_ms.p50, align_ms.p95, align_ms.p99, align_ms.max);
  std::printf("evaluation   p50 %.4f ms; %.3g point evaluations/s\n", evaluation_ms.p50, rate);
  std::printf("iterations   mean %.1f\n", Summarize(errors.iterations).mean);
  std::printf("translation  p50 %.2f  p95 %.2f  max %.2f mm\n", translation_m.p50 * 1e3,
              translation_m.p95 * 1e3, translation_m.max * 1e3);
  std::printf("rotation     p50 %.4f  p95 %.4f  max %.4f deg\n", rotation_deg.p50, rotation_deg.p95,
              rotation_deg.max);
  std::printf("accepted     %zu of %zu\n", errors.accepted, jobs.size());

  return WriteJson(options.json, {{"engine", engine.Info().name},
                                  {"device", engine.Info().device},
                                  {"profile", profile.name},
                                  {"batch", options.batch},
                                  {"align_ms", ToJson(align_ms)},
                                  {"evaluation_ms", ToJson(evaluation_ms)},
                                  {"build_ms", map.build_ms},
                                  {"cells", cells.front()},
                                  {"cells_by_statistics", cells},
                                  {"iterations", {{"mean", Summarize(errors.iterations).mean}}},
                                  {"evaluations", {{"mean", Summarize(errors.evaluations).mean}}},
                                  {"point_evaluations_per_s", rate},
                                  {"scans", jobs.size()},
                                  {"accepted", errors.accepted},
                                  {"translation_error_m", ToJson(translation_m)},
                                  {"rotation_error_deg", ToJson(rotation_deg)},
                                  {"results", rows}});
}

}  // namespace

Command AddAlignCommand(CLI::App& program) {
  auto options = std::make_shared<AlignFlags>();
  CLI::App* app =
      program.add_subcommand("align", "Measure alignments and compare them with the truth");
  AddEngineFlags(*app, options->engine);
  AddMapFlags(*app, options->map);
  AddScanFlags(*app, options->scans);
  RequireMapAndScans(*app);
  AddProfileFlag(*app, options->profile);
  AddRepeatFlag(*app, options->repeat,
                "Time this many rounds over all scans, after one to warm up");
  app->add_option("--batch", options->batch, "Align this many jobs in one call of the engine")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  AddJsonFlag(*app, options->json);
  return {app, [options] { return RunAlign(*options); }};
}

}  // namespace voxloc::bench
