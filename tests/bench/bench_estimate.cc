// SPDX-License-Identifier: Apache-2.0
//
// `voxloc_bench estimate`: how long it takes to say how true a result is, beside finding it.

#include <array>
#include <cstdio>
#include <memory>

#include "core/estimate/scan_estimate.h"
#include "tests/bench/bench_data.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/data_set.h"

namespace voxloc::bench {
namespace {

struct EstimateFlags {
  EngineOptions engine;
  MapOptions map;
  ScanOptions scans;
  std::string profile = "precise";
  size_t repeat = 5;
  std::string json;
};

struct Kind {
  const char* name;
  CovarianceMethod method;
  bool confidence;
};

constexpr std::array<Kind, 7> kKinds = {{
    {"fixed", CovarianceMethod::kFixed, false},
    {"laplace", CovarianceMethod::kLaplace, false},
    {"multi_ndt", CovarianceMethod::kMultiNdt, false},
    {"multi_ndt_score", CovarianceMethod::kMultiNdtScore, false},
    {"calibrated", CovarianceMethod::kCalibrated, false},
    {"fixed, confidence", CovarianceMethod::kFixed, true},
    {"calibrated, confidence", CovarianceMethod::kCalibrated, true},
}};

// Milliseconds of one scan, in the order of kKinds.
using Times = std::array<std::vector<double>, kKinds.size()>;

absl::Status MeasureScan(Engine& engine, const AlignJob& job, std::vector<double>& align_ms,
                         Times& estimate_ms) {
  std::vector<AlignResult> results;
  align_ms.push_back(TimeMs([&] { results = engine.Align(absl::MakeConstSpan(&job, 1)); }));
  if (!results[0].status.ok()) return results[0].status;
  for (size_t k = 0; k < kKinds.size(); ++k) {
    EstimateOptions options;
    options.covariance.method = kKinds[k].method;
    options.confidence = kKinds[k].confidence;
    EstimateRequest request;
    request.scan = {&job, results.data()};
    request.options = &options;
    std::vector<ScanEstimate> estimates;
    estimate_ms[k].push_back(
        TimeMs([&] { estimates = EstimateScans(engine, absl::MakeConstSpan(&request, 1)); }));
    if (!estimates[0].covariance.status.ok()) return estimates[0].covariance.status;
  }
  return absl::OkStatus();
}

absl::Status RunEstimate(const EstimateFlags& options) {
  const auto bench = SetUp(options.engine, options.profile, options.map);
  if (!bench.ok()) return bench.status();
  const auto scans = LoadScans(options.scans);
  if (!scans.ok()) return scans.status();

  std::vector<AlignJob> jobs = AlignJobs(bench->map.resident, *scans, bench->profile);
  for (AlignJob& job : jobs) job.want_point_scores = true;
  std::vector<double> align_ms;
  Times estimate_ms;
  for (size_t round = 0; round <= options.repeat; ++round) {
    if (round == 1) {
      align_ms.clear();
      estimate_ms = Times();
    }
    for (const AlignJob& job : jobs) {
      absl::Status status = MeasureScan(*bench->engine, job, align_ms, estimate_ms);
      if (!status.ok()) return status;
    }
  }
  const Summary align = Summarize(align_ms);
  std::printf("engine                  %s\n", bench->engine->Info().device.c_str());
  std::printf("profile                 %s, %zu scans\n", bench->profile.name.c_str(),
              scans->size());
  std::printf("%-22s  p50 %.3f  p95 %.3f ms\n", "align", align.p50, align.p95);
  nlohmann::json estimates = nlohmann::json::array();
  for (size_t k = 0; k < kKinds.size(); ++k) {
    const Summary time = Summarize(estimate_ms[k]);
    std::printf("%-22s  p50 %.3f  p95 %.3f ms, %.2f of align\n", kKinds[k].name, time.p50, time.p95,
                time.p50 / align.p50);
    estimates.push_back({{"name", kKinds[k].name}, {"estimate_ms", ToJson(time)}});
  }
  return WriteJson(options.json, {{"engine", bench->engine->Info().name},
                                  {"device", bench->engine->Info().device},
                                  {"profile", bench->profile.name},
                                  {"scans", scans->size()},
                                  {"align_ms", ToJson(align)},
                                  {"estimates", estimates}});
}

}  // namespace

Command AddEstimateCommand(CLI::App& program) {
  auto options = std::make_shared<EstimateFlags>();
  CLI::App* app = program.add_subcommand(
      "estimate", "Measure the time of covariances and confidence, and of the alignments");
  AddEngineFlags(*app, options->engine);
  AddMapFlags(*app, options->map);
  AddScanFlags(*app, options->scans);
  RequireMapAndScans(*app);
  AddProfileFlag(*app, options->profile);
  AddRepeatFlag(*app, options->repeat, "Time this many rounds, after one to warm up");
  AddJsonFlag(*app, options->json);
  return {app, [options] { return RunEstimate(*options); }};
}

}  // namespace voxloc::bench
