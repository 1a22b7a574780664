// SPDX-License-Identifier: Apache-2.0
//
// `voxloc_bench estimate`: the time of the estimates (covariance, confidence, ...) beside that of
// the alignment.

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <vector>

#include "core/estimate/scan_estimate.h"
#include "core/parallel/processors.h"
#include "core/parallel/thread_pool.h"
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
  size_t batch = 1;
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

// Milliseconds of one call, by its parts.
struct KindTimes {
  std::vector<double> describe;  // before the alignment
  std::vector<double> passes;    // what the alignment takes longer for them
  std::vector<double> estimate;  // after it
  std::vector<double> all;
};
using Times = std::array<KindTimes, kKinds.size()>;

absl::Status CheckAll(const std::vector<AlignResult>& results) {
  for (const AlignResult& result : results) {
    if (!result.status.ok()) return result.status;
  }
  return absl::OkStatus();
}

absl::Status MeasureKind(Engine& engine, ThreadPool& pool, const Kind& kind,
                         std::vector<AlignJob> jobs, double align_ms, KindTimes& times) {
  EstimateOptions options;
  options.covariance.method = kind.method;
  options.confidence = kind.confidence;
  std::vector<EstimateRequest> requests(jobs.size());
  const double describe_ms = TimeMs([&] {
    pool.ParallelFor(jobs.size(), [&](size_t i) {
      requests[i].options = &options;
      requests[i].features =
          ComputeScanFeatures(*jobs[i].scan, requests[i].rays, jobs[i].map_T_base_guess, options);
      RequestPasses(*requests[i].features, jobs[i]);
    });
  });
  std::vector<AlignResult> results;
  const double passes_ms = TimeMs([&] { results = engine.Align(jobs); }) - align_ms;
  if (absl::Status status = CheckAll(results); !status.ok()) return status;
  std::vector<ScanEstimate> estimates;
  for (size_t i = 0; i < jobs.size(); ++i) requests[i].scan = {&jobs[i], &results[i]};
  const double estimate_ms = TimeMs([&] { estimates = EstimateScans(engine, requests, &pool); });
  for (const ScanEstimate& estimate : estimates) {
    if (!estimate.covariance.status.ok()) return estimate.covariance.status;
  }
  times.describe.push_back(describe_ms);
  times.passes.push_back(passes_ms);
  times.estimate.push_back(estimate_ms);
  times.all.push_back(describe_ms + passes_ms + estimate_ms);
  return absl::OkStatus();
}

absl::Status MeasureCall(Engine& engine, ThreadPool& pool, const std::vector<AlignJob>& jobs,
                         std::vector<double>& align_ms, Times& times) {
  std::vector<AlignResult> results;
  align_ms.push_back(TimeMs([&] { results = engine.Align(jobs); }));
  if (absl::Status status = CheckAll(results); !status.ok()) return status;
  for (size_t k = 0; k < kKinds.size(); ++k) {
    absl::Status status = MeasureKind(engine, pool, kKinds[k], jobs, align_ms.back(), times[k]);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status RunEstimate(const EstimateFlags& options) {
  const auto bench = MakeBench(options.engine, options.profile, options.map);
  if (!bench.ok()) return bench.status();
  const auto scans = LoadScans(options.scans);
  if (!scans.ok()) return scans.status();

  const std::vector<AlignJob> jobs = AlignJobs(bench->map.resident, *scans, bench->profile);
  ThreadPool pool(options.engine.threads == 0 ? UsableProcessors() : options.engine.threads);
  std::vector<double> align_ms;
  Times times;
  for (size_t round = 0; round <= options.repeat; ++round) {
    if (round == 1) {
      align_ms.clear();
      times = Times();
    }
    for (size_t begin = 0; begin < jobs.size(); begin += options.batch) {
      const size_t end = std::min(jobs.size(), begin + options.batch);
      if (begin > 0 && end - begin < options.batch) break;
      const auto at = [&jobs](size_t i) { return jobs.begin() + static_cast<std::ptrdiff_t>(i); };
      absl::Status status =
          MeasureCall(*bench->engine, pool, {at(begin), at(end)}, align_ms, times);
      if (!status.ok()) return status;
    }
  }
  const Summary align = Summarize(align_ms);
  std::printf("engine                  %s\n", bench->engine->Info().device.c_str());
  std::printf("profile                 %s, %zu scans, %zu a call\n", bench->profile.name.c_str(),
              scans->size(), options.batch);
  std::printf("%-22s  p50 %.3f  p95 %.3f ms\n", "align", align.p50, align.p95);
  std::printf(
      "what estimates add, ms       p50    p95  of align | p50 of: describing  passes  "
      "estimating\n");
  nlohmann::json estimates = nlohmann::json::array();
  for (size_t k = 0; k < kKinds.size(); ++k) {
    const Summary all = Summarize(times[k].all);
    const Summary describe = Summarize(times[k].describe);
    const Summary passes = Summarize(times[k].passes);
    const Summary estimate = Summarize(times[k].estimate);
    std::printf("%-22s  %8.3f %6.3f  %8.2f |         %10.3f  %6.3f  %10.3f\n", kKinds[k].name,
                all.p50, all.p95, all.p50 / align.p50, describe.p50, passes.p50, estimate.p50);
    estimates.push_back({{"name", kKinds[k].name},
                         {"added_ms", ToJson(all)},
                         {"describe_ms", ToJson(describe)},
                         {"passes_ms", ToJson(passes)},
                         {"estimate_ms", ToJson(estimate)}});
  }
  return WriteJson(options.json, {{"engine", bench->engine->Info().name},
                                  {"device", bench->engine->Info().device},
                                  {"profile", bench->profile.name},
                                  {"scans", scans->size()},
                                  {"batch", options.batch},
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
  app->add_option("--batch", options->batch, "Align this many scans in one call")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  AddRepeatFlag(*app, options->repeat, "Time this many rounds, after one to warm up");
  AddJsonFlag(*app, options->json);
  return {app, [options] { return RunEstimate(*options); }};
}

}  // namespace voxloc::bench
